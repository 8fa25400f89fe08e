"""Attempts to gain rights (docs/security.md, the table of threats)."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.rbac.users import AUTHENTICATED, User
from probate.server.app import App
from support import certificate_requests
from support.attacker_requests import CORE, MAPS, MERGE, SECRETS, codes, config_map, rbac_rule, write_metadata
from support.rbac_server import RBAC, RbacServer

GROUP = "rbac.authorization.k8s.io"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
VERSIONS = ("resourceVersion", "managedFields")
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest.mark.parametrize(
    "headers",
    [
        [(b"impersonate-user", b"eve"), (b"impersonate-user", b"root")],
        [(b"impersonate-group", b"system:masters")],
        [(b"impersonate-user", b"")],
        [(b"impersonate-user", b"eve"), (b"impersonate-uid", b"1"), (b"impersonate-uid", b"2")],
        [(b"impersonate-extra-scopes", b"all")],
    ],
    ids=["twice", "group", "empty", "uids", "extra"],
)
async def test_t28_incomplete_impersonation_headers_are_refused(server: RbacServer, headers: list[tuple[bytes, bytes]]) -> None:
    assert (await server.request("GET", MAPS, headers=headers)).code == 400


@pytest.mark.parametrize(
    ("rule", "who", "groups"),
    [
        (rbac_rule("impersonate", "users"), "ann", ("system:masters",)),
        (rbac_rule("impersonate", "users"), "system:serviceaccount:kube-system:root", ()),
        (rbac_rule("impersonate", "users", resourceNames=["ann"]), "bob", ()),
        (rbac_rule("impersonate", "groups"), "ann", ()),
        (rbac_rule("*", "configmaps", "secrets"), "ann", ()),
    ],
    ids=["masters", "account", "another", "groups", "others"],
)
async def test_t28_right_to_impersonate_one_user_does_not_include_others(
    server: RbacServer, rule: Object, who: str, groups: Any
) -> None:
    await server.grant("eve", rule)
    server.app = App(server.api, authenticate=_eve)
    refused = await server.ask_as(who, "GET", MAPS, groups=groups)
    assert refused.code == 403
    assert 'User "eve" cannot impersonate resource' in refused.json["message"]


async def _eve(_scope: Any) -> User:
    return User("eve", (AUTHENTICATED,))


async def test_t29_labels_on_a_role_with_more_made_it_part_of_ones_own(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("get update patch create", "clusterroles", group=GROUP))
    await server.bind("eve", "ClusterRole", "edit")
    label = {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    for role in ("cluster-admin", "admin", "system:controller:namespace-controller"):
        response = await server.ask_as(
            "eve", "PATCH", f"{RBAC}/clusterroles/{role}", body={"metadata": {"labels": label}}, media=MERGE
        )
        assert response.code == 403, role
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    body = {"metadata": {"name": "mine", "labels": label}, "rules": [everything]}
    assert (await server.ask_as("eve", "POST", f"{RBAC}/clusterroles", body=body)).code == 403
    sums = {"metadata": {"name": "mine"}, "aggregationRule": {"clusterRoleSelectors": [{}]}}
    assert (await server.ask_as("eve", "POST", f"{RBAC}/clusterroles", body=sums)).code == 403
    less = {"aggregationRule": None, "rules": [rbac_rule("get", "configmaps")]}
    assert (await server.ask_as("eve", "PATCH", f"{RBAC}/clusterroles/edit", body=less, media=MERGE)).code == 403


async def test_t30_bindings_and_owners_do_not_grant_missing_rules(server: RbacServer) -> None:
    await server.grant(
        "eve", rbac_rule("*", "rolebindings", "configmaps", group=GROUP), rbac_rule("*", "configmaps"), namespace="a"
    )
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    body = {"metadata": {"name": "x"}, "roleRef": role, "subjects": [{"kind": "User", "name": "eve"}]}
    path = f"{RBAC}/namespaces/a/rolebindings"
    assert (await server.ask_as("eve", "POST", path, body=body)).code == 403
    assert (await server.ask_as("eve", "POST", f"{RBAC}/clusterrolebindings", body=body)).code == 403
    theirs = (await server.bind("root", "ClusterRole", "cluster-admin", namespace="a")).json["metadata"]["name"]
    fields = {"subjects": [{"kind": "User", "name": "eve"}]}
    assert (await server.ask_as("eve", "PATCH", f"{path}/{theirs}", body=fields, media=MERGE)).code == 403
    assert (await server.ask_as("eve", "GET", SECRETS)).code == 403


async def test_t31_token_of_another_account_takes_its_own_right(server: RbacServer) -> None:
    everything = ("serviceaccounts", "serviceaccounts/status", "pods", "secrets")
    await server.grant("eve", rbac_rule("create get update patch", *everything), namespace="a")
    await server.create("serviceaccounts", "a", {"metadata": {"name": "root"}})
    assert (await server.ask_as("eve", "POST", f"{CORE}/serviceaccounts/root/token", body={"spec": {}})).code == 403
    await server.grant("eve", rbac_rule("create", "serviceaccounts/token", resourceNames=["mine"]), namespace="a")
    assert (await server.ask_as("eve", "POST", f"{CORE}/serviceaccounts/root/token", body={"spec": {}})).code == 403


def request(**spec: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": {**certificate_requests.SPEC, **spec}}


async def test_t32_request_for_a_certificate_could_say_that_a_master_had_made_it(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("create get update patch", "certificatesigningrequests", group="certificates.k8s.io"))
    false = {"username": "root", "uid": "0", "groups": ["system:masters"], "extra": {"scopes": ["all"]}}
    created = await server.ask_as("eve", "POST", REQUESTS, body=request(**false))
    assert created.code == 201, created.body
    response = {name: value for name, value in created.json["spec"].items() if name in false}
    assert response == {"username": "eve", "groups": ["system:authenticated"]}
    assert "f:username" not in created.body.decode()
    await server.ask_as("eve", "PATCH", f"{REQUESTS}/x", body={"spec": false}, media=MERGE)
    assert (await server.request("GET", f"{REQUESTS}/x")).json["spec"] == created.json["spec"]


@pytest.mark.parametrize(("part", "verb"), [("approval", "approve"), ("status", "sign")])
async def test_t32_who_may_write_approvals_approves_and_signs_only_for_signers_they_may_speak_for(
    server: RbacServer, part: str, verb: str
) -> None:
    group = "certificates.k8s.io"
    await server.grant("eve", rbac_rule("create get", "certificatesigningrequests", group=group))
    await server.grant("eve", rbac_rule("update patch", f"certificatesigningrequests/{part}", group=group))
    await server.ask_as("eve", "POST", REQUESTS, body=request())
    kind = "Approved" if part == "approval" else "Failed"
    change = {"status": {"conditions": [{"type": kind, "status": "True", "reason": "r", "message": "m"}]}}
    refused = await server.ask_as("eve", "PATCH", f"{REQUESTS}/x/{part}", body=change, media=MERGE)
    assert refused.code == 403
    assert f'cannot {verb} resource "signers" in API group "{group}"' in refused.json["message"]
    for names, code in ((["example.com/other"], 403), (["example.com/*"], 200)):
        await server.grant("eve", rbac_rule(verb, "signers", group=group, resourceNames=names))
        assert (await server.ask_as("eve", "PATCH", f"{REQUESTS}/x/{part}", body=change, media=MERGE)).code == code, names


async def test_t32_who_may_sign_could_approve_and_deny_through_the_status(server: RbacServer) -> None:
    group = "certificates.k8s.io"
    await server.grant("eve", rbac_rule("update patch", "certificatesigningrequests/status", group=group))
    await server.grant("eve", rbac_rule("sign", "signers", group=group, resourceNames=["example.com/*"]))
    approved = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    await server.request("POST", REQUESTS, request())
    added = await server.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", body={"status": {"conditions": [approved]}}, media=MERGE)
    assert added.code == 422
    assert 'status.conditions: Forbidden: updates may not add a condition of type "Approved"' in added.json["message"]
    done = await server.request("PATCH", f"{REQUESTS}/x/approval", {"status": {"conditions": [approved]}}, media=MERGE)
    gone = await server.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", body={"status": {"conditions": None}}, media=MERGE)
    assert gone.code == 422
    other = [{**approved, "reason": "eve"}, {"type": "Seen", "status": "True"}]
    kept = await server.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", body={"status": {"conditions": other}}, media=MERGE)
    assert kept.json["status"]["conditions"][0] == done.json["status"]["conditions"][0]


@pytest.mark.parametrize("part", ["approval", "status"])
async def test_t12_request_for_a_certificate_is_not_held_or_rewritten_through_a_part_of_it(server: RbacServer, part: str) -> None:
    group = "certificates.k8s.io"
    await server.grant("eve", rbac_rule("update patch", f"certificatesigningrequests/{part}", group=group))
    await server.grant("eve", rbac_rule("approve sign", "signers", group=group, resourceNames=["example.com/*"]))
    before = (await server.request("POST", REQUESTS, request())).json
    response = await write_metadata(server, "eve", f"{REQUESTS}/x/{part}", meta={"finalizers": ["example.com/forever"]})
    assert {*codes(response).values()} <= {403, 409}
    for owned in ({"uid": "other"}, {"creationTimestamp": "2020-01-01T00:00:00Z"}, {"generation": 7}):
        await write_metadata(server, "eve", f"{REQUESTS}/x/{part}", meta=owned)
    await server.ask_as("eve", "PATCH", f"{REQUESTS}/x/{part}", body={"spec": {"usages": ["any"]}}, media=MERGE)
    after = (await server.request("GET", f"{REQUESTS}/x")).json
    assert after["spec"] == before["spec"]
    less = [{name: value for name, value in item["metadata"].items() if name not in VERSIONS} for item in (before, after)]
    assert less[0] == less[1]


@pytest.mark.parametrize("kind", ["validating", "mutating"])
async def test_t33_policy_does_not_read_for_its_author_what_they_may_not(server: RbacServer, kind: str) -> None:
    group = "admissionregistration.k8s.io"
    await server.grant("eve", rbac_rule("*", "*", group=group), rbac_rule("create", "configmaps"))
    await server.create("secrets", "b", {"metadata": {"name": "s"}, "data": {"a": "c2VjcmV0"}})
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    text: Object = {"validations": [{"expression": "false", "messageExpression": "params.data['a']"}]}
    if kind == "mutating":
        patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
        text = {"mutations": [patch], "reinvocationPolicy": "Never"}
    spec = {"paramKind": {"apiVersion": "v1", "kind": "Secret"}, "matchConstraints": {"resourceRules": [rule]}, **text}
    policies, policy = f"{ADMISSION}/{kind}admissionpolicies", {"metadata": {"name": "p"}, "spec": spec}
    bindings = f"{ADMISSION}/{kind}admissionpolicybindings"
    ref = {"name": "s", "namespace": "b", "parameterNotFoundAction": "Deny"}
    actions = {"validationActions": ["Deny"]} if kind == "validating" else {}
    binding = {"metadata": {"name": "p"}, "spec": {"policyName": "p", "paramRef": ref, **actions}}
    assert (await server.ask_as("eve", "POST", bindings, body=binding)).code == 403
    assert (await server.ask_as("eve", "POST", policies, body=policy)).code == 403
    assert (await server.request("POST", policies, policy)).code == 201
    refused = await server.ask_as("eve", "POST", bindings, body=binding)
    assert refused.code == 403
    assert 'cannot get resource "secrets" in API group "" in the namespace "b"' in refused.json["message"]
    await server.grant("eve", rbac_rule("get", "secrets", resourceNames=["s"]), namespace="b")
    assert (await server.ask_as("eve", "POST", bindings, body=binding)).code == 201


async def test_t34_apply_creates_and_takes_over_only_with_the_right(server: RbacServer) -> None:
    await server.grant("eve", rbac_rule("patch", "configmaps", resourceNames=["mine"]), namespace="a")
    await server.create("configmaps", "a", {**config_map("victim"), "data": {"a": "b"}})
    forced = {"fieldManager": "eve", "force": "true"}
    media = "application/apply-patch+yaml"
    for name in ("victim", "mine"):
        body = {**config_map(name), "data": {"a": "eve"}}
        assert (await server.ask_as("eve", "PATCH", f"{MAPS}/{name}", body=body, media=media, query=forced)).code == 403, name
    moved = {**config_map("victim"), "data": {"a": "eve"}}
    assert (await server.ask_as("eve", "PATCH", f"{MAPS}/mine", body=moved, media=media, query=forced)).code in {400, 403}
    assert (await server.request("GET", f"{MAPS}/victim")).json["data"] == {"a": "b"}
