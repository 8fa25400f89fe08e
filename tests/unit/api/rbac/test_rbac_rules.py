"""What a single policy rule allows: one case per line."""

from __future__ import annotations

import pytest

from probate.api.rbac import escalation, policy_rules
from probate.api.rbac.policy_rules import NonResourceAttributes, PolicyRule, ResourceAttributes

PODS = PolicyRule(("get", "list"), ("",), ("pods",))


@pytest.mark.parametrize(
    ("rule", "attributes", "allowed"),
    [
        (PODS, ResourceAttributes("get", "", "pods", name="a"), True),
        (PODS, ResourceAttributes("list", "", "pods"), True),
        (PODS, ResourceAttributes("watch", "", "pods"), False),
        (PODS, ResourceAttributes("get", "apps", "pods"), False),
        (PODS, ResourceAttributes("get", "", "services"), False),
        (PODS, ResourceAttributes("get", "", "pods", "log", name="a"), False),
        (PolicyRule(("*",), ("",), ("pods",)), ResourceAttributes("anything", "", "pods"), True),
        (PolicyRule(("get",), ("*",), ("pods",)), ResourceAttributes("get", "metrics.k8s.io", "pods"), True),
        (PolicyRule(("get",), ("",), ("*",)), ResourceAttributes("get", "", "secrets"), True),
        (PolicyRule(("get",), ("",), ("*",)), ResourceAttributes("get", "", "pods", "log"), True),
        (PolicyRule(("get",), ("",), ("pods/log",)), ResourceAttributes("get", "", "pods", "log"), True),
        (PolicyRule(("get",), ("",), ("pods/log",)), ResourceAttributes("get", "", "pods"), False),
        (PolicyRule(("update",), ("*",), ("*/scale",)), ResourceAttributes("update", "apps", "deployments", "scale"), True),
        (PolicyRule(("update",), ("*",), ("*/scale",)), ResourceAttributes("update", "apps", "deployments"), False),
        (PolicyRule(("update",), ("*",), ("*/scale",)), ResourceAttributes("update", "apps", "deployments", "status"), False),
        (PolicyRule(("update",), ("*",), ("*/*",)), ResourceAttributes("update", "apps", "deployments", "status"), False),
        (PolicyRule(("get",), ("",), ("pods/*",)), ResourceAttributes("get", "", "pods", "log"), False),
        (PolicyRule(("get",), ("",), ("pods",), ("a",)), ResourceAttributes("get", "", "pods", name="a"), True),
        (PolicyRule(("get",), ("",), ("pods",), ("a",)), ResourceAttributes("get", "", "pods", name="b"), False),
        (PolicyRule(("list",), ("",), ("pods",), ("a",)), ResourceAttributes("list", "", "pods"), False),
        (PolicyRule(("create",), ("",), ("pods",), ("a",)), ResourceAttributes("create", "", "pods"), False),
        (PolicyRule(("get",), ("",), ("pods",), ("*",)), ResourceAttributes("get", "", "pods", name="b"), False),
        (PolicyRule(("get",), urls=("*",)), ResourceAttributes("get", "", "pods"), False),
    ],
)
def test_resources(rule: PolicyRule, attributes: ResourceAttributes, *, allowed: bool) -> None:
    assert policy_rules.rule_allows(rule, attributes) is allowed


@pytest.mark.parametrize(
    ("urls", "path", "allowed"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/etcd", False),
        ("/healthz/*", "/healthz/etcd", True),
        ("/healthz/*", "/healthz", False),
        ("/api*", "/apis/apps", True),
        ("*", "/anything/at/all", True),
        ("/a*b", "/axb", False),
        ("/version", "/version/", False),
    ],
)
def test_paths(urls: str, path: str, *, allowed: bool) -> None:
    assert policy_rules.rule_allows_path(PolicyRule(("get",), urls=(urls,)), NonResourceAttributes("get", path)) is allowed
    assert not policy_rules.rule_allows_path(PolicyRule(("post",), urls=(urls,)), NonResourceAttributes("get", path))


ADMIN = PolicyRule(("*",), ("*",), ("*",))


@pytest.mark.parametrize(
    ("held", "requested", "missing"),
    [
        ([ADMIN], PODS, None),
        ([PODS], ADMIN, ADMIN),
        ([PODS], PODS, None),
        ([PolicyRule(("get",), ("",), ("pods",)), PolicyRule(("list",), ("",), ("pods",))], PODS, None),
        ([PolicyRule(("get",), ("",), ("pods",))], PODS, PolicyRule(("list",), ("",), ("pods",))),
        ([PolicyRule(("get",), ("",), ("pods",), ("a",))], PolicyRule(("get",), ("",), ("pods",), ("a",)), None),
        (
            [PolicyRule(("get",), ("",), ("pods",), ("a",))],
            PolicyRule(("get",), ("",), ("pods",)),
            PolicyRule(("get",), ("",), ("pods",)),
        ),
        (
            [PolicyRule(("get",), ("",), ("pods",), ("a",))],
            PolicyRule(("get",), ("",), ("pods",), ("a", "b")),
            PolicyRule(("get",), ("",), ("pods",), ("b",)),
        ),
        ([PolicyRule(("get",), ("",), ("pods",))], PolicyRule(("get",), ("",), ("pods",), ("a",)), None),
        ([PolicyRule(("get",), ("*",), ("*/log",))], PolicyRule(("get",), ("",), ("pods/log",)), None),
        (
            [PolicyRule(("get",), ("*",), ("pods/log",))],
            PolicyRule(("get",), ("",), ("*/log",)),
            PolicyRule(("get",), ("",), ("*/log",)),
        ),
        ([PolicyRule(("get",), ("a", "b"), ("x",))], PolicyRule(("get",), ("*",), ("x",)), PolicyRule(("get",), ("*",), ("x",))),
        ([PolicyRule(("get",), urls=("/a/*",))], PolicyRule(("get",), urls=("/a/b", "/a/*")), None),
        ([PolicyRule(("get",), urls=("/a/*",))], PolicyRule(("get",), urls=("/a*",)), PolicyRule(("get",), urls=("/a*",))),
        ([ADMIN], PolicyRule(("get",), urls=("/a",)), PolicyRule(("get",), urls=("/a",))),
    ],
)
def test_rules_that_are_not_held_are_not_covered(held: list[PolicyRule], requested: PolicyRule, missing: PolicyRule | None) -> None:
    assert escalation.uncovered_rules(held, [requested]) == ([] if missing is None else [missing])
