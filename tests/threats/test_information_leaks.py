"""Attempts to learn what the user may not read (docs/security.md, the table of threats)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from support.attacker_requests import CORE, MAPS, MERGE, SECRETS, config_map, exists_after_collection, owner_reference, rbac_rule
from support.rbac_server import RbacServer

REVIEWS = "/apis/authorization.k8s.io/v1"
ASKED: dict[str, dict[str, Any]] = {
    "get": {"method": "GET"},
    "update": {"method": "PUT", "body": {"metadata": {"name": "x"}}},
    "patch": {"method": "PATCH", "body": {}, "media": MERGE},
    "apply": {
        "method": "PATCH",
        "body": {"apiVersion": "v1", "kind": "Secret"},
        "media": "application/apply-patch+yaml",
        "query": {"fieldManager": "m"},
    },
    "delete": {"method": "DELETE"},
    "uid": {"method": "DELETE", "body": {"preconditions": {"uid": "u"}}},
    "dry": {"method": "DELETE", "query": {"dryRun": "All"}},
    "watch": {"method": "GET", "query": {"watch": "1", "fieldSelector": "metadata.name=there"}},
    "table": {"method": "GET", "accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
    "metadata": {"method": "GET", "accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
}


@pytest.mark.parametrize("how", ASKED)
async def test_t35_forbidden_does_not_reveal_whether_the_object_exists(server: RbacServer, how: str) -> None:
    await server.grant("eve", rbac_rule("*", "configmaps"), namespace="a")
    await server.create("secrets", "a", {"metadata": {"name": "there"}})
    response = [await server.ask_as("eve", path=f"{SECRETS}/{name}", **ASKED[how]) for name in ("there", "lost1")]
    assert [item.code for item in response] == [403, 403]
    assert response[0].body.replace(b"there", b"lost1") == response[1].body
    far = [await server.ask_as("eve", path=f"/api/v1/namespaces/{name}/secrets/x", **ASKED[how]) for name in ("b", "z")]
    assert [item.code for item in far] == [403, 403]


async def test_t36_references_reveal_nothing_about_unreadable_owners(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create get list", "configmaps", "events"), namespace="a")
    secret = await server.create("secrets", "a", {"metadata": {"name": "there"}})
    far = await server.create("secrets", "b", {"metadata": {"name": "there"}})
    response = []
    for number, (owner, name) in enumerate([(secret, "there"), (far, "there"), (secret, "absent")]):
        body = config_map(f"x{number}", ownerReferences=[owner_reference(owner, kind="Secret", name=name, uid=f"guess{number}")])
        response.append(await server.ask_as("eve", "POST", MAPS, body=body))
    assert [(item.code, item.headers.get("warning")) for item in response] == [(201, None)] * 3
    await server.wait_until_idle()
    events = (await server.ask_as("eve", "GET", f"{CORE}/events")).json["items"]
    assert not any("there" in json.dumps(item.get("message", "")) for item in events)
    assert [await exists_after_collection(server, f"{MAPS}/x{number}") for number in range(3)] == [False] * 3


@pytest.mark.parametrize(
    "path",
    [
        "/apis/probate.dev/v1alpha1/dependents",
        "/apis/probate.dev/v1alpha1/owners",
        "/debug/ownership",
        "/debug/tenants",
        "/metrics",
    ],
)
async def test_t37_ownership_of_all_kinds_takes_a_right_to_all_kinds(server: RbacServer, path: str) -> None:
    await server.grant("eve", rbac_rule("*", "*", group="*"), namespace="a")
    secret = await server.create("secrets", "b", {"metadata": {"name": "there"}})
    for query in ({}, {"uid": secret["metadata"]["uid"]}, {"namespace": "a"}):
        response = await server.ask_as("eve", "GET", path, query=query)
        assert response.code == 403, query
        assert b"there" not in response.body
    for odd in (f"{path}/", f"/{path}", path.replace("/", "//", 1), f"{path}%2f", f"{path}/..", f"/livez/..{path}"):
        assert (await server.ask_as("eve", "GET", odd)).code in {403, 404}, odd


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name=mine,metadata.name!=mine",
        "metadata.name!=other",
        "metadata.name=mine\\,metadata.name=x",
        "metadata.namespace=a",
        "metadata.name=",
        "metadata.name=mine,metadata.name=victim",
        "metadata.name in (mine)",
    ],
)
async def test_t38_selectors_do_not_widen_a_right_to_names(server: RbacServer, selector: str) -> None:
    await server.grant("eve", rbac_rule("list watch", "secrets", resourceNames=["mine"]), namespace="a")
    for name in ("mine", "victim"):
        await server.create("secrets", "a", {"metadata": {"name": name}})
    for query in ({"fieldSelector": selector}, {"fieldSelector": ["metadata.name=mine", selector]}):
        response = await server.ask_as("eve", "GET", SECRETS, query=query)
        assert response.code in {200, 400, 403}, query
        assert b"victim" not in response.body, query
        if response.code == 200:
            assert {item["metadata"]["name"] for item in response.json["items"]} <= {"mine"}


@pytest.mark.parametrize(
    "start",
    ["../../secrets/a/", "../b/", "/", "", "\x00", "victim", "a" * 5_000, "objects/secrets/a/victim", "..", "%2e%2e/"],
    ids=ascii,
)
async def test_t39_forged_continue_token_stays_in_its_range(server: RbacServer, start: str) -> None:
    await server.grant("eve", rbac_rule("list", "configmaps"), namespace="a")
    await server.create("secrets", "a", {"metadata": {"name": "victim"}})
    await server.create("configmaps", "b", config_map("victim"))
    body = json.dumps({"rv": await server.store.revision(), "start": start}).encode()
    token = base64.urlsafe_b64encode(body).decode().rstrip("=")
    response = await server.ask_as("eve", "GET", MAPS, query={"continue": token, "limit": "100"})
    assert response.code in {200, 400}
    if response.code == 200:
        assert all(item["metadata"]["namespace"] == "a" for item in response.json["items"])


async def test_t40_subject_access_reviews_take_a_right_and_stay_in_their_namespace(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create", "localsubjectaccessreviews", group="authorization.k8s.io"), namespace="a")
    request = {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "b"}}
    assert (await server.ask_as("eve", "POST", f"{REVIEWS}/subjectaccessreviews", body={"spec": request})).code == 403
    path = f"{REVIEWS}/namespaces/a/localsubjectaccessreviews"
    assert (await server.ask_as("eve", "POST", path, body={"spec": request})).code in {400, 422}
    assert (await server.ask_as("eve", "POST", path.replace("/a/", "/b/"), body={"spec": request})).code == 403
    review = "/apis/authentication.k8s.io/v1/tokenreviews"
    assert (await server.ask_as("eve", "POST", review, body={"spec": {"token": "x"}})).code == 403
    own = await server.ask_as("eve", "POST", f"{REVIEWS}/selfsubjectrulesreviews", body={"spec": {"namespace": "b"}})
    assert "secrets" not in json.dumps(own.json["status"])


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/a/../b/secrets/s",
        "/api/v1/namespaces/a/configmaps/../secrets/s",
        "/api/v1//namespaces/b/secrets/s",
        "/api/v1/namespaces/a%2f..%2fb/secrets/s",
        "/api/v1/namespaces/b/secrets/s/",
        "/api/v1/watch/namespaces/b/secrets",
        "/api/v1/namespaces/b/secrets/s/status/../",
        "/api/v1/secrets",
    ],
)
async def test_t41_authorizer_and_router_parse_paths_identically(server: RbacServer, path: str) -> None:
    await server.grant("eve", rbac_rule("*", "*", group="*"), namespace="a")
    await server.create("secrets", "b", {"metadata": {"name": "s"}, "data": {"a": "c2VjcmV0"}})
    headers = [(b"x-http-method-override", b"DELETE"), (b"x-original-url", b"/api/v1/namespaces/a/configmaps")]
    response = await server.ask_as("eve", "GET", path, headers=headers)
    assert response.code in {403, 404, 405}
    assert b"c2VjcmV0" not in response.body
    assert await exists_after_collection(server, "/api/v1/namespaces/b/secrets/s")


async def test_t42_write_right_reveals_only_the_written_object(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("patch", "secrets", resourceNames=["mine"]), namespace="a")
    for name in ("mine", "victim"):
        await server.create("secrets", "a", {"metadata": {"name": name}, "data": {"a": "c2VjcmV0"}})
    assert (await server.ask_as("eve", "GET", f"{SECRETS}/mine")).code == 403
    shown = await server.ask_as("eve", "PATCH", f"{SECRETS}/mine", body={}, media=MERGE)
    assert (shown.code, shown.json["data"]) == (200, {"a": "c2VjcmV0"})  # as in Kubernetes: the answer to a write is the object
    assert (await server.ask_as("eve", "PATCH", f"{SECRETS}/victim", body={}, media=MERGE)).code == 403


async def test_t43_past_revisions_take_the_same_right(server: RbacServer) -> None:
    await server.create("secrets", "a", {"metadata": {"name": "s"}, "data": {"a": "c2VjcmV0"}})
    before = {"resourceVersion": str(await server.store.revision()), "resourceVersionMatch": "Exact"}
    await server.request("DELETE", f"{SECRETS}/s")
    for query in (before, {"watch": "1", "resourceVersion": "1"}):
        assert (await server.ask_as("eve", "GET", SECRETS, query=query)).code == 403
    await server.grant("eve", rbac_rule("list", "secrets"), namespace="a")
    assert [item["metadata"]["name"] for item in (await server.ask_as("eve", "GET", SECRETS, query=before)).json["items"]] == ["s"]


async def test_t44_token_is_bound_only_to_existing_objects_of_its_namespace(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create", "serviceaccounts/token"), namespace="a")
    await server.create("serviceaccounts", "a", {"metadata": {"name": "mine"}})
    for namespace in ("a", "b"):
        await server.create("secrets", namespace, {"metadata": {"name": f"in-{namespace}"}})
    result = {}
    for name in ("in-a", "in-b", "absent"):
        spec = {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": name}}
        result[name] = (await server.ask_as("eve", "POST", f"{CORE}/serviceaccounts/mine/token", body={"spec": spec})).code
    assert result == {"in-a": 201, "in-b": 404, "absent": 404}  # as in Kubernetes: the right to create tokens reveals account names
