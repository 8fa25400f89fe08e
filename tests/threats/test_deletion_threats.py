"""Deletions, their options and their time as a way to hold or delete what one may not (docs/security.md, the table of threats)."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.deletion import MAX_GRACE
from support.attacker_requests import (
    APPLY,
    DEPLOYMENTS,
    MAPS,
    PODS,
    SECRETS,
    config_map,
    deployment,
    is_there,
    may,
    pod,
    reference,
    rewrite,
)
from support.rbac_server import Guarded

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PAST = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}


async def test_t17_nobody_marks_an_object_as_deleted_by_writing_it(house: Guarded) -> None:
    rules = [may("*", "configmaps/status"), may("create get update patch", "configmaps"), may("*", "deployments/*", group="apps")]
    await house.grant("eve", *rules, namespace="a")
    await house.create("configmaps", "a", config_map("victim", finalizers=["example.com/a"]))
    await house.create("apis/apps/v1/deployments", "a", deployment("victim"))
    for path in (f"{MAPS}/victim", f"{DEPLOYMENTS}/victim/status", f"{DEPLOYMENTS}/victim/scale"):
        await rewrite(house, "eve", path, PAST)
    assert (await house.ask_as("eve", "POST", MAPS, config_map("new", **PAST))).code == 201
    body = config_map("applied", **PAST)
    await house.ask_as("eve", "PATCH", f"{MAPS}/applied", body, media=APPLY, query={"fieldManager": "eve"})
    for path in (f"{MAPS}/victim", f"{MAPS}/new", f"{MAPS}/applied", f"{DEPLOYMENTS}/victim"):
        assert not {*PAST} & {*(await house.ask("GET", path)).json["metadata"]}, path


async def test_t18_grace_without_end_made_a_pod_that_nobody_could_delete(house: Guarded) -> None:
    await house.grant("eve", may("create delete", "pods"), namespace="a")
    assert (await house.ask_as("eve", "POST", PODS, pod("x", nodeName="n", terminationGracePeriodSeconds=10**18))).code == 201
    marked = await house.ask("DELETE", f"{PODS}/x")
    assert (marked.code, marked.json["metadata"]["deletionGracePeriodSeconds"]) == (200, MAX_GRACE)
    assert (await house.ask("DELETE", f"{PODS}/x", {"gracePeriodSeconds": 0})).code == 200
    assert not await is_there(house, f"{PODS}/x")
    await house.ask_as("eve", "POST", PODS, pod("y", nodeName="n"))
    assert (await house.ask_as("eve", "DELETE", f"{PODS}/y", {"gracePeriodSeconds": 2**63 - 1})).code == 200


async def test_t18_grace_without_end_does_not_stop_the_collector(house: Guarded) -> None:
    owner = await house.create("configmaps", "a", config_map("owner"))
    meta = {"ownerReferences": [reference(owner)]}
    await house.create("pods", "a", pod("x", meta=meta, nodeName="n", terminationGracePeriodSeconds=10**18))
    await house.create("secrets", "a", {"metadata": {"name": "y", **meta}})
    await house.ask("DELETE", f"{MAPS}/owner")
    assert not await is_there(house, f"{SECRETS}/y")
    assert (await house.ask("GET", f"{PODS}/x")).json["metadata"]["deletionGracePeriodSeconds"] == MAX_GRACE


async def test_t19_grace_is_not_made_longer_by_a_second_delete_or_a_write(house: Guarded) -> None:
    await house.grant("eve", may("delete get update patch", "pods"), namespace="a")
    await house.create("pods", "a", pod("x", nodeName="n", terminationGracePeriodSeconds=10))
    before = (await house.ask("DELETE", f"{PODS}/x")).json["metadata"]
    await house.ask_as("eve", "DELETE", f"{PODS}/x", {"gracePeriodSeconds": 10_000})
    await rewrite(house, "eve", f"{PODS}/x", {"deletionGracePeriodSeconds": 10_000, "deletionTimestamp": "2199-01-01T00:00:00Z"})
    after = (await house.ask("GET", f"{PODS}/x")).json["metadata"]
    assert {name: after[name] for name in PAST} == {name: before[name] for name in PAST}
    longer = [{"op": "replace", "path": "/spec/terminationGracePeriodSeconds", "value": 10_000}]
    told = await house.ask_as("eve", "PATCH", f"{PODS}/x", longer, media="application/json-patch+json")
    assert told.code == 422


async def test_t20_eviction_takes_its_own_right_and_keeps_to_budgets(house: Guarded) -> None:
    await house.grant("eve", may("get update patch delete", "pods/status"), namespace="a")
    await house.create("pods", "a", pod("x", meta={"labels": {"a": "b"}}, nodeName="n"))
    await house.ask("PATCH", f"{PODS}/x/status", {"status": {"phase": "Running"}}, media="application/merge-patch+json")
    body = {"metadata": {"name": "x"}, "deleteOptions": {"gracePeriodSeconds": 0}}
    assert (await house.ask_as("eve", "POST", f"{PODS}/x/eviction", body)).code == 403
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
    await house.create("apis/policy/v1/poddisruptionbudgets", "a", budget)
    await house.grant("eve", may("create", "pods/eviction"), namespace="a")
    assert (await house.ask_as("eve", "POST", f"{PODS}/x/eviction", body)).code == 429
    assert await is_there(house, f"{PODS}/x")


async def test_t21_right_to_delete_one_is_none_to_delete_many(house: Guarded) -> None:
    await house.grant("eve", may("delete", "configmaps"), namespace="a")
    await house.grant("eve", may("deletecollection", "configmaps", resourceNames=["mine"]), namespace="a")
    await house.create("configmaps", "a", config_map("victim"))
    for query in ({}, {"fieldSelector": "metadata.name=mine"}, {"labelSelector": "a=b"}):
        assert (await house.ask_as("eve", "DELETE", MAPS, query=query)).code == 403, query
    assert (await house.ask_as("eve", "DELETE", "/api/v1/configmaps")).code == 405
    assert await is_there(house, f"{MAPS}/victim")


REHEARSALS: dict[str, dict[str, Any]] = {
    "create": {"method": "POST", "path": MAPS, "body": config_map("new")},
    "update": {"method": "PUT", "path": f"{MAPS}/victim", "body": config_map("victim", labels={"a": "b"})},
    "delete": {"method": "DELETE", "path": f"{MAPS}/victim"},
    "deletecollection": {"method": "DELETE", "path": MAPS},
}


@pytest.mark.parametrize("verb", REHEARSALS)
async def test_t22_dry_run_takes_the_same_right_and_does_nothing(house: Guarded, verb: str) -> None:
    await house.create("configmaps", "a", config_map("victim"))
    before = await house.store.revision()
    asked = {**REHEARSALS[verb], "query": {"dryRun": "All"}}
    assert (await house.ask_as("eve", **asked)).code == 403
    assert await house.store.revision() == before
    await house.grant("eve", may(verb, "configmaps"), namespace="a")
    before = await house.store.revision()
    assert (await house.ask_as("eve", **asked)).code in {200, 201}
    assert await house.store.revision() == before


def definition(scope: str = "Namespaced") -> Any:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "orbs", "kind": "Orb"}
    spec = {"group": "example.com", "scope": scope, "names": names, "versions": [version]}
    return {"metadata": {"name": "orbs.example.com"}, "spec": spec}


async def test_t23_who_may_change_a_definition_or_its_objects_does_not_delete_them_all(house: Guarded) -> None:
    await house.create("apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", definition())
    await house.create("apis/example.com/v1/orbs", "a", {"apiVersion": "example.com/v1", "kind": "Orb", "metadata": {"name": "x"}})
    await house.grant("eve", may("*", "orbs", group="example.com"))
    path = f"{DEFINITIONS}/orbs.example.com"
    assert (await house.ask_as("eve", "DELETE", path)).code == 403
    group = "apiextensions.k8s.io"
    await house.grant("eve", may("get update patch", "customresourcedefinitions", "customresourcedefinitions/*", group=group))
    assert (await house.ask_as("eve", "DELETE", path)).code == 403
    now = (await house.ask("GET", path)).json
    for change in ({"scope": "Cluster"}, {"group": "other.com"}, {"names": {**now["spec"]["names"], "plural": "others"}}):
        refused = await house.ask_as("eve", "PUT", path, {**now, "spec": {**now["spec"], **change}})
        assert refused.code == 422, change
    unserved = {**now["spec"]["versions"][0], "served": False}
    told = await house.ask_as("eve", "PUT", path, {**now, "spec": {**now["spec"], "versions": [unserved]}})
    assert told.code == 200
    await house.rest()
    assert (await house.ask("PUT", path, {**told.json, "spec": now["spec"]})).code == 200
    assert await is_there(house, "/apis/example.com/v1/namespaces/a/orbs/x")
