"""What an audit policy says of a request: a table of rules and requests, and what is wrong with a policy."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from probate.api.audit import policy_file
from probate.api.audit import request_info as asking
from probate.api.audit.policy import NAMES, Level
from probate.api.audit.request_info import Asked
from probate.api.rbac.users import ANONYMOUS, User

ANN = User("ann", ("staff", "system:authenticated"))
PODS = {"group": "", "resources": ["pods"]}


def policy(*rules: dict[str, Any], **more: Any) -> bytes:
    return yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **more}).encode()


def level(rule: dict[str, Any], method: str, url: str, user: User | None = ANN) -> str:
    path, _, query = url.partition("?")
    given = {name: [value] for name, _, value in (one.partition("=") for one in query.split("&") if one)}
    verdict = policy_file.read(policy({"level": "Request", **rule})).verdict(user, asking.asked(method, path, given))
    return NAMES[verdict.level]


WEB = "/api/v1/namespaces/a/pods/web"
MATCHES: list[tuple[dict[str, Any], str, str, bool]] = [
    ({}, "GET", WEB, True),
    ({}, "GET", "/livez", True),
    ({"users": ["ann"]}, "GET", WEB, True),
    ({"users": ["bob", "an"]}, "GET", WEB, False),
    ({"userGroups": ["staff", "others"]}, "GET", WEB, True),
    ({"userGroups": ["others"]}, "GET", WEB, False),
    ({"users": ["ann"], "userGroups": ["others"]}, "GET", WEB, False),
    ({"verbs": ["get"]}, "GET", WEB, True),
    ({"verbs": ["get"]}, "HEAD", WEB, True),
    ({"verbs": ["get"]}, "GET", "/api/v1/pods", False),
    ({"verbs": ["list"]}, "GET", "/api/v1/pods", True),
    ({"verbs": ["list"]}, "GET", "/api/v1/pods?watch=true", False),
    ({"verbs": ["watch"]}, "GET", "/api/v1/pods?watch=1", True),
    ({"verbs": ["watch"]}, "GET", "/api/v1/watch/namespaces/a/pods", True),
    ({"verbs": ["watch"]}, "GET", "/api/v1/watch/namespaces/a/pods/web", True),
    ({"verbs": ["deletecollection"]}, "DELETE", "/api/v1/namespaces/a/pods", True),
    ({"verbs": ["delete"]}, "DELETE", "/api/v1/namespaces/a/pods", False),
    ({"verbs": ["create"]}, "POST", f"{WEB}/eviction", True),
    ({"verbs": ["update"]}, "PUT", WEB, True),
    ({"verbs": ["patch"]}, "PATCH", WEB, True),
    ({"verbs": ["post"]}, "POST", "/livez", True),
    ({"verbs": ["create"]}, "POST", "/livez", False),
    ({"resources": [PODS]}, "GET", WEB, True),
    ({"resources": [PODS]}, "GET", f"{WEB}/log", False),
    ({"resources": [PODS]}, "GET", "/apis/apps/v1/namespaces/a/pods/web", False),
    ({"resources": [PODS]}, "GET", "/api/v1", False),
    ({"resources": [{"group": "", "resources": ["pods/log"]}]}, "GET", f"{WEB}/log", True),
    ({"resources": [{"group": "", "resources": ["pods/log"]}]}, "GET", WEB, False),
    ({"resources": [{"group": "", "resources": ["pods/*"]}]}, "GET", f"{WEB}/log", True),
    ({"resources": [{"group": "", "resources": ["pods/*"]}]}, "GET", WEB, True),
    ({"resources": [{"group": "", "resources": ["*"]}]}, "GET", f"{WEB}/log", True),
    ({"resources": [{"group": "", "resources": ["*"]}]}, "GET", "/apis/apps/v1/deployments", False),
    ({"resources": [{"group": "apps", "resources": ["*/scale"]}]}, "GET", "/apis/apps/v1/namespaces/a/deployments/d/scale", True),
    ({"resources": [{"group": "apps", "resources": ["*/scale"]}]}, "GET", "/apis/apps/v1/namespaces/a/deployments/d", False),
    ({"resources": [{"group": "apps"}]}, "GET", "/apis/apps/v1/namespaces/a/deployments/d/scale", True),
    ({"resources": [{"resources": ["pods"]}]}, "GET", WEB, True),
    ({"resources": [PODS, {"group": "apps"}]}, "GET", "/apis/apps/v1/deployments", True),
    ({"resources": [{**PODS, "resourceNames": ["web"]}]}, "GET", WEB, True),
    ({"resources": [{**PODS, "resourceNames": ["web"]}]}, "GET", "/api/v1/namespaces/a/pods/db", False),
    ({"resources": [{**PODS, "resourceNames": ["web"]}]}, "GET", "/api/v1/pods", False),
    ({"resources": [{**PODS, "resourceNames": ["web"]}]}, "GET", "/api/v1/pods?fieldSelector=metadata.name=web", True),
    ({"resources": [{"group": "not.served", "resources": ["things"]}]}, "GET", "/apis/not.served/v1/things/x", True),
    ({"namespaces": ["a"]}, "GET", WEB, True),
    ({"namespaces": ["b"]}, "GET", WEB, False),
    ({"namespaces": ["a"]}, "GET", "/api/v1/namespaces/a", True),
    ({"namespaces": ["a"]}, "GET", "/api/v1/namespaces/a/status", True),
    ({"namespaces": [""]}, "GET", "/api/v1/nodes/n", True),
    ({"namespaces": [""]}, "GET", "/livez", False),
    ({"namespaces": ["a"], "resources": [{"group": "apps"}]}, "GET", WEB, False),
    ({"nonResourceURLs": ["/livez"]}, "GET", "/livez", True),
    ({"nonResourceURLs": ["/livez"]}, "GET", "/livez/etcd", False),
    ({"nonResourceURLs": ["/livez*"]}, "GET", "/livez/etcd", True),
    ({"nonResourceURLs": ["*"]}, "GET", "/anything", True),
    ({"nonResourceURLs": ["*"]}, "GET", WEB, False),
    ({"nonResourceURLs": ["/apis/*"]}, "GET", "/apis/apps/v1", True),
    ({"nonResourceURLs": ["/apis/*"]}, "GET", "/apis/apps/v1/deployments", False),
]


@pytest.mark.parametrize(("rule", "method", "url", "is_matched"), MATCHES)
def test_a_rule_matches_what_it_is_about(rule: dict[str, Any], method: str, url: str, is_matched: bool) -> None:
    assert level(rule, method, url) == ("Request" if is_matched else "None")


def test_who_is_not_known_matches_rules_for_everybody_only() -> None:
    assert level({}, "GET", WEB, None) == "Request"
    assert level({"users": ["ann"]}, "GET", WEB, None) == "None"
    assert level({"userGroups": ["staff"]}, "GET", WEB, None) == "None"


def test_the_first_rule_that_matches_decides() -> None:
    read = policy_file.read(
        policy({"level": "None", "users": ["bob"]}, {"level": "Metadata", "resources": [PODS]}, {"level": "Request"})
    )
    web, other = asking.asked("GET", WEB, {}), asking.asked("GET", "/api/v1/nodes", {})
    for _ in range(2):  # the second time it is remembered
        assert read.verdict(ANN, web).level is Level.METADATA
        assert read.verdict(ANN, other).level is Level.REQUEST
        assert read.verdict(User("bob"), web).level is Level.NONE


def test_names_are_told_apart_when_a_rule_asks_for_them() -> None:
    read = policy_file.read(policy({"level": "Request", "resources": [{**PODS, "resourceNames": ["web"]}]}, {"level": "Metadata"}))
    assert read.verdict(ANN, asking.asked("GET", WEB, {})).level is Level.REQUEST
    assert read.verdict(ANN, asking.asked("GET", "/api/v1/namespaces/a/pods/db", {})).level is Level.METADATA


def test_stages_are_omitted_by_the_policy_and_by_the_rule() -> None:
    read = policy_file.read(policy({"level": "Metadata", "omitStages": ["Panic"]}, omitStages=["RequestReceived"]))
    assert read.rules[0].verdict.omitted == {"Panic", "RequestReceived"}


@pytest.mark.parametrize(
    ("policys", "rules", "omits"), [(True, None, True), (True, False, False), (None, True, True), (None, None, False)]
)
def test_managed_fields_are_omitted_as_the_rule_says_and_else_the_policy(
    policys: bool | None, rules: bool | None, omits: bool
) -> None:
    rule = {"level": "Metadata"} if rules is None else {"level": "Metadata", "omitManagedFields": rules}
    more = {} if policys is None else {"omitManagedFields": policys}
    assert policy_file.read(policy(rule, **more)).rules[0].verdict.omits_managed_fields is omits


WRONG: list[tuple[bytes, str]] = [
    (b"", "the file: this must be an object"),
    (b"[", "it is not YAML"),
    (b"kind: Policy\nkind: Policy\n", "kind is given twice"),
    (b"kind: Policy", "it must say apiVersion: audit.k8s.io/v1 and kind: Policy"),
    (policy().replace(b"/v1", b"/v1beta1"), "it must say apiVersion"),
    (policy(), "rules: there are none"),
    (policy({"level": "All"}), "rules[0].level: give None, Metadata, Request, RequestResponse; it is 'All'"),
    (policy({}), "rules[0].level"),
    (policy({"level": "None", "user": ["ann"]}), "rules[0]: nobody knows a field 'user' here"),
    (policy({"level": "None", "users": "ann"}), "rules[0].users: this must be a list"),
    (policy({"level": "None", "users": [1]}), "rules[0].users[0]: this must be a text"),
    (policy({"level": "None", "omitStages": ["Never"]}), "rules[0].omitStages: give RequestReceived"),
    (policy({"level": "None"}, omitStages=["Never"]), "omitStages: give RequestReceived"),
    (policy({"level": "None", "omitManagedFields": "yes"}), "rules[0].omitManagedFields: give true or false"),
    (policy({"level": "None", "resources": [PODS], "nonResourceURLs": ["/x"]}), "rules[0].nonResourceURLs: a rule is about"),
    (policy({"level": "None", "namespaces": ["a"], "nonResourceURLs": ["/x"]}), "rules[0].nonResourceURLs: a rule is about"),
    (policy({"level": "None", "nonResourceURLs": ["livez"]}), "rules[0].nonResourceURLs[0]: give a path"),
    (policy({"level": "None", "nonResourceURLs": ["/a*b"]}), "rules[0].nonResourceURLs[0]: give a path"),
    (policy({"level": "None", "resources": [{"group": "apps/v1"}]}), "rules[0].resources[0].group: give the name of a group"),
    (
        policy({"level": "None", "resources": [{"group": "", "resources": ["a/b/c"]}]}),
        "rules[0].resources[0].resources[0]: give a resource",
    ),
    (
        policy({"level": "None", "resources": [{"group": "", "resources": ["/log"]}]}),
        "rules[0].resources[0].resources[0]: give a resource",
    ),
    (policy({"level": "None", "resources": [{"group": "", "resourceNames": ["x"]}]}), "resourceNames: say of which resources"),
    (b"a: " + b"x" * policy_file.MAX_BYTES, "it is larger than"),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_a_policy_that_is_wrong_says_where(text: bytes, told: str) -> None:
    with pytest.raises(policy_file.Wrong) as raised:
        policy_file.read(text)
    assert told in str(raised.value)


def test_the_usual_policy_leaves_out_health_and_discovery() -> None:
    usual = policy_file.usual()
    for path in (
        "/livez",
        "/readyz/collector",
        "/healthz",
        "/version",
        "/openapi/v3/api/v1",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps/v1",
    ):
        assert usual.verdict(ANONYMOUS, Asked("get", path)).level is Level.NONE, path
    for method, path in (("GET", WEB), ("POST", "/livez"), ("GET", "/metrics"), ("GET", "/debug/ownership"), ("DELETE", WEB)):
        assert usual.verdict(ANN, asking.asked(method, path, {})).level is Level.METADATA, path
    assert usual.rules[-1].verdict.omitted == {"RequestReceived"}
