"""Ways to more rights than one was given (docs/security.md, the table of threats)."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.rbac.users import AUTHENTICATED, User
from probate.server.app import App
from support import certificate_requests
from support.attacker_requests import CORE, MAPS, MERGE, SECRETS, Object, codes, config_map, may, rewrite
from support.rbac_server import RBAC, Guarded

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
async def test_t28_headers_that_do_not_say_as_whom_are_refused(house: Guarded, headers: list[tuple[bytes, bytes]]) -> None:
    assert (await house.ask("GET", MAPS, headers=headers)).code == 400


@pytest.mark.parametrize(
    ("rule", "who", "groups"),
    [
        (may("impersonate", "users"), "ann", ("system:masters",)),
        (may("impersonate", "users"), "system:serviceaccount:kube-system:root", ()),
        (may("impersonate", "users", resourceNames=["ann"]), "bob", ()),
        (may("impersonate", "groups"), "ann", ()),
        (may("*", "configmaps", "secrets"), "ann", ()),
    ],
    ids=["masters", "account", "another", "groups", "others"],
)
async def test_t28_right_to_act_as_one_is_none_to_act_as_another(house: Guarded, rule: Object, who: str, groups: Any) -> None:
    await house.grant("eve", rule)
    house.app = App(house.api, recognise=_eve)
    refused = await house.ask_as(who, "GET", MAPS, groups=groups)
    assert refused.code == 403
    assert 'User "eve" cannot impersonate resource' in refused.json["message"]


async def _eve(_scope: Any) -> User:
    return User("eve", (AUTHENTICATED,))


async def test_t29_labels_on_a_role_with_more_made_it_part_of_ones_own(house: Guarded) -> None:
    await house.grant("eve", may("get update patch create", "clusterroles", group=GROUP))
    await house.bind("eve", "ClusterRole", "edit")
    label = {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    for role in ("cluster-admin", "admin", "system:controller:namespace-controller"):
        told = await house.ask_as("eve", "PATCH", f"{RBAC}/clusterroles/{role}", {"metadata": {"labels": label}}, media=MERGE)
        assert told.code == 403, role
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    body = {"metadata": {"name": "mine", "labels": label}, "rules": [everything]}
    assert (await house.ask_as("eve", "POST", f"{RBAC}/clusterroles", body)).code == 403
    sums = {"metadata": {"name": "mine"}, "aggregationRule": {"clusterRoleSelectors": [{}]}}
    assert (await house.ask_as("eve", "POST", f"{RBAC}/clusterroles", sums)).code == 403
    less = {"aggregationRule": None, "rules": [may("get", "configmaps")]}
    assert (await house.ask_as("eve", "PATCH", f"{RBAC}/clusterroles/edit", less, media=MERGE)).code == 403


async def test_t30_nobody_binds_or_owns_their_way_to_a_role_they_lack(house: Guarded) -> None:
    await house.grant("eve", may("*", "rolebindings", "configmaps", group=GROUP), may("*", "configmaps"), namespace="a")
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    body = {"metadata": {"name": "x"}, "roleRef": role, "subjects": [{"kind": "User", "name": "eve"}]}
    path = f"{RBAC}/namespaces/a/rolebindings"
    assert (await house.ask_as("eve", "POST", path, body)).code == 403
    assert (await house.ask_as("eve", "POST", f"{RBAC}/clusterrolebindings", body)).code == 403
    theirs = (await house.bind("root", "ClusterRole", "cluster-admin", namespace="a")).json["metadata"]["name"]
    more = {"subjects": [{"kind": "User", "name": "eve"}]}
    assert (await house.ask_as("eve", "PATCH", f"{path}/{theirs}", more, media=MERGE)).code == 403
    assert (await house.ask_as("eve", "GET", SECRETS)).code == 403


async def test_t31_token_of_another_account_takes_its_own_right(house: Guarded) -> None:
    everything = ("serviceaccounts", "serviceaccounts/status", "pods", "secrets")
    await house.grant("eve", may("create get update patch", *everything), namespace="a")
    await house.create("serviceaccounts", "a", {"metadata": {"name": "root"}})
    assert (await house.ask_as("eve", "POST", f"{CORE}/serviceaccounts/root/token", {"spec": {}})).code == 403
    await house.grant("eve", may("create", "serviceaccounts/token", resourceNames=["mine"]), namespace="a")
    assert (await house.ask_as("eve", "POST", f"{CORE}/serviceaccounts/root/token", {"spec": {}})).code == 403


def request(**spec: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": {**certificate_requests.SPEC, **spec}}


async def test_t32_request_for_a_certificate_could_say_that_a_master_had_made_it(house: Guarded) -> None:
    await house.grant("eve", may("create get update patch", "certificatesigningrequests", group="certificates.k8s.io"))
    false = {"username": "root", "uid": "0", "groups": ["system:masters"], "extra": {"scopes": ["all"]}}
    made = await house.ask_as("eve", "POST", REQUESTS, request(**false))
    assert made.code == 201, made.body
    told = {name: value for name, value in made.json["spec"].items() if name in false}
    assert told == {"username": "eve", "groups": ["system:authenticated"]}
    assert "f:username" not in made.body.decode()
    await house.ask_as("eve", "PATCH", f"{REQUESTS}/x", {"spec": false}, media=MERGE)
    assert (await house.ask("GET", f"{REQUESTS}/x")).json["spec"] == made.json["spec"]


@pytest.mark.parametrize(("part", "verb"), [("approval", "approve"), ("status", "sign")])
async def test_t32_who_may_write_approvals_approves_and_signs_only_for_signers_they_may_speak_for(
    house: Guarded, part: str, verb: str
) -> None:
    group = "certificates.k8s.io"
    await house.grant("eve", may("create get", "certificatesigningrequests", group=group))
    await house.grant("eve", may("update patch", f"certificatesigningrequests/{part}", group=group))
    await house.ask_as("eve", "POST", REQUESTS, request())
    kind = "Approved" if part == "approval" else "Failed"
    change = {"status": {"conditions": [{"type": kind, "status": "True", "reason": "r", "message": "m"}]}}
    refused = await house.ask_as("eve", "PATCH", f"{REQUESTS}/x/{part}", change, media=MERGE)
    assert refused.code == 403
    assert f'cannot {verb} resource "signers" in API group "{group}"' in refused.json["message"]
    for names, code in ((["example.com/other"], 403), (["example.com/*"], 200)):
        await house.grant("eve", may(verb, "signers", group=group, resourceNames=names))
        assert (await house.ask_as("eve", "PATCH", f"{REQUESTS}/x/{part}", change, media=MERGE)).code == code, names


async def test_t32_who_may_sign_could_approve_and_deny_through_the_status(house: Guarded) -> None:
    group = "certificates.k8s.io"
    await house.grant("eve", may("update patch", "certificatesigningrequests/status", group=group))
    await house.grant("eve", may("sign", "signers", group=group, resourceNames=["example.com/*"]))
    approved = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    await house.ask("POST", REQUESTS, request())
    added = await house.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", {"status": {"conditions": [approved]}}, media=MERGE)
    assert added.code == 422
    assert 'status.conditions: Forbidden: updates may not add a condition of type "Approved"' in added.json["message"]
    done = await house.ask("PATCH", f"{REQUESTS}/x/approval", {"status": {"conditions": [approved]}}, media=MERGE)
    gone = await house.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", {"status": {"conditions": None}}, media=MERGE)
    assert gone.code == 422
    other = [{**approved, "reason": "eve"}, {"type": "Seen", "status": "True"}]
    kept = await house.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", {"status": {"conditions": other}}, media=MERGE)
    assert kept.json["status"]["conditions"][0] == done.json["status"]["conditions"][0]


@pytest.mark.parametrize("part", ["approval", "status"])
async def test_t12_request_for_a_certificate_is_not_held_or_rewritten_through_a_part_of_it(house: Guarded, part: str) -> None:
    group = "certificates.k8s.io"
    await house.grant("eve", may("update patch", f"certificatesigningrequests/{part}", group=group))
    await house.grant("eve", may("approve sign", "signers", group=group, resourceNames=["example.com/*"]))
    before = (await house.ask("POST", REQUESTS, request())).json
    told = await rewrite(house, "eve", f"{REQUESTS}/x/{part}", {"finalizers": ["example.com/forever"]})
    assert {*codes(told).values()} <= {403, 409}
    for owned in ({"uid": "other"}, {"creationTimestamp": "2020-01-01T00:00:00Z"}, {"generation": 7}):
        await rewrite(house, "eve", f"{REQUESTS}/x/{part}", owned)
    await house.ask_as("eve", "PATCH", f"{REQUESTS}/x/{part}", {"spec": {"usages": ["any"]}}, media=MERGE)
    after = (await house.ask("GET", f"{REQUESTS}/x")).json
    assert after["spec"] == before["spec"]
    less = [{name: value for name, value in one["metadata"].items() if name not in VERSIONS} for one in (before, after)]
    assert less[0] == less[1]


@pytest.mark.parametrize("kind", ["validating", "mutating"])
async def test_t33_policy_does_not_read_for_its_author_what_they_may_not(house: Guarded, kind: str) -> None:
    group = "admissionregistration.k8s.io"
    await house.grant("eve", may("*", "*", group=group), may("create", "configmaps"))
    await house.create("secrets", "b", {"metadata": {"name": "s"}, "data": {"a": "c2VjcmV0"}})
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    said: Object = {"validations": [{"expression": "false", "messageExpression": "params.data['a']"}]}
    if kind == "mutating":
        patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
        said = {"mutations": [patch], "reinvocationPolicy": "Never"}
    spec = {"paramKind": {"apiVersion": "v1", "kind": "Secret"}, "matchConstraints": {"resourceRules": [rule]}, **said}
    policies, policy = f"{ADMISSION}/{kind}admissionpolicies", {"metadata": {"name": "p"}, "spec": spec}
    bindings = f"{ADMISSION}/{kind}admissionpolicybindings"
    ref = {"name": "s", "namespace": "b", "parameterNotFoundAction": "Deny"}
    actions = {"validationActions": ["Deny"]} if kind == "validating" else {}
    binding = {"metadata": {"name": "p"}, "spec": {"policyName": "p", "paramRef": ref, **actions}}
    assert (await house.ask_as("eve", "POST", bindings, binding)).code == 403
    assert (await house.ask_as("eve", "POST", policies, policy)).code == 403
    assert (await house.ask("POST", policies, policy)).code == 201
    refused = await house.ask_as("eve", "POST", bindings, binding)
    assert refused.code == 403
    assert 'cannot get resource "secrets" in API group "" in the namespace "b"' in refused.json["message"]
    await house.grant("eve", may("get", "secrets", resourceNames=["s"]), namespace="b")
    assert (await house.ask_as("eve", "POST", bindings, binding)).code == 201


async def test_t34_apply_creates_and_takes_over_only_what_its_author_may(house: Guarded) -> None:
    await house.grant("eve", may("patch", "configmaps", resourceNames=["mine"]), namespace="a")
    await house.create("configmaps", "a", {**config_map("victim"), "data": {"a": "b"}})
    forced = {"fieldManager": "eve", "force": "true"}
    media = "application/apply-patch+yaml"
    for name in ("victim", "mine"):
        body = {**config_map(name), "data": {"a": "eve"}}
        assert (await house.ask_as("eve", "PATCH", f"{MAPS}/{name}", body, media=media, query=forced)).code == 403, name
    moved = {**config_map("victim"), "data": {"a": "eve"}}
    assert (await house.ask_as("eve", "PATCH", f"{MAPS}/mine", moved, media=media, query=forced)).code in {400, 403}
    assert (await house.ask("GET", f"{MAPS}/victim")).json["data"] == {"a": "b"}
