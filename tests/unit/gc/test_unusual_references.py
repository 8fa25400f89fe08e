"""References that nobody sane writes, and that the API takes all the same: none may keep the collector from its work."""

from __future__ import annotations

import pytest

from probate.gc.collector import BIRTH_SECONDS
from support.in_process_server import FakeClock, running

CHILD = "/api/v1/namespaces/default/configmaps/child"


@pytest.mark.parametrize("name", ["line\nbreak", "x" * 5_000, "..", "a/b", "é ü", "\x7f"])
async def test_owner_with_a_name_that_no_object_can_have_is_gone_and_does_not_stop_the_collector(name: str) -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "u"}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
        await house.turns()
        await clock.advance(BIRTH_SECONDS)
        await house.turns()
        assert (await house.ask("GET", CHILD)).code == 404
        assert house.collector.trouble is None


@pytest.mark.parametrize("uid", ["line\nbreak", "a/b", "x" * 5_000, "é"])
async def test_owner_with_a_uid_that_no_object_can_have_is_gone(uid: str) -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
        await house.turns()
        await clock.advance(BIRTH_SECONDS)
        await house.turns()
        assert (await house.ask("GET", CHILD)).code == 404


@pytest.mark.parametrize("api_version", ["a/b/c", "line\nbreak/v1", "x" * 5_000, "é/v1"])
async def test_owner_of_a_kind_that_cannot_be_is_unknown_and_keeps_its_dependents(api_version: str) -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": api_version, "kind": "Wid\nget", "name": "owner", "uid": "u"}
        made = {"metadata": {"name": "child", "ownerReferences": [reference]}}
        told = await house.ask("POST", "/api/v1/namespaces/default/configmaps", made)
        await house.turns()
        await clock.advance(BIRTH_SECONDS)
        await house.turns()
        assert (await house.ask("GET", CHILD)).code == (200 if told.code == 201 else 404)
        assert house.collector.trouble is None


async def test_owner_with_an_impossible_uid_is_found_to_be_gone_when_its_kind_becomes_known() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": "odd.example.com/v1", "kind": "Orb", "name": "owner", "uid": "no/such uid"}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
        await house.turns()
        await clock.advance(BIRTH_SECONDS)
        assert (await house.ask("GET", CHILD)).code == 200, "nobody knows its kind yet"
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {
            "group": "odd.example.com",
            "names": {"plural": "orbs", "kind": "Orb"},
            "scope": "Namespaced",
            "versions": [version],
        }
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        assert (await house.ask("POST", definitions, {"metadata": {"name": "orbs.odd.example.com"}, "spec": spec})).code == 201
        await house.turns()
        await clock.advance(60)
        await house.turns()
        assert (await house.ask("GET", CHILD)).code == 404
