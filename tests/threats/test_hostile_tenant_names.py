"""A tenant's user tries to reach others by names, selectors, tokens of lists and watches, and to learn from answers what exists.

What belongs to others is answered like what does not exist: with the same code, and the same message for another name.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from probate.api.rbac.users import User
from support.in_process_server import Response
from support.rbac_server import RBAC
from support.tenant_server import TenantServer, running_with_tenants, user_of

ADMIN, VICTIM, READER = user_of("111111"), user_of("222222"), user_of("111111", "reader")
NAMESPACES, MAPS = "/api/v1/namespaces", "/api/v1/configmaps"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        for user, name in ((ADMIN, "own"), (VICTIM, "foreign")):
            for path, body in (
                ("/api/v1/namespaces/web/configmaps", {}),
                ("/api/v1/persistentvolumes", VOLUME),
                (PRIORITIES, {"value": 3}),
                (f"{RBAC}/clusterroles", {"rules": []}),
            ):
                made = await one.ask(user, "POST", path, body={"metadata": {"name": name}, **body})
                assert made.code == 201, made.body
            assert (await one.ask(user, "POST", NAMESPACES, body={"metadata": {"name": name}})).code == 201
        await one.create("namespaces", "", {"metadata": {"name": "platform-ns"}})
        await one.create("configmaps", "platform-ns", {"metadata": {"name": "platform"}})
        await one.bind_in_tenant("111111", "own", "reader")
        yield one


VOLUME = {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/v"}}}
CLUSTER_SCOPED = (NAMESPACES, "/api/v1/persistentvolumes", PRIORITIES, f"{RBAC}/clusterroles")
FOREIGN = ("foreign", "222222-foreign", "222222-web", "platform-ns")


def without(response: Response, name: str) -> tuple[int, bytes]:
    """Returns the code and the body, in which the name is replaced."""
    return response.code, response.body.replace(name.encode(), b"NAME")


@pytest.mark.parametrize("user", [ADMIN, READER], ids=["admin", "reader"])
@pytest.mark.parametrize("path", CLUSTER_SCOPED)
async def test_foreign_object_was_told_from_an_absent_one(server: TenantServer, path: str, user: User) -> None:
    requests: list[tuple[str, Any]] = [("GET", None), ("DELETE", None), ("PATCH", {"metadata": {"labels": {"a": "b"}}})]
    for method, body in requests:
        absent = await server.ask(user, method, f"{path}/nowhere", body=body, media=MERGE)
        assert absent.code in {403, 404}
        for name in FOREIGN:
            answer = await server.ask(user, method, f"{path}/{name}", body=body, media=MERGE)
            assert without(answer, name) == without(absent, "nowhere"), (method, name)


@pytest.mark.parametrize(
    "path", ["pods/p/eviction", "pods/p/binding", "serviceaccounts/default/token", "configmaps", "resourcequotas"]
)
async def test_foreign_namespace_was_told_from_an_absent_one(server: TenantServer, path: str) -> None:
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    absent = await server.ask(ADMIN, "POST", f"{NAMESPACES}/nowhere/{path}", body=body)
    assert absent.code in {404, 422}
    for name in ("222222-web", "222222-foreign", "foreign", "platform-ns", "111111-web"):
        answer = await server.ask(ADMIN, "POST", f"{NAMESPACES}/{name}/{path}", body=body)
        assert without(answer, name) == without(absent, "nowhere")


@pytest.mark.parametrize("name", ["222222-web", "111111-web", "111111-222222-web", "foreign", "a"])
async def test_name_of_another_prefix_is_a_name_like_any_other(server: TenantServer, name: str) -> None:
    made = await server.ask(ADMIN, "POST", NAMESPACES, body={"metadata": {"name": name}})
    assert (made.code, made.json["metadata"]["name"]) == (201, name)
    stored = (await server.request("GET", f"{NAMESPACES}/111111-{name}")).json
    expected = {"kubernetes.io/metadata.name": f"111111-{name}", "kubezoo.io/tenant": "111111"}
    assert stored["metadata"]["labels"] == expected
    assert (await server.ask(VICTIM, "GET", f"{NAMESPACES}/111111-{name}")).code == 404


@pytest.mark.parametrize("path", [NAMESPACES, PRIORITIES])
async def test_generated_name_landed_in_another_tenant(server: TenantServer, path: str) -> None:
    for prefix in ("222222-x-", "111111-x-", "x-"):
        made = await server.ask(ADMIN, "POST", path, body={"metadata": {"generateName": prefix}, "value": 1})
        assert made.code == 201
        name = made.json["metadata"]["name"]
        assert name.startswith(prefix)
        assert (await server.request("GET", f"{path}/111111-{name}")).code == 200
    seen = (await server.ask(VICTIM, "GET", path)).json["items"]
    assert not [one for one in seen if "x-" in one["metadata"]["name"]]


async def test_limits_of_names_are_those_of_the_tenant(server: TenantServer) -> None:
    assert (await server.ask(ADMIN, "POST", NAMESPACES, body={"metadata": {"name": "x" * 56}})).code == 201
    for path, length, limit in ((NAMESPACES, 57, 56), (NAMESPACES, 63, 56), (PRIORITIES, 250, 246)):
        refused = await server.ask(ADMIN, "POST", path, body={"metadata": {"name": "x" * length}, "value": 1})
        assert (refused.code, f"more than {limit} bytes" in refused.json["message"]) == (422, True)
        assert "111111" not in refused.json["message"]


GROUPS = ("222222-a.com", "111111-a.com", "kubezoo.io", "a.com")


@pytest.mark.parametrize("group", GROUPS)
async def test_group_of_another_prefix_is_a_group_like_any_other(server: TenantServer, group: str) -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {"plural": "tenants", "kind": "Tenant"}
    versions = [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}]
    body = {
        "metadata": {"name": f"tenants.{group}"},
        "spec": {"group": group, "names": names, "scope": "Cluster", "versions": versions},
    }
    assert (await server.ask(ADMIN, "POST", CRDS, body=body)).code == 201
    assert (await server.request("GET", f"{CRDS}/tenants.111111-{group}")).code == 200
    assert (await server.ask(ADMIN, "GET", f"/apis/{group}/v1alpha1/tenants")).json["items"] == []
    assert (await server.ask(VICTIM, "GET", f"/apis/{group}/v1alpha1/tenants")).code == 404
    assert (await server.ask(VICTIM, "GET", CRDS)).json["items"] == []


@pytest.mark.parametrize("group", ["tenant.kubezoo.io", "apps", "storage.k8s.io"])
async def test_built_in_groups_are_not_for_tenants(server: TenantServer, group: str) -> None:
    names = {"plural": "tenants", "kind": "Tenant"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
    body = {
        "metadata": {"name": f"tenants.{group}"},
        "spec": {"group": group, "names": names, "scope": "Cluster", "versions": versions},
    }
    assert (await server.ask(ADMIN, "POST", CRDS, body=body)).code == 422


SELECTORS = (
    {"fieldSelector": "metadata.namespace=222222-web"},
    {"fieldSelector": "metadata.namespace=111111-web"},
    {"fieldSelector": "metadata.namespace=a"},
    {"labelSelector": "kubezoo.io/tenant=222222"},
    {"labelSelector": "kubezoo.io/tenant=111111"},
    {"labelSelector": "kubezoo.io/tenant"},
    {"fieldSelector": "metadata.name=foreign"},
    {"fieldSelector": "metadata.name=platform"},
)


@pytest.mark.parametrize("query", SELECTORS, ids=[next(iter(one.values())) for one in SELECTORS])
async def test_selector_reached_objects_of_others(server: TenantServer, query: dict[str, str]) -> None:
    for version in ({}, {"resourceVersion": "0"}):
        assert (await server.ask(ADMIN, "GET", MAPS, query={**query, **version})).json["items"] == []
    by_name = {"fieldSelector": "metadata.name=222222-web"}
    for selector in (by_name, {"labelSelector": "kubernetes.io/metadata.name in (222222-web, 111111-web, a)"}):
        assert (await server.ask(ADMIN, "GET", NAMESPACES, query=selector)).json["items"] == []


def token(**fields: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(fields)).decode().rstrip("=")


STARTS = (
    "222222-web/a",
    "111111-web/a",
    "a/a",
    "../222222-web/a",
    "objects/configmaps/222222-web/",
    "/",
    "\x00",
    "222222-web\x00/a",
    "-/a",
)


@pytest.mark.parametrize("start", STARTS)
async def test_continue_token_reached_objects_of_others(server: TenantServer, start: str) -> None:
    revision = await server.store.revision()
    for path in (MAPS, NAMESPACES, "/api/v1/persistentvolumes"):
        query = {"limit": "100", "continue": token(rv=int(revision), start=start, following=50)}
        response = await server.ask(ADMIN, "GET", path, query=query)
        assert response.code in {200, 400}, start
        listed = response.json.get("items", [])
        assert not [one for one in listed if one["metadata"]["name"] in {"foreign", "platform", "platform-ns", "a"}]
        assert "111111" not in response.json.get("message", "").replace(start, "")


async def test_continue_token_of_others_and_counts(server: TenantServer) -> None:
    for number in range(3):
        for user in (ADMIN, VICTIM):
            await server.ask(user, "POST", "/api/v1/namespaces/web/configmaps", body={"metadata": {"name": f"m{number}"}})
    for other in (VICTIM, None):
        first = {"limit": "1"}
        page = await (server.request("GET", MAPS, query=first) if other is None else server.ask(other, "GET", MAPS, query=first))
        used = await server.ask(ADMIN, "GET", MAPS, query={"limit": "9", "continue": page.json["metadata"]["continue"]})
        assert {one["metadata"]["name"] for one in used.json["items"]} <= {"own", "m0", "m1", "m2"}
    page = await server.ask(ADMIN, "GET", MAPS, query={"limit": "1"})
    assert page.json["metadata"]["remainingItemCount"] == 3
    assert set(orjson.loads(base64.urlsafe_b64decode(page.json["metadata"]["continue"] + "=="))) == {"rv", "start", "following"}


WATCHED = (
    MAPS,
    NAMESPACES,
    "/api/v1/persistentvolumes",
    PRIORITIES,
    f"{RBAC}/clusterroles",
    CRDS,
    "/api/v1/events",
    "/api/v1/watch/configmaps",
)


@pytest.mark.parametrize("path", WATCHED)
async def test_watch_showed_objects_of_others(server: TenantServer, path: str) -> None:
    for query in ("watch=1&resourceVersion=1", "watch=1&resourceVersion=0", "watch=1&allowWatchBookmarks=1"):
        async with server.watching(ADMIN, path, query) as stream:
            for user in (VICTIM, ADMIN):
                body = {"metadata": {"name": f"late-{user.tenant}"}}
                await server.ask(user, "POST", "/api/v1/namespaces/web/configmaps", body=body)
                await server.ask(user, "DELETE", f"/api/v1/namespaces/web/configmaps/late-{user.tenant}")
            await server.yield_to_loop()
        shown = b"".join(message.get("body", b"") for message in stream.messages)
        assert stream.code == 200
        assert not [word for word in (b"foreign", b"platform", b"222222", b"111111-") if word in shown]


async def test_answers_name_nothing_of_the_physical_view(server: TenantServer) -> None:
    """Free text is never changed, so what is shown must be made in the tenant's names."""
    for path in (*CLUSTER_SCOPED, MAPS, f"{RBAC}/clusterrolebindings", "/api/v1/events"):
        for accept in ("application/json", TABLE, "application/yaml"):
            for query in ({}, {"limit": "1"}, {"resourceVersion": "0"}):
                response = await server.ask(ADMIN, "GET", path, accept=accept, query=query)
                assert response.code == 200
                text = response.body + str(response.headers).encode()
                assert not [word for word in (b"111111", b"222222", b"foreign", b"kubezoo") if word in text], (path, accept)
    for user in (ADMIN, READER):
        for method in ("GET", "POST", "PUT", "DELETE"):
            for path in (f"{NAMESPACES}/nowhere/pods/p", f"{NAMESPACES}/web/pods", f"{RBAC}/clusterroles/own"):
                response = await server.ask(user, method, path, body={"metadata": {"name": "A_"}})
                assert b"111111" not in response.body, (method, path)


