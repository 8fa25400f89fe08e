"""Reviews give the answer that the request itself would get."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import Response
from support.rbac_server import RbacServer, running_with_rbac

ACCESS = "/apis/authorization.k8s.io/v1"
PEOPLE = "/apis/authentication.k8s.io/v1"
LIST = {"namespace": "a", "verb": "list", "resource": "pods"}


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        yield item


async def may(server: RbacServer, user_name: str, attributes: dict[str, str]) -> Any:
    kind = "nonResourceAttributes" if "path" in attributes else "resourceAttributes"
    response = await server.ask_as(user_name, "POST", f"{ACCESS}/selfsubjectaccessreviews", body={"spec": {kind: attributes}})
    assert response.code == 201, response.body
    return response.json["status"]


async def test_self_subject_access_review(server: RbacServer) -> None:
    assert await may(server, "ann", LIST) == {"allowed": False}
    name = (await server.bind("ann", "ClusterRole", "view", namespace="a")).json["metadata"]["name"]
    reason = f'RBAC: allowed by RoleBinding "{name}/a" of ClusterRole "view" to User "ann"'
    assert await may(server, "ann", LIST) == {"allowed": True, "reason": reason}
    assert not (await may(server, "ann", {**LIST, "namespace": "b"}))["allowed"]
    assert not (await may(server, "ann", {**LIST, "verb": "*"}))["allowed"]
    assert not (await may(server, "ann", {**LIST, "resource": "secrets"}))["allowed"]
    assert (await may(server, "ann", {**LIST, "subresource": "log"}))["allowed"]


async def test_self_subject_access_review_of_a_path(server: RbacServer) -> None:
    allowed = await may(server, "ann", {"path": "/version", "verb": "get"})
    assert allowed["reason"].startswith('RBAC: allowed by ClusterRoleBinding "system:')
    assert await may(server, "ann", {"path": "/metrics", "verb": "get"}) == {"allowed": False}


async def test_missing_role_is_the_reason(server: RbacServer) -> None:
    await server.bind("ann", "ClusterRole", "nowhere", namespace="a")
    assert await may(server, "ann", LIST) == {
        "allowed": False,
        "reason": 'RBAC: clusterrole.rbac.authorization.k8s.io "nowhere" not found',
    }


async def ask_about(server: RbacServer, spec: dict[str, Any], *, local: str = "") -> Response:
    path = f"{ACCESS}/namespaces/{local}/localsubjectaccessreviews" if local else f"{ACCESS}/subjectaccessreviews"
    return await server.request("POST", path, {"spec": spec})


async def test_subject_access_review(server: RbacServer) -> None:
    await server.bind("ann", "ClusterRole", "view", namespace="a")
    for user, allowed in (("ann", True), ("bob", False)):
        assert (await ask_about(server, {"user": user, "resourceAttributes": LIST})).json["status"]["allowed"] is allowed
        assert (await ask_about(server, {"user": user, "resourceAttributes": LIST}, local="a")).json["status"]["allowed"] is allowed
    everything = {"groups": ["system:masters"], "resourceAttributes": {"verb": "*", "resource": "*", "group": "*"}}
    assert (await ask_about(server, everything)).json["status"]["allowed"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"user": "ann"}, "spec.resourceAttributes"),
        ({"user": "ann", "resourceAttributes": LIST, "nonResourceAttributes": {"path": "/"}}, "spec.nonResourceAttributes"),
        ({"resourceAttributes": LIST}, "spec.user"),
    ],
    ids=["nothing", "both", "nobody"],
)
async def test_invalid_reviews(server: RbacServer, spec: dict[str, Any], field: str) -> None:
    refused = await ask_about(server, spec)
    assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, field)


SELECTORS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("labelSelector", {"rawSelector": "a=b"}, {}),
    ("labelSelector", {"requirements": [{"key": "a", "operator": "Newer", "values": ["b"]}]}, {}),
    ("fieldSelector", {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}, {}),
    ("labelSelector", {}, {"requirements": "Required"}),
    ("fieldSelector", {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}, {"rawSelector": "Invalid"}),
    (
        "fieldSelector",
        {"requirements": [{"operator": "In"}]},
        {"requirements[0].key": "Required", "requirements[0].values": "Required"},
    ),
    (
        "labelSelector",
        {"requirements": [{"key": "a b", "operator": "Exists", "values": ["c"]}]},
        {"requirements[0].key": "Invalid", "requirements[0].values": "Forbidden"},
    ),
    (
        "labelSelector",
        {"requirements": [{"key": "a", "operator": "In", "values": ["b c"]}]},
        {"requirements[0].values[0]": "Invalid"},
    ),
]


@pytest.mark.parametrize(
    ("kind", "selector", "faults"),
    SELECTORS,
    ids=["raw", "newer", "field", "empty", "both", "no-key-no-values", "bad-key-and-values", "bad-value"],
)
async def test_selectors_in_a_question_were_not_looked_at(
    server: RbacServer, kind: str, selector: dict[str, Any], faults: dict[str, str]
) -> None:
    response = await ask_about(server, {"user": "ann", "resourceAttributes": {**LIST, kind: selector}})
    assert response.code == (422 if faults else 201), response.body
    causes = (response.json.get("details") or {}).get("causes") or ()
    expected = {(f"spec.resourceAttributes.{kind}.{field}", f"FieldValue{reason}") for field, reason in faults.items()}
    assert {(item["field"], item["reason"]) for item in causes} == expected


@pytest.mark.parametrize("kind", ["selfsubjectaccessreviews", "subjectaccessreviews", "namespaces/a/localsubjectaccessreviews"])
async def test_a_question_with_a_name_was_answered(server: RbacServer, kind: str) -> None:
    body = {"spec": {**({} if kind.startswith("self") else {"user": "ann"}), "resourceAttributes": LIST}}
    for metadata, code in (({"name": "x"}, 422), ({"labels": {"a": "b"}}, 422), ({"namespace": "a"}, 201), ({}, 201)):
        response = await server.request("POST", f"{ACCESS}/{kind}", {"metadata": metadata, **body})
        assert response.code == code, response.body
        if code == 422:
            assert [item["field"] for item in response.json["details"]["causes"]] == ["metadata"]


async def test_a_local_review_of_another_namespace_than_its_own_was_answered(server: RbacServer) -> None:
    body = {"metadata": {"namespace": "b"}, "spec": {"user": "ann", "resourceAttributes": LIST}}
    response = await server.request("POST", f"{ACCESS}/namespaces/a/localsubjectaccessreviews", body)
    assert (response.code, response.json["reason"]) == (400, "BadRequest")


async def test_a_local_review_is_about_its_namespace(server: RbacServer) -> None:
    refused = await ask_about(server, {"user": "ann", "resourceAttributes": LIST}, local="b")
    assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "spec.resourceAttributes.namespace")


async def test_subject_access_review_needs_a_right(server: RbacServer) -> None:
    spec = {"spec": {"user": "bob", "resourceAttributes": LIST}}
    assert (await server.ask_as("ann", "POST", f"{ACCESS}/subjectaccessreviews", body=spec)).code == 403
    assert (await server.ask_as("ann", "POST", f"{PEOPLE}/tokenreviews", body={"spec": {"token": "x"}})).code == 403
    await server.bind("ann", "ClusterRole", "system:auth-delegator")
    assert (await server.ask_as("ann", "POST", f"{ACCESS}/subjectaccessreviews", body=spec)).code == 201
    assert (await server.ask_as("ann", "POST", f"{PEOPLE}/tokenreviews", body={"spec": {"token": "x"}})).code == 201


async def rules(server: RbacServer, user_name: str, namespace: str, **fields: Any) -> Any:
    body = {"spec": {"namespace": namespace}}
    return (await server.ask_as(user_name, "POST", f"{ACCESS}/selfsubjectrulesreviews", body=body, **fields)).json["status"]


async def test_self_subject_rules_review(server: RbacServer) -> None:
    own = {"verbs": ["get"], "apiGroups": ["acme.com"], "resources": ["things"], "resourceNames": ["x"]}
    await server.grant("ann", own, namespace="a")
    here, there = await rules(server, "ann", "a"), await rules(server, "ann", "b")
    assert own in here["resourceRules"]
    assert own not in there["resourceRules"]
    reviews = {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]}
    assert reviews in there["resourceRules"]
    assert "/version" in there["nonResourceRules"][0]["nonResourceURLs"]
    assert here["incomplete"] is False
    everything = await rules(server, "ann", "a", groups=("system:masters",))
    assert everything["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    missing = await server.request("POST", f"{ACCESS}/selfsubjectrulesreviews", {"spec": {}})
    assert (missing.code, missing.json["reason"]) == (400, "BadRequest")


async def test_self_subject_review(server: RbacServer) -> None:
    headers = [(b"impersonate-uid", b"7"), (b"impersonate-extra-team", b"t")]
    response = await server.ask_as("ann", "POST", f"{PEOPLE}/selfsubjectreviews", body={}, groups=("g",), headers=headers)
    expected = {"username": "ann", "uid": "7", "groups": ["g", "system:authenticated"], "extra": {"team": ["t"]}}
    assert response.json["status"] == {"userInfo": expected}
    assert (response.code, response.json["kind"], response.json["apiVersion"]) == (
        201,
        "SelfSubjectReview",
        "authentication.k8s.io/v1",
    )
    nobody = (await server.request("POST", f"{PEOPLE}/selfsubjectreviews", {})).json["status"]["userInfo"]
    assert nobody == {"username": "system:unsecured", "groups": ["system:masters", "system:authenticated"]}


async def test_review_of_an_unknown_token(server: RbacServer) -> None:
    status = (await server.request("POST", f"{PEOPLE}/tokenreviews", {"spec": {"token": "made-up"}})).json["status"]
    assert status["authenticated"] is False
    missing = await server.request("POST", f"{PEOPLE}/tokenreviews", {"spec": {}})
    assert (missing.code, missing.json["reason"]) == (400, "BadRequest")
