"""What a single rule allows: one line a case."""

from __future__ import annotations

import pytest

from probate.api.rbac import escalation, policy_rules
from probate.api.rbac.policy_rules import Ask, AskPath, Rule

PODS = Rule(("get", "list"), ("",), ("pods",))


@pytest.mark.parametrize(
    ("rule", "ask", "allowed"),
    [
        (PODS, Ask("get", "", "pods", name="a"), True),
        (PODS, Ask("list", "", "pods"), True),
        (PODS, Ask("watch", "", "pods"), False),
        (PODS, Ask("get", "apps", "pods"), False),
        (PODS, Ask("get", "", "services"), False),
        (PODS, Ask("get", "", "pods", "log", name="a"), False),
        (Rule(("*",), ("",), ("pods",)), Ask("anything", "", "pods"), True),
        (Rule(("get",), ("*",), ("pods",)), Ask("get", "metrics.k8s.io", "pods"), True),
        (Rule(("get",), ("",), ("*",)), Ask("get", "", "secrets"), True),
        (Rule(("get",), ("",), ("*",)), Ask("get", "", "pods", "log"), True),
        (Rule(("get",), ("",), ("pods/log",)), Ask("get", "", "pods", "log"), True),
        (Rule(("get",), ("",), ("pods/log",)), Ask("get", "", "pods"), False),
        (Rule(("update",), ("*",), ("*/scale",)), Ask("update", "apps", "deployments", "scale"), True),
        (Rule(("update",), ("*",), ("*/scale",)), Ask("update", "apps", "deployments"), False),
        (Rule(("update",), ("*",), ("*/scale",)), Ask("update", "apps", "deployments", "status"), False),
        (Rule(("update",), ("*",), ("*/*",)), Ask("update", "apps", "deployments", "status"), False),
        (Rule(("get",), ("",), ("pods/*",)), Ask("get", "", "pods", "log"), False),
        (Rule(("get",), ("",), ("pods",), ("a",)), Ask("get", "", "pods", name="a"), True),
        (Rule(("get",), ("",), ("pods",), ("a",)), Ask("get", "", "pods", name="b"), False),
        (Rule(("list",), ("",), ("pods",), ("a",)), Ask("list", "", "pods"), False),
        (Rule(("create",), ("",), ("pods",), ("a",)), Ask("create", "", "pods"), False),
        (Rule(("get",), ("",), ("pods",), ("*",)), Ask("get", "", "pods", name="b"), False),
        (Rule(("get",), urls=("*",)), Ask("get", "", "pods"), False),
    ],
)
def test_resources(rule: Rule, ask: Ask, *, allowed: bool) -> None:
    assert policy_rules.allows(rule, ask) is allowed


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
    assert policy_rules.allows_path(Rule(("get",), urls=(urls,)), AskPath("get", path)) is allowed
    assert not policy_rules.allows_path(Rule(("post",), urls=(urls,)), AskPath("get", path))


ADMIN = Rule(("*",), ("*",), ("*",))


@pytest.mark.parametrize(
    ("held", "wanted", "missing"),
    [
        ([ADMIN], PODS, None),
        ([PODS], ADMIN, ADMIN),
        ([PODS], PODS, None),
        ([Rule(("get",), ("",), ("pods",)), Rule(("list",), ("",), ("pods",))], PODS, None),
        ([Rule(("get",), ("",), ("pods",))], PODS, Rule(("list",), ("",), ("pods",))),
        ([Rule(("get",), ("",), ("pods",), ("a",))], Rule(("get",), ("",), ("pods",), ("a",)), None),
        ([Rule(("get",), ("",), ("pods",), ("a",))], Rule(("get",), ("",), ("pods",)), Rule(("get",), ("",), ("pods",))),
        (
            [Rule(("get",), ("",), ("pods",), ("a",))],
            Rule(("get",), ("",), ("pods",), ("a", "b")),
            Rule(("get",), ("",), ("pods",), ("b",)),
        ),
        ([Rule(("get",), ("",), ("pods",))], Rule(("get",), ("",), ("pods",), ("a",)), None),
        ([Rule(("get",), ("*",), ("*/log",))], Rule(("get",), ("",), ("pods/log",)), None),
        ([Rule(("get",), ("*",), ("pods/log",))], Rule(("get",), ("",), ("*/log",)), Rule(("get",), ("",), ("*/log",))),
        ([Rule(("get",), ("a", "b"), ("x",))], Rule(("get",), ("*",), ("x",)), Rule(("get",), ("*",), ("x",))),
        ([Rule(("get",), urls=("/a/*",))], Rule(("get",), urls=("/a/b", "/a/*")), None),
        ([Rule(("get",), urls=("/a/*",))], Rule(("get",), urls=("/a*",)), Rule(("get",), urls=("/a*",))),
        ([ADMIN], Rule(("get",), urls=("/a",)), Rule(("get",), urls=("/a",))),
    ],
)
def test_nobody_hands_on_what_they_do_not_have(held: list[Rule], wanted: Rule, missing: Rule | None) -> None:
    assert escalation.uncovered(held, [wanted]) == ([] if missing is None else [missing])
