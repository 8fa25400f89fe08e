"""Who writes a reference to an owner is told at once if it will not do what it looks like."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import Told
from support.rbac_server import Guarded, guarded

MAPS = "/api/v1/namespaces/a/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        yield one


def reference(owner: Any, **other: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **other}


async def refer(house: Guarded, *references: Any, path: str = MAPS, name: str = "x", who: str = "") -> Told:
    body = {"metadata": {"name": name, "ownerReferences": list(references)}}
    return await (house.ask_as(who, "POST", path, body) if who else house.ask("POST", path, body))


def warning(told: Told) -> str:
    assert told.code in {200, 201}, told.body
    return told.headers.get("warning", "")


async def test_owner_that_is_there_is_nothing_to_warn_about(house: Guarded) -> None:
    owner = await house.create("configmaps", "a", {"metadata": {"name": "owner"}})
    assert warning(await refer(house, reference(owner))) == ""


async def test_owner_that_is_not_there(house: Guarded) -> None:
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    assert "metadata.ownerReferences[0]: there is no ConfigMap nobody (u)" in warning(await refer(house, reference(absent)))


async def test_owner_with_another_uid(house: Guarded) -> None:
    owner = await house.create("configmaps", "a", {"metadata": {"name": "owner"}})
    assert "ConfigMap owner has another uid than u" in warning(await refer(house, reference(owner, uid="u")))


async def test_uid_that_belongs_to_another_name_or_kind(house: Guarded) -> None:
    owner = await house.create("configmaps", "a", {"metadata": {"name": "owner"}})
    assert "there is no ConfigMap other" in warning(await refer(house, reference(owner, name="other")))
    assert "there is no Secret owner" in warning(await refer(house, reference(owner, kind="Secret"), name="y"))


async def test_owner_in_another_namespace(house: Guarded) -> None:
    owner = await house.create("configmaps", "b", {"metadata": {"name": "owner"}})
    assert "lies in another namespace" in warning(await refer(house, reference(owner)))


async def test_owner_in_a_namespace_of_an_object_in_none(house: Guarded) -> None:
    owner = await house.create("configmaps", "a", {"metadata": {"name": "owner"}})
    told = warning(await refer(house, reference(owner), path=ROLES))
    assert "lies in a namespace, and cannot own an object that lies in none" in told


async def test_owner_of_an_unknown_kind(house: Guarded) -> None:
    absent = {"metadata": {"name": "orb", "uid": "u"}}
    told = warning(await refer(house, reference(absent, apiVersion="orbs.example.com/v1", kind="Orb")))
    assert "no kind Orb of orbs.example.com/v1 is served" in told


async def test_owner_that_waits_for_its_dependents(house: Guarded) -> None:
    owner = await house.create("configmaps", "a", {"metadata": {"name": "owner", "finalizers": ["example.com/hold"]}})
    await house.ask("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    assert "is being deleted" in warning(await refer(house, reference(owner)))


async def test_circles_of_one_two_and_three(house: Guarded) -> None:
    first = await house.create("configmaps", "a", {"metadata": {"name": "first"}})
    second = (await refer(house, reference(first), name="second")).json
    third = (await refer(house, reference(second), name="third")).json
    for owner in (first, second, third):
        body = {"metadata": {"ownerReferences": [reference(owner)]}}
        assert "own each other" in warning(await house.ask("PATCH", f"{MAPS}/first", body, media=MERGE))


async def test_what_was_there_before_is_not_told_again(house: Guarded) -> None:
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    await refer(house, reference(absent))
    assert warning(await house.ask("PATCH", f"{MAPS}/x", {"data": {"a": "b"}}, media=MERGE)) == ""


async def test_nobody_learns_about_what_they_may_not_read(house: Guarded) -> None:
    secret = await house.create("secrets", "a", {"metadata": {"name": "there"}})
    await house.create("configmaps", "b", {"metadata": {"name": "elsewhere"}})
    await house.grant("ann", {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    seen = {
        warning(await refer(house, {**reference(secret, kind="Secret"), **other}, name=name, who="ann"))
        for name, other in {"right": {}, "uid": {"uid": "u"}, "name": {"name": "absent"}}.items()
    }
    assert seen == {""}
    await house.grant("ann", {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    told = await refer(house, {"apiVersion": "v1", "kind": "ConfigMap", "name": "elsewhere", "uid": "u"}, name="far", who="ann")
    assert "there is no ConfigMap elsewhere" in warning(told)


async def test_references_are_refused_if_that_is_wanted_and_nothing_is_written(house: Guarded) -> None:
    house.api.owner_checks = "refuse"
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    refused = await refer(house, reference(absent))
    assert refused.code == 422
    assert [one["field"] for one in refused.json["details"]["causes"]] == ["metadata.ownerReferences[0]"]
    assert (await house.ask("GET", f"{MAPS}/x")).code == 404


async def test_nobody_is_told_anything_if_that_is_wanted(house: Guarded) -> None:
    house.api.owner_checks = "off"
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    assert warning(await refer(house, reference(absent))) == ""
