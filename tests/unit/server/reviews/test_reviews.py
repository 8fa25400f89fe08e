"""Reviews: what they say is what a request would be answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import Told
from support.rbac_server import Guarded, guarded

ACCESS = "/apis/authorization.k8s.io/v1"
PEOPLE = "/apis/authentication.k8s.io/v1"
LIST = {"namespace": "a", "verb": "list", "resource": "pods"}


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        yield one


async def may(house: Guarded, who: str, attributes: dict[str, str]) -> Any:
    kind = "nonResourceAttributes" if "path" in attributes else "resourceAttributes"
    told = await house.ask_as(who, "POST", f"{ACCESS}/selfsubjectaccessreviews", {"spec": {kind: attributes}})
    assert told.code == 201, told.body
    return told.json["status"]


async def test_may_i(house: Guarded) -> None:
    assert await may(house, "ann", LIST) == {"allowed": False}
    name = (await house.bind("ann", "ClusterRole", "view", namespace="a")).json["metadata"]["name"]
    reason = f'RBAC: allowed by RoleBinding "{name}/a" of ClusterRole "view" to User "ann"'
    assert await may(house, "ann", LIST) == {"allowed": True, "reason": reason}
    assert not (await may(house, "ann", {**LIST, "namespace": "b"}))["allowed"]
    assert not (await may(house, "ann", {**LIST, "verb": "*"}))["allowed"]
    assert not (await may(house, "ann", {**LIST, "resource": "secrets"}))["allowed"]
    assert (await may(house, "ann", {**LIST, "subresource": "log"}))["allowed"]


async def test_may_i_at_a_path(house: Guarded) -> None:
    allowed = await may(house, "ann", {"path": "/version", "verb": "get"})
    assert allowed["reason"].startswith('RBAC: allowed by ClusterRoleBinding "system:')
    assert await may(house, "ann", {"path": "/metrics", "verb": "get"}) == {"allowed": False}


async def test_a_role_that_is_not_there_is_the_reason(house: Guarded) -> None:
    await house.bind("ann", "ClusterRole", "nowhere", namespace="a")
    assert await may(house, "ann", LIST) == {
        "allowed": False,
        "reason": 'RBAC: clusterrole.rbac.authorization.k8s.io "nowhere" not found',
    }


async def ask_about(house: Guarded, spec: dict[str, Any], *, local: str = "") -> Told:
    path = f"{ACCESS}/namespaces/{local}/localsubjectaccessreviews" if local else f"{ACCESS}/subjectaccessreviews"
    return await house.ask("POST", path, {"spec": spec})


async def test_may_they(house: Guarded) -> None:
    await house.bind("ann", "ClusterRole", "view", namespace="a")
    for user, allowed in (("ann", True), ("bob", False)):
        assert (await ask_about(house, {"user": user, "resourceAttributes": LIST})).json["status"]["allowed"] is allowed
        assert (await ask_about(house, {"user": user, "resourceAttributes": LIST}, local="a")).json["status"]["allowed"] is allowed
    everything = {"groups": ["system:masters"], "resourceAttributes": {"verb": "*", "resource": "*", "group": "*"}}
    assert (await ask_about(house, everything)).json["status"]["allowed"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"user": "ann"}, "spec.resourceAttributes"),
        ({"user": "ann", "resourceAttributes": LIST, "nonResourceAttributes": {"path": "/"}}, "spec.nonResourceAttributes"),
        ({"resourceAttributes": LIST}, "spec.user"),
    ],
    ids=["nothing", "both", "nobody"],
)
async def test_a_question_that_makes_no_sense(house: Guarded, spec: dict[str, Any], field: str) -> None:
    refused = await ask_about(house, spec)
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
    house: Guarded, kind: str, selector: dict[str, Any], faults: dict[str, str]
) -> None:
    told = await ask_about(house, {"user": "ann", "resourceAttributes": {**LIST, kind: selector}})
    assert told.code == (422 if faults else 201), told.body
    causes = (told.json.get("details") or {}).get("causes") or ()
    expected = {(f"spec.resourceAttributes.{kind}.{field}", f"FieldValue{reason}") for field, reason in faults.items()}
    assert {(one["field"], one["reason"]) for one in causes} == expected


@pytest.mark.parametrize("kind", ["selfsubjectaccessreviews", "subjectaccessreviews", "namespaces/a/localsubjectaccessreviews"])
async def test_a_question_with_a_name_was_answered(house: Guarded, kind: str) -> None:
    body = {"spec": {**({} if kind.startswith("self") else {"user": "ann"}), "resourceAttributes": LIST}}
    for metadata, code in (({"name": "x"}, 422), ({"labels": {"a": "b"}}, 422), ({"namespace": "a"}, 201), ({}, 201)):
        told = await house.ask("POST", f"{ACCESS}/{kind}", {"metadata": metadata, **body})
        assert told.code == code, told.body
        if code == 422:
            assert [one["field"] for one in told.json["details"]["causes"]] == ["metadata"]


async def test_a_local_review_of_another_namespace_than_its_own_was_answered(house: Guarded) -> None:
    body = {"metadata": {"namespace": "b"}, "spec": {"user": "ann", "resourceAttributes": LIST}}
    told = await house.ask("POST", f"{ACCESS}/namespaces/a/localsubjectaccessreviews", body)
    assert (told.code, told.json["reason"]) == (400, "BadRequest")


async def test_a_local_review_is_about_its_namespace(house: Guarded) -> None:
    refused = await ask_about(house, {"user": "ann", "resourceAttributes": LIST}, local="b")
    assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "spec.resourceAttributes.namespace")


async def test_asking_about_others_needs_a_right(house: Guarded) -> None:
    spec = {"spec": {"user": "bob", "resourceAttributes": LIST}}
    assert (await house.ask_as("ann", "POST", f"{ACCESS}/subjectaccessreviews", spec)).code == 403
    assert (await house.ask_as("ann", "POST", f"{PEOPLE}/tokenreviews", {"spec": {"token": "x"}})).code == 403
    await house.bind("ann", "ClusterRole", "system:auth-delegator")
    assert (await house.ask_as("ann", "POST", f"{ACCESS}/subjectaccessreviews", spec)).code == 201
    assert (await house.ask_as("ann", "POST", f"{PEOPLE}/tokenreviews", {"spec": {"token": "x"}})).code == 201


async def rules(house: Guarded, who: str, namespace: str, **more: Any) -> Any:
    body = {"spec": {"namespace": namespace}}
    return (await house.ask_as(who, "POST", f"{ACCESS}/selfsubjectrulesreviews", body, **more)).json["status"]


async def test_all_that_i_may_do(house: Guarded) -> None:
    own = {"verbs": ["get"], "apiGroups": ["acme.com"], "resources": ["things"], "resourceNames": ["x"]}
    await house.grant("ann", own, namespace="a")
    here, there = await rules(house, "ann", "a"), await rules(house, "ann", "b")
    assert own in here["resourceRules"]
    assert own not in there["resourceRules"]
    reviews = {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]}
    assert reviews in there["resourceRules"]
    assert "/version" in there["nonResourceRules"][0]["nonResourceURLs"]
    assert here["incomplete"] is False
    everything = await rules(house, "ann", "a", groups=("system:masters",))
    assert everything["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    missing = await house.ask("POST", f"{ACCESS}/selfsubjectrulesreviews", {"spec": {}})
    assert (missing.code, missing.json["reason"]) == (400, "BadRequest")


async def test_who_am_i(house: Guarded) -> None:
    headers = [(b"impersonate-uid", b"7"), (b"impersonate-extra-team", b"t")]
    told = await house.ask_as("ann", "POST", f"{PEOPLE}/selfsubjectreviews", {}, groups=("g",), headers=headers)
    expected = {"username": "ann", "uid": "7", "groups": ["g", "system:authenticated"], "extra": {"team": ["t"]}}
    assert told.json["status"] == {"userInfo": expected}
    assert (told.code, told.json["kind"], told.json["apiVersion"]) == (201, "SelfSubjectReview", "authentication.k8s.io/v1")
    nobody = (await house.ask("POST", f"{PEOPLE}/selfsubjectreviews", {})).json["status"]["userInfo"]
    assert nobody == {"username": "system:unsecured", "groups": ["system:masters", "system:authenticated"]}


async def test_an_unknown_token_is_nobodys(house: Guarded) -> None:
    status = (await house.ask("POST", f"{PEOPLE}/tokenreviews", {"spec": {"token": "made-up"}})).json["status"]
    assert status["authenticated"] is False
    missing = await house.ask("POST", f"{PEOPLE}/tokenreviews", {"spec": {}})
    assert (missing.code, missing.json["reason"]) == (400, "BadRequest")
