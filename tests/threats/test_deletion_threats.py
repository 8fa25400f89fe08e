"""Abuse of delete options and grace periods to block or delete without the right (docs/security.md, the table of threats)."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.deletion import MAX_GRACE_SECONDS
from support.attacker_requests import (
    APPLY,
    DEPLOYMENTS,
    MAPS,
    PODS,
    SECRETS,
    config_map,
    deployment,
    exists_after_collection,
    owner_reference,
    pod,
    rbac_rule,
    write_metadata,
)
from support.rbac_server import RbacServer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PAST = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}


async def test_t17_deletion_timestamp_cannot_be_written(server: RbacServer) -> None:
    rules = [
        rbac_rule("*", "configmaps/status"),
        rbac_rule("create get update patch", "configmaps"),
        rbac_rule("*", "deployments/*", group="apps"),
    ]
    await server.grant("eve", *rules, namespace="a")
    await server.create("configmaps", "a", config_map("victim", finalizers=["example.com/a"]))
    await server.create("apis/apps/v1/deployments", "a", deployment("victim"))
    for path in (f"{MAPS}/victim", f"{DEPLOYMENTS}/victim/status", f"{DEPLOYMENTS}/victim/scale"):
        await write_metadata(server, "eve", path, meta=PAST)
    assert (await server.ask_as("eve", "POST", MAPS, body=config_map("new", **PAST))).code == 201
    body = config_map("applied", **PAST)
    await server.ask_as("eve", "PATCH", f"{MAPS}/applied", body=body, media=APPLY, query={"fieldManager": "eve"})
    for path in (f"{MAPS}/victim", f"{MAPS}/new", f"{MAPS}/applied", f"{DEPLOYMENTS}/victim"):
        assert not {*PAST} & {*(await server.request("GET", path)).json["metadata"]}, path


async def test_t18_grace_without_end_made_a_pod_that_nobody_could_delete(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create delete", "pods"), namespace="a")
    assert (await server.ask_as("eve", "POST", PODS, body=pod("x", nodeName="n", terminationGracePeriodSeconds=10**18))).code == 201
    marked = await server.request("DELETE", f"{PODS}/x")
    assert (marked.code, marked.json["metadata"]["deletionGracePeriodSeconds"]) == (200, MAX_GRACE_SECONDS)
    assert (await server.request("DELETE", f"{PODS}/x", {"gracePeriodSeconds": 0})).code == 200
    assert not await exists_after_collection(server, f"{PODS}/x")
    await server.ask_as("eve", "POST", PODS, body=pod("y", nodeName="n"))
    assert (await server.ask_as("eve", "DELETE", f"{PODS}/y", body={"gracePeriodSeconds": 2**63 - 1})).code == 200


async def test_t18_grace_without_end_does_not_stop_the_collector(server: RbacServer) -> None:
    owner = await server.create("configmaps", "a", config_map("owner"))
    meta = {"ownerReferences": [owner_reference(owner)]}
    await server.create("pods", "a", pod("x", meta=meta, nodeName="n", terminationGracePeriodSeconds=10**18))
    await server.create("secrets", "a", {"metadata": {"name": "y", **meta}})
    await server.request("DELETE", f"{MAPS}/owner")
    assert not await exists_after_collection(server, f"{SECRETS}/y")
    assert (await server.request("GET", f"{PODS}/x")).json["metadata"]["deletionGracePeriodSeconds"] == MAX_GRACE_SECONDS


async def test_t19_grace_period_cannot_be_extended(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("delete get update patch", "pods"), namespace="a")
    await server.create("pods", "a", pod("x", nodeName="n", terminationGracePeriodSeconds=10))
    before = (await server.request("DELETE", f"{PODS}/x")).json["metadata"]
    await server.ask_as("eve", "DELETE", f"{PODS}/x", body={"gracePeriodSeconds": 10_000})
    await write_metadata(
        server, "eve", f"{PODS}/x", meta={"deletionGracePeriodSeconds": 10_000, "deletionTimestamp": "2199-01-01T00:00:00Z"}
    )
    after = (await server.request("GET", f"{PODS}/x")).json["metadata"]
    assert {name: after[name] for name in PAST} == {name: before[name] for name in PAST}
    longer = [{"op": "replace", "path": "/spec/terminationGracePeriodSeconds", "value": 10_000}]
    response = await server.ask_as("eve", "PATCH", f"{PODS}/x", body=longer, media="application/json-patch+json")
    assert response.code == 422


async def test_t20_eviction_takes_its_own_right_and_respects_budgets(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("get update patch delete", "pods/status"), namespace="a")
    await server.create("pods", "a", pod("x", meta={"labels": {"a": "b"}}, nodeName="n"))
    await server.request("PATCH", f"{PODS}/x/status", {"status": {"phase": "Running"}}, media="application/merge-patch+json")
    body = {"metadata": {"name": "x"}, "deleteOptions": {"gracePeriodSeconds": 0}}
    assert (await server.ask_as("eve", "POST", f"{PODS}/x/eviction", body=body)).code == 403
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
    await server.create("apis/policy/v1/poddisruptionbudgets", "a", budget)
    await server.grant("eve", rbac_rule("create", "pods/eviction"), namespace="a")
    assert (await server.ask_as("eve", "POST", f"{PODS}/x/eviction", body=body)).code == 429
    assert await exists_after_collection(server, f"{PODS}/x")


async def test_t21_delete_right_does_not_include_deletecollection(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("delete", "configmaps"), namespace="a")
    await server.grant("eve", rbac_rule("deletecollection", "configmaps", resourceNames=["mine"]), namespace="a")
    await server.create("configmaps", "a", config_map("victim"))
    for query in ({}, {"fieldSelector": "metadata.name=mine"}, {"labelSelector": "a=b"}):
        assert (await server.ask_as("eve", "DELETE", MAPS, query=query)).code == 403, query
    assert (await server.ask_as("eve", "DELETE", "/api/v1/configmaps")).code == 405
    assert await exists_after_collection(server, f"{MAPS}/victim")


REHEARSALS: dict[str, dict[str, Any]] = {
    "create": {"method": "POST", "path": MAPS, "body": config_map("new")},
    "update": {"method": "PUT", "path": f"{MAPS}/victim", "body": config_map("victim", labels={"a": "b"})},
    "delete": {"method": "DELETE", "path": f"{MAPS}/victim"},
    "deletecollection": {"method": "DELETE", "path": MAPS},
}


@pytest.mark.parametrize("verb", REHEARSALS)
async def test_t22_dry_run_takes_the_same_right_and_writes_nothing(server: RbacServer, verb: str) -> None:
    await server.create("configmaps", "a", config_map("victim"))
    before = await server.store.revision()
    request = {**REHEARSALS[verb], "query": {"dryRun": "All"}}
    assert (await server.ask_as("eve", **request)).code == 403
    assert await server.store.revision() == before
    await server.grant("eve", rbac_rule(verb, "configmaps"), namespace="a")
    before = await server.store.revision()
    assert (await server.ask_as("eve", **request)).code in {200, 201}
    assert await server.store.revision() == before


def definition(scope: str = "Namespaced") -> Any:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "orbs", "kind": "Orb"}
    spec = {"group": "example.com", "scope": scope, "names": names, "versions": [version]}
    return {"metadata": {"name": "orbs.example.com"}, "spec": spec}


async def test_t23_crd_update_right_cannot_delete_its_custom_resources(server: RbacServer) -> None:
    await server.create("apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", definition())
    await server.create("apis/example.com/v1/orbs", "a", {"apiVersion": "example.com/v1", "kind": "Orb", "metadata": {"name": "x"}})
    await server.grant("eve", rbac_rule("*", "orbs", group="example.com"))
    path = f"{DEFINITIONS}/orbs.example.com"
    assert (await server.ask_as("eve", "DELETE", path)).code == 403
    group = "apiextensions.k8s.io"
    await server.grant(
        "eve", rbac_rule("get update patch", "customresourcedefinitions", "customresourcedefinitions/*", group=group)
    )
    assert (await server.ask_as("eve", "DELETE", path)).code == 403
    now = (await server.request("GET", path)).json
    for change in ({"scope": "Cluster"}, {"group": "other.com"}, {"names": {**now["spec"]["names"], "plural": "others"}}):
        refused = await server.ask_as("eve", "PUT", path, body={**now, "spec": {**now["spec"], **change}})
        assert refused.code == 422, change
    unserved = {**now["spec"]["versions"][0], "served": False}
    response = await server.ask_as("eve", "PUT", path, body={**now, "spec": {**now["spec"], "versions": [unserved]}})
    assert response.code == 200
    await server.wait_until_idle()
    assert (await server.request("PUT", path, {**response.json, "spec": now["spec"]})).code == 200
    assert await exists_after_collection(server, "/apis/example.com/v1/namespaces/a/orbs/x")
