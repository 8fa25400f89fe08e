"""Owner references as a way to hold or delete what one may not (docs/security.md, the table of threats)."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from probate.server.authz.owner_checks import Owners
from support.attacker_requests import (
    APPLY,
    DEPLOYMENTS,
    MAPS,
    MERGE,
    PODS,
    SECRETS,
    Object,
    codes,
    config_map,
    deployment,
    is_there,
    may,
    nobody,
    pod,
    reference,
    rewrite,
    until_gone,
)
from support.rbac_server import Guarded, guarded

FOREGROUND = {"propagationPolicy": "Foreground"}


async def test_t1_owner_is_not_held_by_a_dependent_of_who_may_not_hold_it(house: Guarded) -> None:
    await house.grant("eve", may("create get update patch delete", "configmaps"), namespace="a")
    victim = await house.create("secrets", "a", {"metadata": {"name": "victim"}})
    blocking = reference(victim, kind="Secret", blockOwnerDeletion=True)
    made = config_map("x", finalizers=["example.com/forever"])
    body = {**made, "metadata": {**made["metadata"], "ownerReferences": [blocking]}}
    applied = await house.ask_as("eve", "PATCH", f"{MAPS}/x", body, media=APPLY, query={"fieldManager": "eve"})
    assert [(await house.ask_as("eve", "POST", MAPS, body)).code, applied.code] == [422, 422]
    assert (await house.ask_as("eve", "POST", MAPS, made)).code == 201
    told = await rewrite(house, "eve", f"{MAPS}/x", {"ownerReferences": [blocking]})
    assert {*codes(told).values()} == {422}
    await house.ask("DELETE", f"{SECRETS}/victim", FOREGROUND)
    assert not await is_there(house, f"{SECRETS}/victim")


async def test_t2_right_to_hold_one_owner_does_not_hold_another_by_its_uid(house: Guarded) -> None:
    await house.grant("eve", may("*", "configmaps"), namespace="a")
    mine = (await house.ask_as("eve", "POST", MAPS, config_map("mine"))).json
    victim = await house.create("secrets", "a", {"metadata": {"name": "victim"}})
    uid = victim["metadata"]["uid"]
    for name in ("mine", "absent"):
        mixed = reference(mine, name=name, uid=uid, blockOwnerDeletion=True)
        body = config_map(f"x-{name}", ownerReferences=[mixed], finalizers=["example.com/forever"])
        refused = await house.ask_as("eve", "POST", MAPS, body)
        assert refused.code == 422, name
        assert f"there is no ConfigMap {name} with the uid {uid}" in refused.json["message"]
    await house.ask("DELETE", f"{SECRETS}/victim", FOREGROUND)
    assert not await is_there(house, f"{SECRETS}/victim")


async def test_t3_owner_of_a_kind_that_comes_later_is_not_held_in_advance(house: Guarded) -> None:
    await house.grant("eve", may("*", "configmaps"), namespace="a")
    later = nobody(apiVersion="orbs.example.com/v1", kind="Orb", blockOwnerDeletion=True)
    assert (await house.ask_as("eve", "POST", MAPS, config_map("x", ownerReferences=[later]))).code == 422


async def test_t4_who_may_change_an_object_cannot_have_the_collector_delete_it(house: Guarded) -> None:
    rules = [may("get update patch", "configmaps"), may("get update patch", "deployments", group="apps")]
    await house.grant("eve", *rules, namespace="a")
    await house.create("configmaps", "a", config_map("victim"))
    await house.create("apis/apps/v1/deployments", "a", deployment("victim"))
    for path in (f"{MAPS}/victim", f"{DEPLOYMENTS}/victim"):
        told = await rewrite(house, "eve", path, {"ownerReferences": [nobody()]})
        assert {*codes(told).values()} == {403}, path
        assert "cannot set an ownerRef on a resource you can't delete" in told["merge"].json["message"]
        assert await is_there(house, path)
    await house.grant("eve", may("delete", "configmaps"), namespace="a")
    told = await rewrite(house, "eve", f"{MAPS}/victim", {"ownerReferences": [nobody()]})
    assert told["update"].code == 200
    assert not await is_there(house, f"{MAPS}/victim")


@pytest.mark.parametrize("part", ["status", "scale"])
async def test_t4_part_of_an_object_is_no_way_around_it(house: Guarded, part: str) -> None:
    await house.grant("eve", may("*", f"deployments/{part}", group="apps"), namespace="a")
    await house.create("apis/apps/v1/deployments", "a", deployment("victim"))
    path = f"{DEPLOYMENTS}/victim"
    await rewrite(house, "eve", f"{path}/{part}", {"ownerReferences": [nobody()]})
    assert await is_there(house, path)
    assert "ownerReferences" not in (await house.ask("GET", path)).json["metadata"]


async def test_t4_status_of_a_namespace_is_no_way_to_delete_it(house: Guarded) -> None:
    await house.grant("eve", may("*", "namespaces/status"))
    owner = nobody(apiVersion="rbac.authorization.k8s.io/v1", kind="ClusterRole")
    told = await rewrite(house, "eve", "/api/v1/namespaces/b/status", {"ownerReferences": [owner]})
    assert {*codes(told).values()} == {403}
    assert await is_there(house, "/api/v1/namespaces/b")


async def test_t5_who_may_change_an_object_cannot_keep_it_from_the_collector(house: Guarded) -> None:
    await house.grant("eve", may("create get update patch", "configmaps"), namespace="a")
    owner = await house.create("configmaps", "a", config_map("owner"))
    await house.create("configmaps", "a", config_map("victim", ownerReferences=[reference(owner)]))
    mine = (await house.ask_as("eve", "POST", MAPS, config_map("mine"))).json
    for owners in ([], [reference(owner), reference(mine)]):
        told = await rewrite(house, "eve", f"{MAPS}/victim", {"ownerReferences": owners})
        assert {code for way, code in codes(told).items() if way not in {"strategic", "apply"} or owners} == {403}, owners
    await house.ask("DELETE", f"{MAPS}/owner")
    assert not await is_there(house, f"{MAPS}/victim")


async def test_t6_nothing_is_held_or_deleted_across_namespaces(house: Guarded) -> None:
    await house.grant("eve", may("*", "configmaps"), namespace="b")
    victim = await house.create("configmaps", "a", config_map("victim"))
    await house.create("configmaps", "a", config_map("child", ownerReferences=[reference(victim)]))
    far = "/api/v1/namespaces/b/configmaps"
    twin = (await house.ask_as("eve", "POST", far, config_map("victim"))).json
    held = config_map("x", ownerReferences=[reference(victim)], finalizers=["example.com/forever"])
    assert (await house.ask_as("eve", "POST", far, held)).code == 201
    blocking = [reference(victim, blockOwnerDeletion=True)]
    assert (await house.ask_as("eve", "POST", far, config_map("y", ownerReferences=blocking))).code == 422
    assert twin["metadata"]["uid"] != victim["metadata"]["uid"]
    assert (await house.ask_as("eve", "DELETE", f"{far}/victim", FOREGROUND)).code == 200
    assert await is_there(house, f"{MAPS}/child")
    await house.ask("DELETE", f"{MAPS}/victim", FOREGROUND)
    assert not await is_there(house, f"{MAPS}/victim")


def stray(number: str, owner: Object, where: str) -> tuple[str, Object]:
    """A path, and an object to create there that names the owner from where it can never count."""
    if where == "cluster":
        body = {"metadata": {"name": f"x-{number}", "ownerReferences": [reference(owner)]}, "value": 1}
        return "/apis/scheduling.k8s.io/v1/priorityclasses", body
    return "/api/v1/namespaces/b/configmaps", config_map(f"x-{number}", ownerReferences=[reference(owner)])


@pytest.mark.parametrize("where", ["other namespace", "cluster"])
async def test_t6_orphaning_owner_is_not_held_by_ever_new_objects_that_cannot_be_its_dependents(house: Guarded, where: str) -> None:
    await house.grant("eve", may("create", "configmaps"), namespace="b")
    await house.grant("eve", may("create", "priorityclasses", group="scheduling.k8s.io"))
    victim = await house.create("configmaps", "a", config_map("victim"))

    async def attack(who: int) -> None:
        for number in itertools.count():
            assert (await house.ask_as("eve", "POST", *stray(f"{who}-{number}", victim, where))).code == 201
            await asyncio.sleep(0)

    attacking = [asyncio.ensure_future(attack(who)) for who in range(10)]
    try:
        await house.turns(50)
        await house.ask("DELETE", f"{MAPS}/victim", {"propagationPolicy": "Orphan"})
        assert await until_gone(house, f"{MAPS}/victim", tries=2_000)
    finally:
        for one in attacking:
            one.cancel()
        await asyncio.gather(*attacking, return_exceptions=True)


async def test_t6_orphaning_takes_no_reference_off_an_object_of_another_namespace(house: Guarded) -> None:
    victim = await house.create("configmaps", "a", config_map("victim"))
    await house.create("configmaps", "a", config_map("child", ownerReferences=[reference(victim)]))
    path, body = stray("far", victim, "cluster")
    assert (await house.ask("POST", path, body)).code == 201
    # An owner of a kind that is not served keeps this one: the collector does not delete on doubt.
    doubtful = [reference(victim), nobody(apiVersion="nowhere.example.com/v1", kind="Ghost")]
    await house.create("configmaps", "b", config_map("far", ownerReferences=doubtful))
    await house.ask("DELETE", f"{MAPS}/victim", {"propagationPolicy": "Orphan"})
    assert not await is_there(house, f"{MAPS}/victim")
    assert "ownerReferences" not in (await house.ask("GET", f"{MAPS}/child")).json["metadata"]
    assert "ownerReferences" not in (await house.ask("GET", f"{path}/x-far")).json["metadata"]  # cluster-scoped: as in Kubernetes
    kept = (await house.ask("GET", "/api/v1/namespaces/b/configmaps/far")).json
    assert kept["metadata"]["ownerReferences"][0]["uid"] == victim["metadata"]["uid"]


async def test_t7_object_that_looks_as_if_another_had_made_it_can_be_ruled_out(house: Guarded) -> None:
    await house.grant("eve", may("create get", "pods"), namespace="a")
    made = deployment("victim")
    sets = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "victim"}, "spec": made["spec"]}
    victim = await house.create("apis/apps/v1/replicasets", "a", sets)
    claimed = reference(victim, apiVersion="apps/v1", kind="ReplicaSet", controller=True)
    body = pod("x", meta={"labels": {"app": "victim"}, "ownerReferences": [claimed]})
    assert (await house.ask_as("eve", "POST", PODS, body)).code == 201
    house.api.owners = Owners.ALL
    body["metadata"]["name"] = "y"
    assert (await house.ask_as("eve", "POST", PODS, body)).code == 422
    claimed["blockOwnerDeletion"] = True
    house.api.owners = Owners.BLOCKING
    assert (await house.ask_as("eve", "POST", PODS, body)).code == 422


async def test_t8_owner_that_leaves_its_dependents_behind_is_not_held_by_ever_new_ones(house: Guarded) -> None:
    await house.grant("eve", may("create", "configmaps"), namespace="a")
    victim = await house.create("configmaps", "a", config_map("victim"))

    async def attack(who: int) -> None:
        for number in itertools.count():
            body = config_map(f"x-{who}-{number}", ownerReferences=[reference(victim)])
            await house.ask_as("eve", "POST", MAPS, body)
            await asyncio.sleep(0)

    attacking = [asyncio.ensure_future(attack(who)) for who in range(10)]
    try:
        await house.turns(50)
        await house.ask("DELETE", f"{MAPS}/victim", {"propagationPolicy": "Orphan"})
        assert await until_gone(house, f"{MAPS}/victim", tries=20_000)
    finally:
        for one in attacking:
            one.cancel()
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
    async with guarded() as house:  # no collector: the owner stays as it is
        await house.grant("eve", may("create", "configmaps"), namespace="a")
        path = f"{MAPS}/victim" if scope == "namespaced" else "/apis/scheduling.k8s.io/v1/priorityclasses/victim"
        folder, _, _ = path.rpartition("/")
        victim = (await house.ask("POST", folder, {"metadata": {"name": "victim"}})).json
        await house.ask("DELETE", path, {"propagationPolicy": "Orphan"})
        body = config_map("x", ownerReferences=[reference(victim, **wrong)])
        refused = await house.ask_as("eve", "POST", MAPS, body)
        assert refused.code == 422, refused.json
        assert "so nothing new can refer to it" in refused.json["message"]
        resource = "configmaps/finalizers" if scope == "namespaced" else "priorityclasses/finalizers"
        await house.grant("eve", may("update", resource, group="" if scope == "namespaced" else "scheduling.k8s.io"))
        assert (await house.ask_as("eve", "POST", MAPS, body)).code == 201


async def test_t9_nobody_chooses_a_uid(house: Guarded) -> None:
    await house.grant("eve", may("create get update patch", "configmaps"), namespace="a")
    gone = await house.create("configmaps", "a", config_map("owner"))
    uid = gone["metadata"]["uid"]
    await house.ask("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Orphan"})
    await house.rest()
    made = await house.ask_as("eve", "POST", MAPS, config_map("owner", uid=uid))
    assert (made.code, made.json["metadata"]["uid"] == uid) == (201, False)
    told = await rewrite(house, "eve", f"{MAPS}/owner", {"uid": uid})
    assert all(code >= 400 for code in codes(told).values())
    assert (await house.ask("GET", f"{MAPS}/owner")).json["metadata"]["uid"] != uid


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


async def test_t10_odd_references_do_not_stop_the_collector(house: Guarded) -> None:
    await house.grant("eve", may("create", "configmaps"), namespace="a")
    for name, odd in ODD.items():
        body = config_map(f"odd-{name}", ownerReferences=[nobody(**odd)])
        assert (await house.ask_as("eve", "POST", MAPS, body)).code in {201, 400, 422}, name
    many = [nobody(uid=f"{number:08}", name=f"n{number}") for number in range(1_500)]
    assert (await house.ask_as("eve", "POST", MAPS, config_map("many", ownerReferences=many))).code in {201, 413, 422}
    owner = await house.create("configmaps", "a", config_map("owner"))
    await house.create("configmaps", "a", config_map("child", ownerReferences=[reference(owner)]))
    await house.ask("DELETE", f"{MAPS}/owner")
    assert not await is_there(house, f"{MAPS}/child")


async def test_t11_who_deletes_an_owner_deletes_what_it_owns_and_nothing_else(house: Guarded) -> None:
    await house.grant("eve", may("delete", "configmaps", resourceNames=["owner"]), namespace="a")
    owner = await house.create("configmaps", "a", config_map("owner"))
    await house.create("secrets", "a", {"metadata": {"name": "owned", "ownerReferences": [reference(owner)]}})
    await house.create("secrets", "a", {"metadata": {"name": "beside"}})
    assert (await house.ask_as("eve", "DELETE", f"{SECRETS}/owned")).code == 403
    assert (await house.ask_as("eve", "DELETE", f"{MAPS}/owner", FOREGROUND)).code == 200
    assert not await is_there(house, f"{SECRETS}/owned")
    assert await is_there(house, f"{SECRETS}/beside")


async def test_t11_dependents_with_another_owner_stay(house: Guarded) -> None:
    await house.grant("eve", may("create delete", "configmaps"), namespace="a")
    owner = await house.create("configmaps", "a", config_map("owner"))
    mine = (await house.ask_as("eve", "POST", MAPS, config_map("mine"))).json
    both = [reference(owner), reference(mine)]
    await house.create("secrets", "a", {"metadata": {"name": "owned", "ownerReferences": both}})
    assert (await house.ask_as("eve", "DELETE", f"{MAPS}/mine")).code == 200
    assert await is_there(house, f"{SECRETS}/owned")
    less = (await house.ask("PATCH", f"{MAPS}/owner", {}, media=MERGE)).code
    assert less == 200