@pytest.mark.parametrize("field", ["namespace", "name", "uid"])
async def test_object_was_moved_by_a_patch(server: TenantServer, field: str) -> None:
    path = f"{NAMESPACES}/web/configmaps/own"
    for media, change in (
        (MERGE, {"metadata": {field: "222222-web"}}),
        ("application/json-patch+json", [{"op": "add", "path": f"/metadata/{field}", "value": "222222-web"}]),
        ("application/strategic-merge-patch+json", {"metadata": {field: "222222-web"}}),
        (
            "application/apply-patch+yaml",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", field: "222222-web"}},
        ),
    ):
        query = {"fieldManager": "x", "force": "true"} if "apply" in media else {}
        assert (await server.ask(ADMIN, "PATCH", path, body=change, media=media, query=query)).code in {400, 409, 422}


async def test_event_about_an_object_of_others_is_about_an_own_one(server: TenantServer) -> None:
    for about in ({"kind": "Namespace", "name": "222222-web"}, {"kind": "PersistentVolume", "name": "foreign"}):
        body = {"metadata": {"name": about["name"]}, "involvedObject": {"apiVersion": "v1", **about}}
        made = await server.ask(ADMIN, "POST", f"{NAMESPACES}/default/events", body=body)
        if made.code == 404:
            assert (await server.ask(ADMIN, "POST", NAMESPACES, body={"metadata": {"name": "default"}})).code == 201
            made = await server.ask(ADMIN, "POST", f"{NAMESPACES}/default/events", body=body)
        assert made.code == 201, made.body
        stored = (await server.request("GET", f"{NAMESPACES}/111111-default/events/{about['name']}")).json
        assert stored["involvedObject"]["name"] == f"111111-{about['name']}"
