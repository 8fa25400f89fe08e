"""Abuse of owner references to block or delete without the right (docs/security.md, the table of threats)."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from probate.api.objects import Object
from probate.server.authz.owner_checks import OwnerChecks
from support.attacker_requests import (
    APPLY,
    DEPLOYMENTS,
    MAPS,
    MERGE,
    PODS,
    SECRETS,
    codes,
    config_map,
    deployment,
    exists_after_collection,
    missing_owner_reference,
    owner_reference,
    pod,
    rbac_rule,
    until_gone,
    write_metadata,
)
from support.owner_settings import set_owner_permissions
from support.rbac_server import RbacServer, running_with_rbac

FOREGROUND = {"propagationPolicy": "Foreground"}


async def test_t1_owner_is_not_held_by_a_dependent_of_who_may_not_hold_it(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create get update patch delete", "configmaps"), namespace="a")
    victim = await server.create("secrets", "a", {"metadata": {"name": "victim"}})
    blocking = owner_reference(victim, kind="Secret", blockOwnerDeletion=True)
    created = config_map("x", finalizers=["example.com/forever"])
    body = {**created, "metadata": {**created["metadata"], "ownerReferences": [blocking]}}
    applied = await server.ask_as("eve", "PATCH", f"{MAPS}/x", body=body, media=APPLY, query={"fieldManager": "eve"})
    assert [(await server.ask_as("eve", "POST", MAPS, body=body)).code, applied.code] == [422, 422]
    assert (await server.ask_as("eve", "POST", MAPS, body=created)).code == 201
    response = await write_metadata(server, "eve", f"{MAPS}/x", meta={"ownerReferences": [blocking]})
    assert {*codes(response).values()} == {422}
    await server.request("DELETE", f"{SECRETS}/victim", FOREGROUND)
    assert not await exists_after_collection(server, f"{SECRETS}/victim")


async def test_t2_right_to_hold_one_owner_does_not_hold_another_by_its_uid(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("*", "configmaps"), namespace="a")
    mine = (await server.ask_as("eve", "POST", MAPS, body=config_map("mine"))).json
    victim = await server.create("secrets", "a", {"metadata": {"name": "victim"}})
    uid = victim["metadata"]["uid"]
    for name in ("mine", "absent"):
        mixed = owner_reference(mine, name=name, uid=uid, blockOwnerDeletion=True)
        body = config_map(f"x-{name}", ownerReferences=[mixed], finalizers=["example.com/forever"])
        refused = await server.ask_as("eve", "POST", MAPS, body=body)
        assert refused.code == 422, name
        assert f"there is no ConfigMap {name} with the uid {uid}" in refused.json["message"]
    await server.request("DELETE", f"{SECRETS}/victim", FOREGROUND)
    assert not await exists_after_collection(server, f"{SECRETS}/victim")


async def test_t3_owner_of_an_unknown_kind_is_not_blocked_in_advance(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("*", "configmaps"), namespace="a")
    later = missing_owner_reference(apiVersion="orbs.example.com/v1", kind="Orb", blockOwnerDeletion=True)
    assert (await server.ask_as("eve", "POST", MAPS, body=config_map("x", ownerReferences=[later]))).code == 422


async def test_t4_who_may_change_an_object_cannot_have_the_collector_delete_it(server: RbacServer) -> None:
    rules = [rbac_rule("get update patch", "configmaps"), rbac_rule("get update patch", "deployments", group="apps")]
    await server.grant("eve", *rules, namespace="a")
    await server.create("configmaps", "a", config_map("victim"))
    await server.create("apis/apps/v1/deployments", "a", deployment("victim"))
    for path in (f"{MAPS}/victim", f"{DEPLOYMENTS}/victim"):
        response = await write_metadata(server, "eve", path, meta={"ownerReferences": [missing_owner_reference()]})
        assert {*codes(response).values()} == {403}, path
        assert "cannot set an ownerRef on a resource you can't delete" in response["merge"].json["message"]
        assert await exists_after_collection(server, path)
    await server.grant("eve", rbac_rule("delete", "configmaps"), namespace="a")
    response = await write_metadata(server, "eve", f"{MAPS}/victim", meta={"ownerReferences": [missing_owner_reference()]})
    assert response["update"].code == 200
    assert not await exists_after_collection(server, f"{MAPS}/victim")


@pytest.mark.parametrize("part", ["status", "scale"])
async def test_t4_part_of_an_object_is_no_way_around_it(server: RbacServer, part: str) -> None:
    await server.grant("eve", rbac_rule("*", f"deployments/{part}", group="apps"), namespace="a")
    await server.create("apis/apps/v1/deployments", "a", deployment("victim"))
    path = f"{DEPLOYMENTS}/victim"
    await write_metadata(server, "eve", f"{path}/{part}", meta={"ownerReferences": [missing_owner_reference()]})
    assert await exists_after_collection(server, path)
    assert "ownerReferences" not in (await server.request("GET", path)).json["metadata"]


async def test_t4_status_of_a_namespace_is_no_way_to_delete_it(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("*", "namespaces/status"))
    owner = missing_owner_reference(apiVersion="rbac.authorization.k8s.io/v1", kind="ClusterRole")
    response = await write_metadata(server, "eve", "/api/v1/namespaces/b/status", meta={"ownerReferences": [owner]})
    assert {*codes(response).values()} == {403}
    assert await exists_after_collection(server, "/api/v1/namespaces/b")


async def test_t5_update_right_cannot_protect_an_object_from_the_collector(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create get update patch", "configmaps"), namespace="a")
    owner = await server.create("configmaps", "a", config_map("owner"))
    await server.create("configmaps", "a", config_map("victim", ownerReferences=[owner_reference(owner)]))
    mine = (await server.ask_as("eve", "POST", MAPS, body=config_map("mine"))).json
    for owners in ([], [owner_reference(owner), owner_reference(mine)]):
        response = await write_metadata(server, "eve", f"{MAPS}/victim", meta={"ownerReferences": owners})
        assert {code for way, code in codes(response).items() if way not in {"strategic", "apply"} or owners} == {403}, owners
    await server.request("DELETE", f"{MAPS}/owner")
    assert not await exists_after_collection(server, f"{MAPS}/victim")


async def test_t6_owners_in_other_namespaces_neither_block_nor_delete(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("*", "configmaps"), namespace="b")
    victim = await server.create("configmaps", "a", config_map("victim"))
    await server.create("configmaps", "a", config_map("child", ownerReferences=[owner_reference(victim)]))
    far = "/api/v1/namespaces/b/configmaps"
    twin = (await server.ask_as("eve", "POST", far, body=config_map("victim"))).json
    held = config_map("x", ownerReferences=[owner_reference(victim)], finalizers=["example.com/forever"])
    assert (await server.ask_as("eve", "POST", far, body=held)).code == 201
    blocking = [owner_reference(victim, blockOwnerDeletion=True)]
    assert (await server.ask_as("eve", "POST", far, body=config_map("y", ownerReferences=blocking))).code == 422
    assert twin["metadata"]["uid"] != victim["metadata"]["uid"]
    assert (await server.ask_as("eve", "DELETE", f"{far}/victim", body=FOREGROUND)).code == 200
    assert await exists_after_collection(server, f"{MAPS}/child")
    await server.request("DELETE", f"{MAPS}/victim", FOREGROUND)
    assert not await exists_after_collection(server, f"{MAPS}/victim")


def stray(number: str, owner: Object, where: str) -> tuple[str, Object]:
    """Returns a path, and an object to create there whose reference to the owner can never count."""
    if where == "cluster":
        body = {"metadata": {"name": f"x-{number}", "ownerReferences": [owner_reference(owner)]}, "value": 1}
        return "/apis/scheduling.k8s.io/v1/priorityclasses", body
    return "/api/v1/namespaces/b/configmaps", config_map(f"x-{number}", ownerReferences=[owner_reference(owner)])


@pytest.mark.parametrize("where", ["other namespace", "cluster"])
async def test_t6_orphaning_owner_is_not_held_by_ever_new_objects_that_cannot_be_its_dependents(
    server: RbacServer, where: str
) -> None:
    await server.grant("eve", rbac_rule("create", "configmaps"), namespace="b")
    await server.grant("eve", rbac_rule("create", "priorityclasses", group="scheduling.k8s.io"))
    victim = await server.create("configmaps", "a", config_map("victim"))

    async def attack(user: int) -> None:
        for number in itertools.count():
            path, body = stray(f"{user}-{number}", victim, where)
            assert (await server.ask_as("eve", "POST", path, body=body)).code == 201
            await asyncio.sleep(0)

    attacking = [asyncio.ensure_future(attack(user)) for user in range(10)]
    try:
        await server.yield_to_loop(50)
        await server.request("DELETE", f"{MAPS}/victim", {"propagationPolicy": "Orphan"})
        assert await until_gone(server, f"{MAPS}/victim", tries=2_000)
    finally:
        for item in attacking:
            item.cancel()
        await asyncio.gather(*attacking, return_exceptions=True)


async def test_t6_orphaning_keeps_references_in_other_namespaces(server: RbacServer) -> None:
    victim = await server.create("configmaps", "a", config_map("victim"))
    await server.create("configmaps", "a", config_map("child", ownerReferences=[owner_reference(victim)]))
    path, body = stray("far", victim, "cluster")
    assert (await server.request("POST", path, body)).code == 201
    # An owner of a kind that is not served keeps this one: the collector does not delete on doubt.
    doubtful = [owner_reference(victim), missing_owner_reference(apiVersion="nowhere.example.com/v1", kind="Ghost")]
    await server.create("configmaps", "b", config_map("far", ownerReferences=doubtful))
    await server.request("DELETE", f"{MAPS}/victim", {"propagationPolicy": "Orphan"})
    assert not await exists_after_collection(server, f"{MAPS}/victim")
    assert "ownerReferences" not in (await server.request("GET", f"{MAPS}/child")).json["metadata"]
    assert (
        "ownerReferences" not in (await server.request("GET", f"{path}/x-far")).json["metadata"]
    )  # cluster-scoped: as in Kubernetes
    kept = (await server.request("GET", "/api/v1/namespaces/b/configmaps/far")).json
    assert kept["metadata"]["ownerReferences"][0]["uid"] == victim["metadata"]["uid"]


async def test_t7_setting_all_prevents_forged_owner_references(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create get", "pods"), namespace="a")
    created = deployment("victim")
    sets = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "victim"}, "spec": created["spec"]}
    victim = await server.create("apis/apps/v1/replicasets", "a", sets)
    claimed = owner_reference(victim, apiVersion="apps/v1", kind="ReplicaSet", controller=True)
    body = pod("x", meta={"labels": {"app": "victim"}, "ownerReferences": [claimed]})
    assert (await server.ask_as("eve", "POST", PODS, body=body)).code == 201
    set_owner_permissions(server, OwnerChecks.ALL)
    body["metadata"]["name"] = "y"
    assert (await server.ask_as("eve", "POST", PODS, body=body)).code == 422
    claimed["blockOwnerDeletion"] = True
    set_owner_permissions(server, OwnerChecks.BLOCKING)
    assert (await server.ask_as("eve", "POST", PODS, body=body)).code == 422


async def test_t8_owner_that_leaves_its_dependents_behind_is_not_held_by_ever_new_ones(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create", "configmaps"), namespace="a")
    victim = await server.create("configmaps", "a", config_map("victim"))

    async def attack(user: int) -> None:
        for number in itertools.count():
            body = config_map(f"x-{user}-{number}", ownerReferences=[owner_reference(victim)])
            await server.ask_as("eve", "POST", MAPS, body=body)
            await asyncio.sleep(0)

    attacking = [asyncio.ensure_future(attack(user)) for user in range(10)]
    try:
        await server.yield_to_loop(50)
        await server.request("DELETE", f"{MAPS}/victim", {"propagationPolicy": "Orphan"})
        assert await until_gone(server, f"{MAPS}/victim", tries=20_000)
    finally:
        for item in attacking:
            item.cancel()
        await asyncio.gather(*attacking, return_exceptions=True)


WRONG: dict[str, Object] = {
    "name": {"name": "nobody"},
    "kind": {"kind": "Secret"},
    "scope": {"kind": "Node"},
    "unknown kind": {"apiVersion": "x.io/v1", "kind": "Ghost"},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("scope", ["namespaced", "cluster"])
async def test_t8_owner_that_orphans_is_not_held_by_its_uid_under_another_name_kind_or_scope(wrong: Object, scope: str) -> None:
    async with running_with_rbac() as server:  # no collector: the owner stays as it is
        await server.grant("eve", rbac_rule("create", "configmaps"), namespace="a")
        path = f"{MAPS}/victim" if scope == "namespaced" else "/apis/scheduling.k8s.io/v1/priorityclasses/victim"
        folder, _, _ = path.rpartition("/")
        victim = (await server.request("POST", folder, {"metadata": {"name": "victim"}})).json
        await server.request("DELETE", path, {"propagationPolicy": "Orphan"})
        body = config_map("x", ownerReferences=[owner_reference(victim, **wrong)])
        refused = await server.ask_as("eve", "POST", MAPS, body=body)
        assert refused.code == 422, refused.json
        assert "so no new reference to it is allowed" in refused.json["message"]
        resource = "configmaps/finalizers" if scope == "namespaced" else "priorityclasses/finalizers"
        await server.grant("eve", rbac_rule("update", resource, group="" if scope == "namespaced" else "scheduling.k8s.io"))
        assert (await server.ask_as("eve", "POST", MAPS, body=body)).code == 201


async def test_t9_clients_cannot_choose_a_uid(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create get update patch", "configmaps"), namespace="a")
    gone = await server.create("configmaps", "a", config_map("owner"))
    uid = gone["metadata"]["uid"]
    await server.request("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Orphan"})
    await server.wait_until_idle()
    created = await server.ask_as("eve", "POST", MAPS, body=config_map("owner", uid=uid))
    assert (created.code, created.json["metadata"]["uid"] == uid) == (201, False)
    response = await write_metadata(server, "eve", f"{MAPS}/owner", meta={"uid": uid})
    assert all(code >= 400 for code in codes(response).values())
    assert (await server.request("GET", f"{MAPS}/owner")).json["metadata"]["uid"] != uid


ODD: dict[str, Object] = {
    "name": {"name": "../../secrets/a/x"},
    "long": {"name": "n" * 5_000},
    "uid": {"uid": "u" * 5_000},
    "slashes": {"uid": "/owned/x/", "name": "a/b"},
    "control": {"uid": "\x00\n", "name": "\x00"},
    "kind": {"kind": "K" * 5_000},
    "group": {"apiVersion": "a/b/c/d"},
    "scope": {"kind": "Node", "name": "n"},
}


async def test_t10_malformed_references_do_not_stop_the_collector(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create", "configmaps"), namespace="a")
    for name, odd in ODD.items():
        body = config_map(f"odd-{name}", ownerReferences=[missing_owner_reference(**odd)])
        assert (await server.ask_as("eve", "POST", MAPS, body=body)).code in {201, 400, 422}, name
    many = [missing_owner_reference(uid=f"{number:08}", name=f"n{number}") for number in range(1_500)]
    assert (await server.ask_as("eve", "POST", MAPS, body=config_map("many", ownerReferences=many))).code in {201, 413, 422}
    owner = await server.create("configmaps", "a", config_map("owner"))
    await server.create("configmaps", "a", config_map("child", ownerReferences=[owner_reference(owner)]))
    await server.request("DELETE", f"{MAPS}/owner")
    assert not await exists_after_collection(server, f"{MAPS}/child")


async def test_t11_deleting_an_owner_deletes_only_its_dependents(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("delete", "configmaps", resourceNames=["owner"]), namespace="a")
    owner = await server.create("configmaps", "a", config_map("owner"))
    await server.create("secrets", "a", {"metadata": {"name": "owned", "ownerReferences": [owner_reference(owner)]}})
    await server.create("secrets", "a", {"metadata": {"name": "beside"}})
    assert (await server.ask_as("eve", "DELETE", f"{SECRETS}/owned")).code == 403
    assert (await server.ask_as("eve", "DELETE", f"{MAPS}/owner", body=FOREGROUND)).code == 200
    assert not await exists_after_collection(server, f"{SECRETS}/owned")
    assert await exists_after_collection(server, f"{SECRETS}/beside")


async def test_t11_dependents_with_another_owner_stay(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create delete", "configmaps"), namespace="a")
    owner = await server.create("configmaps", "a", config_map("owner"))
    mine = (await server.ask_as("eve", "POST", MAPS, body=config_map("mine"))).json
    both = [owner_reference(owner), owner_reference(mine)]
    await server.create("secrets", "a", {"metadata": {"name": "owned", "ownerReferences": both}})
    assert (await server.ask_as("eve", "DELETE", f"{MAPS}/mine")).code == 200
    assert await exists_after_collection(server, f"{SECRETS}/owned")
    less = (await server.request("PATCH", f"{MAPS}/owner", {}, media=MERGE)).code
    assert less == 200
