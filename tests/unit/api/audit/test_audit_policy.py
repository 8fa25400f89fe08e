"""Audit policies: a table of rules and requests, and the errors of invalid policies."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from probate.api.audit import policy_file, request_info
from probate.api.audit.policy import LEVEL_NAMES, Level
from probate.api.audit.request_info import RequestInfo
from probate.api.rbac.users import ANONYMOUS, User

ANN = User("ann", ("staff", "system:authenticated"))
PODS = {"group": "", "resources": ["pods"]}


def policy(*rules: dict[str, Any], **fields: Any) -> bytes:
    return yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **fields}).encode()


def level(rule: dict[str, Any], method: str, url: str, user: User | None = ANN) -> str:
    path, _, query = url.partition("?")
    query_values = {name: [value] for name, _, value in (parameter.partition("=") for parameter in query.split("&") if parameter)}
    config = policy_file.parse_policy(policy({"level": "Request", **rule})).evaluate(
        user, request_info.parse_request(method, path, query_values)
    )
    return LEVEL_NAMES[config.level]


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
def test_rules_match_requests(rule: dict[str, Any], method: str, url: str, is_matched: bool) -> None:
    assert level(rule, method, url) == ("Request" if is_matched else "None")


def test_an_unauthenticated_request_matches_only_rules_for_all_users() -> None:
    assert level({}, "GET", WEB, None) == "Request"
    assert level({"users": ["ann"]}, "GET", WEB, None) == "None"
    assert level({"userGroups": ["staff"]}, "GET", WEB, None) == "None"


def test_the_first_rule_that_matches_decides() -> None:
    audit_policy = policy_file.parse_policy(
        policy({"level": "None", "users": ["bob"]}, {"level": "Metadata", "resources": [PODS]}, {"level": "Request"})
    )
    web, other = request_info.parse_request("GET", WEB, {}), request_info.parse_request("GET", "/api/v1/nodes", {})
    for _ in range(2):  # the second decision comes from the cache
        assert audit_policy.evaluate(ANN, web).level is Level.METADATA
        assert audit_policy.evaluate(ANN, other).level is Level.REQUEST
        assert audit_policy.evaluate(User("bob"), web).level is Level.NONE


def test_decisions_are_cached_by_name_if_a_rule_has_resource_names() -> None:
    audit_policy = policy_file.parse_policy(
        policy({"level": "Request", "resources": [{**PODS, "resourceNames": ["web"]}]}, {"level": "Metadata"})
    )
    assert audit_policy.evaluate(ANN, request_info.parse_request("GET", WEB, {})).level is Level.REQUEST
    assert audit_policy.evaluate(ANN, request_info.parse_request("GET", "/api/v1/namespaces/a/pods/db", {})).level is Level.METADATA


def test_stages_are_omitted_by_the_policy_and_by_the_rule() -> None:
    audit_policy = policy_file.parse_policy(policy({"level": "Metadata", "omitStages": ["Panic"]}, omitStages=["RequestReceived"]))
    assert audit_policy.rules[0].config.omitted_stages == {"Panic", "RequestReceived"}


@pytest.mark.parametrize(
    ("policy_setting", "rule_setting", "expected"),
    [(True, None, True), (True, False, False), (None, True, True), (None, None, False)],
)
def test_the_rule_overrides_the_policy_on_managed_fields(
    policy_setting: bool | None, rule_setting: bool | None, expected: bool
) -> None:
    rule = {"level": "Metadata"} if rule_setting is None else {"level": "Metadata", "omitManagedFields": rule_setting}
    fields = {} if policy_setting is None else {"omitManagedFields": policy_setting}
    assert policy_file.parse_policy(policy(rule, **fields)).rules[0].config.omit_managed_fields is expected


INVALID_POLICIES: list[tuple[bytes, str]] = [
    (b"", "the file: this must be an object"),
    (b"[", "it is not YAML"),
    (b"kind: Policy\nkind: Policy\n", "kind is set twice"),
    (b"kind: Policy", "it must have apiVersion: audit.k8s.io/v1 and kind: Policy"),
    (policy().replace(b"/v1", b"/v1beta1"), "it must have apiVersion"),
    (policy(), "rules: there are none"),
    (policy({"level": "All"}), "rules[0].level: must be one of None, Metadata, Request, RequestResponse; it is 'All'"),
    (policy({}), "rules[0].level"),
    (policy({"level": "None", "user": ["ann"]}), "rules[0]: unknown field 'user'"),
    (policy({"level": "None", "users": "ann"}), "rules[0].users: this must be a list"),
    (policy({"level": "None", "users": [1]}), "rules[0].users[0]: this must be a string"),
    (policy({"level": "None", "omitStages": ["Never"]}), "rules[0].omitStages: must be from RequestReceived"),
    (policy({"level": "None"}, omitStages=["Never"]), "omitStages: must be from RequestReceived"),
    (policy({"level": "None", "omitManagedFields": "yes"}), "rules[0].omitManagedFields: must be true or false"),
    (policy({"level": "None", "resources": [PODS], "nonResourceURLs": ["/x"]}), "rules[0].nonResourceURLs: a rule matches"),
    (policy({"level": "None", "namespaces": ["a"], "nonResourceURLs": ["/x"]}), "rules[0].nonResourceURLs: a rule matches"),
    (policy({"level": "None", "nonResourceURLs": ["livez"]}), "rules[0].nonResourceURLs[0]: must be a path"),
    (policy({"level": "None", "nonResourceURLs": ["/a*b"]}), "rules[0].nonResourceURLs[0]: must be a path"),
    (policy({"level": "None", "resources": [{"group": "apps/v1"}]}), "rules[0].resources[0].group: must be the name of a group"),
    (
        policy({"level": "None", "resources": [{"group": "", "resources": ["a/b/c"]}]}),
        "rules[0].resources[0].resources[0]: must be a resource",
    ),
    (
        policy({"level": "None", "resources": [{"group": "", "resources": ["/log"]}]}),
        "rules[0].resources[0].resources[0]: must be a resource",
    ),
    (policy({"level": "None", "resources": [{"group": "", "resourceNames": ["x"]}]}), "resourceNames: set resources, too"),
    (b"a: " + b"x" * policy_file.MAX_BYTES, "it is larger than"),
]


@pytest.mark.parametrize(("text", "message"), INVALID_POLICIES)
def test_the_error_of_an_invalid_policy_names_the_field(text: bytes, message: str) -> None:
    with pytest.raises(policy_file.PolicyError) as raised:
        policy_file.parse_policy(text)
    assert message in str(raised.value)


def test_the_default_policy_omits_health_and_discovery() -> None:
    default = policy_file.default_policy()
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
        assert default.evaluate(ANONYMOUS, RequestInfo("get", path)).level is Level.NONE, path
    for method, path in (("GET", WEB), ("POST", "/livez"), ("GET", "/metrics"), ("GET", "/debug/ownership"), ("DELETE", WEB)):
        assert default.evaluate(ANN, request_info.parse_request(method, path, {})).level is Level.METADATA, path
    assert default.rules[-1].config.omitted_stages == {"RequestReceived"}
