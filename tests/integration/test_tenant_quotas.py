"""The quota of a Tenant limits what all of its objects use, in whichever view and namespace they are created."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from support.in_process_server import Response
from support.tenant_server import TENANTS, TenantServer, running_with_tenants, user_of

ADMIN, OTHER = user_of("111111"), user_of("222222")
MERGE = "application/merge-patch+json"


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        await one.create("namespaces", "", {"metadata": {"name": "111111-other"}})
        yield one


async def limit_to(server: TenantServer, hard: dict[str, str | None]) -> None:
    response = await server.request("PATCH", f"{TENANTS}/111111", {"spec": {"quota": {"hard": hard}}}, media=MERGE)
    assert response.code == 200, response.body


async def in_view(server: TenantServer, plural: str, object_: Object, namespace: str = "web") -> Response:
    within = f"namespaces/{namespace}/" if namespace else ""
    return await server.ask(ADMIN, "POST", f"/api/v1/{within}{plural}", body=object_)


async def physically(server: TenantServer, plural: str, object_: Object, namespace: str = "111111-web") -> Response:
    within = f"namespaces/{namespace}/" if namespace else ""
    return await server.request("POST", f"/api/v1/{within}{plural}", object_)


def named(name: str) -> Object:
    return {"metadata": {"name": name}}


def pod(name: str, cpu: str = "") -> Object:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    return {**named(name), "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}}


async def test_all_namespaces_and_both_views_count_together(server: TenantServer) -> None:
    await limit_to(server, {"count/configmaps": "3"})
    assert (await in_view(server, "configmaps", named("a"))).code == 201
    assert (await in_view(server, "configmaps", named("b"), "other")).code == 201
    assert (await physically(server, "configmaps", named("c"))).code == 201
    for refused in (
        await in_view(server, "configmaps", named("d")),
        await physically(server, "configmaps", named("d"), "111111-other"),
    ):
        assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
        assert refused.json["message"] == (
            'configmaps "d" is forbidden: exceeded quota: tenant 111111, requested: count/configmaps=1, '
            "used: count/configmaps=3, limited: count/configmaps=3"
        )
    assert (await server.ask(OTHER, "POST", "/api/v1/namespaces/web/configmaps", body=named("d"))).code == 201
    assert (await physically(server, "configmaps", named("d"), "a")).code == 201


async def test_what_existed_before_the_quota_counts_and_deleting_frees(server: TenantServer) -> None:
    assert (await in_view(server, "configmaps", named("a"))).code == 201
    assert (await physically(server, "configmaps", named("b"), "111111-other")).code == 201
    await limit_to(server, {"count/configmaps": "2"})
    assert (await in_view(server, "configmaps", named("c"))).code == 403
    assert (await server.request("DELETE", "/api/v1/namespaces/111111-other/configmaps/b")).code == 200
    assert (await in_view(server, "configmaps", named("c"))).code == 201
    assert (await in_view(server, "configmaps", named("d"))).code == 403
    await limit_to(server, {"count/configmaps": "3"})
    assert (await in_view(server, "configmaps", named("d"))).code == 201


async def test_concurrent_creates_in_both_views_do_not_exceed_it(server: TenantServer) -> None:
    await limit_to(server, {"count/configmaps": "5"})
    namespaces = ("web", "other")
    pending = [in_view(server, "configmaps", named(f"v{number}"), namespaces[number % 2]) for number in range(8)]
    pending += [physically(server, "configmaps", named(f"p{number}"), f"111111-{namespaces[number % 2]}") for number in range(8)]
    codes = [response.code for response in await asyncio.gather(*pending)]
    assert sorted(codes) == [201] * 5 + [403] * 11
    assert len((await server.ask(ADMIN, "GET", "/api/v1/configmaps")).json["items"]) == 5


async def test_amounts_of_pods_are_added_up(server: TenantServer) -> None:
    await limit_to(server, {"pods": "3", "requests.cpu": "1"})
    assert (await in_view(server, "pods", pod("a", "600m"))).code == 201
    refused = await physically(server, "pods", pod("b", "500m"), "111111-other")
    assert "exceeded quota: tenant 111111, requested: requests.cpu=500m, used: requests.cpu=600m" in refused.json["message"]
    assert "must specify requests.cpu for: c" in (await in_view(server, "pods", pod("b"))).json["message"]
    assert (await physically(server, "pods", pod("b", "400m"), "111111-other")).code == 201


async def test_cluster_scoped_objects_count(server: TenantServer) -> None:
    await limit_to(server, {"count/namespaces": "3", "count/persistentvolumes": "1"})
    assert (await in_view(server, "namespaces", named("third"), "")).code == 201
    assert (await in_view(server, "namespaces", named("fourth"), "")).code == 403
    refused = await physically(server, "namespaces", named("111111-fourth"), "")
    assert "exceeded quota: tenant 111111" in refused.json["message"]
    assert (await physically(server, "namespaces", named("fourth"), "")).code == 201
    provisioned = volume("pvc-1", claimRef={"namespace": "111111-web", "name": "c"})
    assert (await physically(server, "persistentvolumes", provisioned, "")).code == 201
    assert (await in_view(server, "persistentvolumes", volume("v"), "")).code == 403
    assert (await server.request("DELETE", "/api/v1/persistentvolumes/pvc-1")).code == 200


async def test_kinds_of_the_tenant_count_under_their_own_names(server: TenantServer) -> None:
    await limit_to(server, {"count/foos.a.com": "1", "count/customresourcedefinitions.apiextensions.k8s.io": "1"})
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await server.ask(ADMIN, "POST", crds, body=crd("foos"))).code == 201
    assert (await server.ask(ADMIN, "POST", crds, body=crd("bars"))).code == 403
    await server.api.kinds.refresh(now=server.api.timestamp())
    path = "/apis/a.com/v1/namespaces/web/foos"
    foo = {"apiVersion": "a.com/v1", "kind": "Foos"}
    assert (await server.ask(ADMIN, "POST", path, body={**foo, **named("x")})).code == 201
    refused = await server.ask(ADMIN, "POST", path, body={**foo, **named("y")})
    assert "requested: count/foos.a.com=1, used: count/foos.a.com=1" in refused.json["message"]
    physical = {**foo, "apiVersion": "111111-a.com/v1", **named("y")}
    assert (await server.request("POST", "/apis/111111-a.com/v1/namespaces/111111-other/foos", physical)).code == 403


async def test_quota_of_a_namespace_and_of_the_tenant_apply_together(server: TenantServer) -> None:
    await limit_to(server, {"count/configmaps": "3"})
    quota = {**named("q"), "spec": {"hard": {"count/configmaps": "1"}}}
    assert (await in_view(server, "resourcequotas", quota)).code == 201
    assert (await in_view(server, "configmaps", named("a"))).code == 201
    assert "exceeded quota: q" in (await in_view(server, "configmaps", named("b"))).json["message"]
    assert (await in_view(server, "configmaps", named("b"), "other")).code == 201


async def test_dry_run_is_checked_and_not_counted(server: TenantServer) -> None:
    await limit_to(server, {"count/configmaps": "1"})
    path = "/api/v1/namespaces/web/configmaps"
    for _ in range(2):
        assert (await server.ask(ADMIN, "POST", path, body=named("a"), query={"dryRun": "All"})).code == 201
    assert (await in_view(server, "configmaps", named("a"))).code == 201
    assert (await server.ask(ADMIN, "POST", path, body=named("b"), query={"dryRun": "All"})).code == 403


async def test_status_says_what_is_used(server: TenantServer) -> None:
    await limit_to(server, {"count/configmaps": "3", "requests.cpu": "1"})
    assert (await in_view(server, "configmaps", named("a"))).code == 201
    assert (await physically(server, "pods", pod("p", "250m"))).code == 201
    await server.yield_to_loop()
    status = (await server.request("GET", f"{TENANTS}/111111")).json["status"]
    assert status["phase"] == "Pending"
    assert status["quota"] == {
        "hard": {"count/configmaps": "3", "requests.cpu": "1"},
        "used": {"count/configmaps": "1", "requests.cpu": "250m"},
    }
    await server.request("DELETE", "/api/v1/namespaces/111111-web/configmaps/a")
    await server.yield_to_loop()
    status = (await server.request("GET", f"{TENANTS}/111111")).json["status"]
    assert status["quota"]["used"]["count/configmaps"] == "0"
    await server.request("PATCH", f"{TENANTS}/111111", {"spec": {"quota": None}}, media=MERGE)
    await server.yield_to_loop()
    assert (await server.request("GET", f"{TENANTS}/111111")).json["status"] == {"phase": "Pending"}


async def test_nothing_is_enabled_without_quotas(server: TenantServer) -> None:
    numbers = [len(server.api.admission.chain.validators)]
    await limit_to(server, {"count/configmaps": "1"})
    numbers.append(len(server.api.admission.chain.validators))
    assert (await physically(server, "configmaps", named("a"))).code == 201
    await server.request("DELETE", "/api/v1/namespaces/111111-web/configmaps/a")
    await limit_to(server, {"count/configmaps": None})
    numbers.append(len(server.api.admission.chain.validators))
    assert numbers == [0, 1, 0]


def volume(name: str, **spec: Any) -> Object:
    needed = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    return {**named(name), "spec": {**needed, **spec}}


def crd(plural: str) -> Object:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": plural, "kind": plural.capitalize()}
    return {**named(f"{plural}.a.com"), "spec": {"group": "a.com", "names": names, "scope": "Namespaced", "versions": [version]}}
