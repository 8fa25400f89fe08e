"""Finalizers as a way to hold or delete what one may not (docs/security.md, the table of threats)."""

from __future__ import annotations

import pytest

from support.attacker_requests import DEPLOYMENTS, MAPS, MERGE, PODS, codes, config_map, deployment, is_there, may, pod, rewrite
from support.rbac_server import Guarded, guarded

HOLD = ["example.com/forever"]
ORPHAN = {"propagationPolicy": "Orphan"}
PARTS = {
    "pods": (PODS, ["status", "ephemeralcontainers", "resize", "binding", "eviction"]),
    "deployments": (DEPLOYMENTS, ["status", "scale"]),
}


@pytest.mark.parametrize(("resource", "part"), [(kind, part) for kind, (_, parts) in PARTS.items() for part in parts])
async def test_t12_object_is_not_held_through_a_part_of_it(house: Guarded, resource: str, part: str) -> None:
    group = "apps" if resource == "deployments" else ""
    await house.grant("eve", may("*", f"{resource}/{part}", group=group), namespace="a")
    await house.create("pods", "a", pod("victim", nodeName="n" if part != "binding" else ""))
    await house.create("apis/apps/v1/deployments", "a", deployment("victim"))
    path = f"{PARTS[resource][0]}/victim"
    if part in {"binding", "eviction"}:
        body = {"metadata": {"name": "victim", "finalizers": HOLD}, "target": {"name": "n"}}
        await house.ask_as("eve", "POST", f"{path}/{part}", body)
    else:
        await rewrite(house, "eve", f"{path}/{part}", {"finalizers": HOLD})
        await rewrite(house, "eve", f"{path}/{part}", {"labels": {"app": "eve"}})
    meta = (await house.ask("GET", path)).json["metadata"]
    assert "finalizers" not in meta
    assert part == "status" or "labels" not in meta
    if part == "status":
        await house.grant("eve", may("update", resource, group=group), namespace="a")
        told = await rewrite(house, "eve", f"{path}/{part}", {"finalizers": HOLD})
        assert {*codes(told).values()} <= {200, 409, 422}


@pytest.mark.parametrize("finalizer", ["orphan", "foregroundDeletion", "CollectingGarbage"])
async def test_t13_who_may_not_delete_does_not_say_what_becomes_of_the_dependents(house: Guarded, finalizer: str) -> None:
    await house.grant("eve", may("get update patch", "configmaps"), namespace="a")
    await house.create("configmaps", "a", config_map("victim", finalizers=HOLD))
    told = await rewrite(house, "eve", f"{MAPS}/victim", {"finalizers": [*HOLD, finalizer]})
    assert {*codes(told).values()} == {403}
    assert "what becomes of the dependents of a resource you can't delete" in told["merge"].json["message"]
    await house.grant("eve", may("delete", "configmaps"), namespace="a")
    assert (await rewrite(house, "eve", f"{MAPS}/victim", {"finalizers": [*HOLD, finalizer]}))["update"].code == 200


async def test_t13_dependents_that_were_to_stay_are_not_deleted_by_who_takes_orphan_off() -> None:
    async with guarded() as house:  # whose collector has not got to it yet
        await house.grant("eve", may("get update patch", "configmaps"), namespace="a")
        await house.create("configmaps", "a", config_map("owner", finalizers=HOLD))
        await house.ask("DELETE", f"{MAPS}/owner", ORPHAN)
        told = await rewrite(house, "eve", f"{MAPS}/owner", {"finalizers": HOLD})
        assert {code for way, code in codes(told).items() if way not in {"strategic", "apply"}} == {403}
        bare = await house.ask_as("eve", "PATCH", f"{MAPS}/owner", {"metadata": {"finalizers": None}}, media=MERGE)
        assert bare.code == 403
        assert (await house.ask("GET", f"{MAPS}/owner")).json["metadata"]["finalizers"] == [*HOLD, "orphan"]


async def test_t14_finalizers_of_others_can_be_taken_off_by_who_may_change_the_object_and_delete_nothing(house: Guarded) -> None:
    await house.grant("eve", may("get patch", "configmaps"), namespace="a")
    await house.create("configmaps", "a", config_map("alive", finalizers=HOLD))
    await house.create("configmaps", "a", config_map("going", finalizers=HOLD))
    await house.ask("DELETE", f"{MAPS}/going")
    for name in ("alive", "going"):
        told = await house.ask_as("eve", "PATCH", f"{MAPS}/{name}", {"metadata": {"finalizers": None}}, media=MERGE)
        assert told.code == 200
    assert await is_there(house, f"{MAPS}/alive")
    assert not await is_there(house, f"{MAPS}/going")


async def test_t15_object_that_is_going_cannot_be_held_any_more(house: Guarded) -> None:
    await house.grant("eve", may("get update patch", "configmaps"), namespace="a")
    await house.create("configmaps", "a", config_map("victim", finalizers=["example.com/one"]))
    await house.ask("DELETE", f"{MAPS}/victim")
    told = await rewrite(house, "eve", f"{MAPS}/victim", {"finalizers": ["example.com/one", *HOLD]})
    assert {*codes(told).values()} == {422}
    await house.ask("PATCH", f"{MAPS}/victim", {"metadata": {"finalizers": None}}, media=MERGE)
    assert not await is_there(house, f"{MAPS}/victim")


async def test_t16_right_to_finalize_a_namespace_does_not_empty_it(house: Guarded) -> None:
    await house.grant("eve", may("*", "namespaces/finalize", "namespaces/status"))
    await house.create("configmaps", "b", config_map("x"))
    now = (await house.ask("GET", "/api/v1/namespaces/b")).json
    bare = {**now, "spec": {}, "metadata": {**now["metadata"], "deletionTimestamp": "2020-01-01T00:00:00Z"}}
    await house.ask_as("eve", "PUT", "/api/v1/namespaces/b/finalize", bare)
    await house.ask_as("eve", "PUT", "/api/v1/namespaces/b/status", {**bare, "status": {"phase": "Terminating"}})
    assert await is_there(house, "/api/v1/namespaces/b/configmaps/x")
    assert "deletionTimestamp" not in (await house.ask("GET", "/api/v1/namespaces/b")).json["metadata"]
    await house.grant("ann", may("*", "configmaps"), namespace="b")
    assert (await house.ask_as("ann", "PUT", "/api/v1/namespaces/b/finalize", bare)).code == 403
    assert (await house.ask_as("ann", "DELETE", "/api/v1/namespaces/b")).code == 403
