"""By which FlowSchema requests are sorted."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.rbac.users import ANONYMOUS, AUTHENTICATED, MASTERS, User, service_account_user
from probate.kinds.flowcontrol import bootstrap_flows
from probate.kinds.flowcontrol.classification import Classifier, RequestTarget, seats

ANN = User("ann", (AUTHENTICATED,))
NODE = User("system:node:a", ("system:nodes", AUTHENTICATED))
MANAGER = User("system:kube-controller-manager", (AUTHENTICATED,))
PODS = RequestTarget("list", "", "pods", "default")
LEASES = RequestTarget("update", "coordination.k8s.io", "leases", "kube-system")


def seeded(resource: str) -> list[Object]:
    return [one.object for one in bootstrap_flows.bootstrap_objects() if one.resource == resource]


LEVELS = seeded(bootstrap_flows.LEVELS)
USUAL = Classifier(seeded(bootstrap_flows.SCHEMAS), LEVELS)


def schema(name: str, precedence: int, level: str = "system", **rule: Any) -> Object:
    everybody = [{"kind": "User", "user": {"name": "*"}}]
    spec = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
    return {"metadata": {"name": name}, "spec": {**spec, "rules": [{"subjects": everybody, **rule}]}}


def about(**changes: Any) -> Object:
    return {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], **changes}


def named(flow: Any) -> str | None:
    return None if flow is None else str(flow.schema["metadata"]["name"])


@pytest.mark.parametrize(
    ("user", "asked", "expected"),
    [
        pytest.param(User("root", (MASTERS,)), PODS, "exempt", id="masters"),
        pytest.param(ANN, PODS, "global-default", id="anybody"),
        pytest.param(ANN, RequestTarget("get", path="/readyz"), "probes", id="probe"),
        pytest.param(ANN, RequestTarget("post", path="/readyz"), "global-default", id="no probe"),
        pytest.param(ANONYMOUS, RequestTarget("get", path="/version"), "global-default", id="nobody"),
        pytest.param(MANAGER, LEASES, "system-leader-election", id="election"),
        pytest.param(MANAGER, RequestTarget("update", "", "endpoints", "default"), "endpoint-controller", id="endpoints"),
        pytest.param(MANAGER, PODS, "kube-controller-manager", id="manager"),
        pytest.param(
            service_account_user("kube-system", "a"),
            RequestTarget("get", "", "configmaps", "x"),
            "workload-leader-election",
            id="workload's",
        ),
        pytest.param(service_account_user("kube-system", "a"), PODS, "kube-system-service-accounts", id="account of the system"),
        pytest.param(service_account_user("default", "a"), PODS, "service-accounts", id="account"),
        pytest.param(NODE, RequestTarget("patch", "", "nodes/status"), "system-node-high", id="health of a node"),
        pytest.param(NODE, PODS, "system-nodes", id="node"),
    ],
)
def test_usual_flows(user: User, asked: RequestTarget, expected: str) -> None:
    assert named(USUAL.flow_of(user, asked)) == expected


@pytest.mark.parametrize(
    ("rule", "asked", "is_meant"),
    [
        pytest.param(about(), PODS, True, id="in a namespace"),
        pytest.param(about(), PODS._replace(namespace=""), False, id="in none"),
        pytest.param(about(clusterScope=True), PODS._replace(namespace=""), True, id="in none as well"),
        pytest.param(about(namespaces=["a"]), PODS, False, id="in another"),
        pytest.param(about(verbs=["get"]), PODS, False, id="verb"),
        pytest.param(about(apiGroups=["apps"]), PODS, False, id="group"),
        pytest.param(about(resources=["pods"]), PODS._replace(resource="pods/status"), False, id="part"),
        pytest.param(about(), RequestTarget("get", path="/x"), False, id="path"),
    ],
)
def test_rules_of_resources(rule: Object, asked: RequestTarget, is_meant: bool) -> None:
    made = Classifier([schema("x", 1, resourceRules=[rule])], LEVELS)
    assert (named(made.flow_of(ANN, asked)) == "x") is is_meant


@pytest.mark.parametrize(("url", "is_meant"), [("*", True), ("/a/b", True), ("/a/*", True), ("/a", False), ("/b/*", False)])
def test_rules_of_paths(url: str, is_meant: bool) -> None:
    made = Classifier([schema("x", 1, nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": [url]}])], LEVELS)
    assert (named(made.flow_of(ANN, RequestTarget("get", path="/a/b"))) == "x") is is_meant


def test_precedence_comes_first_and_then_the_name() -> None:
    made = [schema(name, order, resourceRules=[about()]) for name, order in (("c", 9), ("b", 5), ("a", 5))]
    assert named(Classifier(made, LEVELS).flow_of(ANN, PODS)) == "a"


def test_dangling_flow_schema_is_ignored() -> None:
    made = [schema("a", 1, "nowhere", resourceRules=[about()]), schema("b", 2, resourceRules=[about()])]
    assert named(Classifier(made, LEVELS).flow_of(ANN, PODS)) == "b"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (User("root", (MASTERS,)), "exempt"),
        (ANN, "global-default"),
        (service_account_user("default", "a"), "service-accounts"),
        (service_account_user("kube-system", "a"), None),
        (NODE, None),
    ],
    ids=["masters", "anybody", "account", "account of the system", "node"],
)
def test_most_users_have_one_flow_for_all_resources(user: User, expected: str | None) -> None:
    assert named(USUAL.only_flow_of(user)) == expected


def test_levels_share_what_there_is() -> None:
    found = seats(LEVELS, 400)
    assert found["exempt"] == 0
    assert found["workload-low"] == 164  # of 245 shares, 100
    assert seats([], 400) == {}
