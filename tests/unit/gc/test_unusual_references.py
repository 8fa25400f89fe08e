"""Owner references that make no sense, and that the API accepts all the same: none may stop the collector."""

from __future__ import annotations

import pytest

from probate.gc.collector import NEW_OBJECT_SECONDS
from support.in_process_server import FakeClock, running

CHILD = "/api/v1/namespaces/default/configmaps/child"


@pytest.mark.parametrize("name", ["line\nbreak", "x" * 5_000, "..", "a/b", "é ü", "\x7f"])
async def test_owner_with_an_impossible_name_is_dangling_and_does_not_stop_the_collector(name: str) -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "u"}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
        await house.yield_to_loop()
        await clock.advance(NEW_OBJECT_SECONDS)
        await house.yield_to_loop()
        assert (await house.request("GET", CHILD)).code == 404
        assert house.collector.trouble is None


@pytest.mark.parametrize("uid", ["line\nbreak", "a/b", "x" * 5_000, "é"])
async def test_owner_with_an_impossible_uid_is_dangling(uid: str) -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
        await house.yield_to_loop()
        await clock.advance(NEW_OBJECT_SECONDS)
        await house.yield_to_loop()
        assert (await house.request("GET", CHILD)).code == 404


@pytest.mark.parametrize("api_version", ["a/b/c", "line\nbreak/v1", "x" * 5_000, "é/v1"])
async def test_owner_of_an_impossible_kind_is_unknown_and_keeps_its_dependents(api_version: str) -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": api_version, "kind": "Wid\nget", "name": "owner", "uid": "u"}
        made = {"metadata": {"name": "child", "ownerReferences": [reference]}}
        response = await house.request("POST", "/api/v1/namespaces/default/configmaps", made)
        await house.yield_to_loop()
        await clock.advance(NEW_OBJECT_SECONDS)
        await house.yield_to_loop()
        assert (await house.request("GET", CHILD)).code == (200 if response.code == 201 else 404)
        assert house.collector.trouble is None


async def test_owner_with_an_impossible_uid_is_dangling_once_its_kind_is_known() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        reference = {"apiVersion": "odd.example.com/v1", "kind": "Orb", "name": "owner", "uid": "no/such uid"}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
        await house.yield_to_loop()
        await clock.advance(NEW_OBJECT_SECONDS)
        assert (await house.request("GET", CHILD)).code == 200, "nobody knows its kind yet"
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {
            "group": "odd.example.com",
            "names": {"plural": "orbs", "kind": "Orb"},
            "scope": "Namespaced",
            "versions": [version],
        }
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        assert (await house.request("POST", definitions, {"metadata": {"name": "orbs.odd.example.com"}, "spec": spec})).code == 201
        await house.yield_to_loop()
        await clock.advance(60)
        await house.yield_to_loop()
        assert (await house.request("GET", CHILD)).code == 404
