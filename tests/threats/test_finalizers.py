"""Abuse of finalizers to block or delete without the right (docs/security.md, the table of threats)."""

from __future__ import annotations

import pytest

from support.attacker_requests import (
    DEPLOYMENTS,
    MAPS,
    MERGE,
    PODS,
    codes,
    config_map,
    deployment,
    exists_after_collection,
    pod,
    rbac_rule,
    write_metadata,
)
from support.rbac_server import RbacServer, running_with_rbac

HOLD = ["example.com/forever"]
ORPHAN = {"propagationPolicy": "Orphan"}
PARTS = {
    "pods": (PODS, ["status", "ephemeralcontainers", "resize", "binding", "eviction"]),
    "deployments": (DEPLOYMENTS, ["status", "scale"]),
}


@pytest.mark.parametrize(("resource", "part"), [(kind, part) for kind, (_, parts) in PARTS.items() for part in parts])
async def test_t12_object_is_not_held_through_a_part_of_it(server: RbacServer, resource: str, part: str) -> None:
    group = "apps" if resource == "deployments" else ""
    await server.grant("eve", rbac_rule("*", f"{resource}/{part}", group=group), namespace="a")
    await server.create("pods", "a", pod("victim", nodeName="n" if part != "binding" else ""))
    await server.create("apis/apps/v1/deployments", "a", deployment("victim"))
    path = f"{PARTS[resource][0]}/victim"
    if part in {"binding", "eviction"}:
        body = {"metadata": {"name": "victim", "finalizers": HOLD}, "target": {"name": "n"}}
        await server.ask_as("eve", "POST", f"{path}/{part}", body=body)
    else:
        await write_metadata(server, "eve", f"{path}/{part}", meta={"finalizers": HOLD})
        await write_metadata(server, "eve", f"{path}/{part}", meta={"labels": {"app": "eve"}})
    meta = (await server.request("GET", path)).json["metadata"]
    assert "finalizers" not in meta
    assert part == "status" or "labels" not in meta
    if part == "status":
        await server.grant("eve", rbac_rule("update", resource, group=group), namespace="a")
        response = await write_metadata(server, "eve", f"{path}/{part}", meta={"finalizers": HOLD})
        assert {*codes(response).values()} <= {200, 409, 422}


@pytest.mark.parametrize("finalizer", ["orphan", "foregroundDeletion", "CollectingGarbage"])
async def test_t13_who_may_not_delete_does_not_say_what_becomes_of_the_dependents(server: RbacServer, finalizer: str) -> None:
    await server.grant("eve", rbac_rule("get update patch", "configmaps"), namespace="a")
    await server.create("configmaps", "a", config_map("victim", finalizers=HOLD))
    response = await write_metadata(server, "eve", f"{MAPS}/victim", meta={"finalizers": [*HOLD, finalizer]})
    assert {*codes(response).values()} == {403}
    assert "finalizer of a resource you can't delete" in response["merge"].json["message"]
    await server.grant("eve", rbac_rule("delete", "configmaps"), namespace="a")
    assert (await write_metadata(server, "eve", f"{MAPS}/victim", meta={"finalizers": [*HOLD, finalizer]}))["update"].code == 200


async def test_t13_dependents_that_were_to_stay_are_not_deleted_by_who_takes_orphan_off() -> None:
    async with running_with_rbac() as server:  # without a collector, as if it had not processed the object yet
        await server.grant("eve", rbac_rule("get update patch", "configmaps"), namespace="a")
        await server.create("configmaps", "a", config_map("owner", finalizers=HOLD))
        await server.request("DELETE", f"{MAPS}/owner", ORPHAN)
        response = await write_metadata(server, "eve", f"{MAPS}/owner", meta={"finalizers": HOLD})
        assert {code for way, code in codes(response).items() if way not in {"strategic", "apply"}} == {403}
        bare = await server.ask_as("eve", "PATCH", f"{MAPS}/owner", body={"metadata": {"finalizers": None}}, media=MERGE)
        assert bare.code == 403
        assert (await server.request("GET", f"{MAPS}/owner")).json["metadata"]["finalizers"] == [*HOLD, "orphan"]


async def test_t14_update_right_can_remove_finalizers_but_delete_nothing(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("get patch", "configmaps"), namespace="a")
    await server.create("configmaps", "a", config_map("alive", finalizers=HOLD))
    await server.create("configmaps", "a", config_map("going", finalizers=HOLD))
    await server.request("DELETE", f"{MAPS}/going")
    for name in ("alive", "going"):
        response = await server.ask_as("eve", "PATCH", f"{MAPS}/{name}", body={"metadata": {"finalizers": None}}, media=MERGE)
        assert response.code == 200
    assert await exists_after_collection(server, f"{MAPS}/alive")
    assert not await exists_after_collection(server, f"{MAPS}/going")


async def test_t15_finalizer_cannot_be_added_during_deletion(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("get update patch", "configmaps"), namespace="a")
    await server.create("configmaps", "a", config_map("victim", finalizers=["example.com/one"]))
    await server.request("DELETE", f"{MAPS}/victim")
    response = await write_metadata(server, "eve", f"{MAPS}/victim", meta={"finalizers": ["example.com/one", *HOLD]})
    assert {*codes(response).values()} == {422}
    await server.request("PATCH", f"{MAPS}/victim", {"metadata": {"finalizers": None}}, media=MERGE)
    assert not await exists_after_collection(server, f"{MAPS}/victim")


async def test_t16_right_to_finalize_a_namespace_does_not_empty_it(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("*", "namespaces/finalize", "namespaces/status"))
    await server.create("configmaps", "b", config_map("x"))
    now = (await server.request("GET", "/api/v1/namespaces/b")).json
    bare = {**now, "spec": {}, "metadata": {**now["metadata"], "deletionTimestamp": "2020-01-01T00:00:00Z"}}
    await server.ask_as("eve", "PUT", "/api/v1/namespaces/b/finalize", body=bare)
    await server.ask_as("eve", "PUT", "/api/v1/namespaces/b/status", body={**bare, "status": {"phase": "Terminating"}})
    assert await exists_after_collection(server, "/api/v1/namespaces/b/configmaps/x")
    assert "deletionTimestamp" not in (await server.request("GET", "/api/v1/namespaces/b")).json["metadata"]
    await server.grant("ann", rbac_rule("*", "configmaps"), namespace="b")
    assert (await server.ask_as("ann", "PUT", "/api/v1/namespaces/b/finalize", body=bare)).code == 403
    assert (await server.ask_as("ann", "DELETE", "/api/v1/namespaces/b")).code == 403
