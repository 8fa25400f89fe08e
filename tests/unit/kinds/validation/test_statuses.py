"""Validation of statuses, whoever writes them. Those of Jobs and CertificateSigningRequests have tests of their own."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import sample

Causes = list[tuple[str, str]]
CONDITION = {"type": "A", "status": "True", "reason": "Because", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def causes(problems: Any) -> Causes:
    return sorted({(problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems})


def written(kind: str, status: dict[str, Any], before: dict[str, Any] | None = None, **spec: Any) -> Causes:
    key, new = sample(kind, status=status, **spec)
    _, old = sample(kind, status=before or {}, **spec)
    return causes(validation.status(GroupVersionKind(*key), new, old))


def refused(*fields: str, reason: str = "Invalid") -> Causes:
    return sorted((f"status.{field}", reason) for field in fields)


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("Deployment", {"replicas": 2, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 1, "unavailableReplicas": 1}),
    ("Deployment", {"replicas": 2, "availableReplicas": 2}),
    ("ReplicaSet", {"replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 1, "observedGeneration": 3}),
    ("StatefulSet", {"replicas": 2, "currentReplicas": 1, "updatedReplicas": 1, "collisionCount": 0}),
    ("DaemonSet", {"desiredNumberScheduled": 2, "currentNumberScheduled": 1, "numberReady": 3}),
    ("HorizontalPodAutoscaler", {"currentReplicas": 0, "desiredReplicas": 3}),
    ("PodDisruptionBudget", {"disruptionsAllowed": 0, "conditions": [CONDITION, {**CONDITION, "type": "a.b/C"}]}),
    ("Ingress", {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "a.example.com"}, {"ip": "2001:db8::1"}]}}),
    ("FlowSchema", {"conditions": [{"type": "Dangling"}]}),
    ("APIService", {"conditions": [{"type": "Available", "status": "Unknown"}]}),
    ("VolumeAttachment", {"attached": True, "attachError": {"message": "m", "errorCode": 0}}),
]


@pytest.mark.parametrize(("kind", "status"), GOOD, ids=[kind for kind, _ in GOOD])
def test_good_statuses_have_no_problems(kind: str, status: dict[str, Any]) -> None:
    assert written(kind, status) == []
    assert written(kind, {}) == []


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        pytest.param("Deployment", {"replicas": 1, "updatedReplicas": 2}, refused("updatedReplicas"), id="more-than-all"),
        pytest.param(
            "Deployment",
            {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            refused("availableReplicas"),
            id="available-unready",
        ),
        pytest.param(
            "ReplicaSet", {"replicas": 2, "availableReplicas": 2}, refused("availableReplicas"), id="available-none-ready"
        ),
        pytest.param(
            "Deployment",
            {"unavailableReplicas": -1, "observedGeneration": -1, "terminatingReplicas": -1},
            refused("unavailableReplicas", "observedGeneration", "terminatingReplicas"),
            id="deployment-below",
        ),
        pytest.param(
            "Deployment",
            {"replicas": -1},
            refused("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
            id="less-than-nothing",
        ),
        pytest.param(
            "ReplicaSet",
            {"replicas": 1, "fullyLabeledReplicas": 2, "readyReplicas": 2},
            refused("fullyLabeledReplicas", "readyReplicas"),
            id="replicaset",
        ),
        pytest.param(
            "StatefulSet",
            {"currentReplicas": 1, "updatedReplicas": 1},
            refused("currentReplicas", "updatedReplicas"),
            id="statefulset",
        ),
        pytest.param(
            "DaemonSet", {"numberReady": -1, "numberMisscheduled": -2}, refused("numberReady", "numberMisscheduled"), id="daemonset"
        ),
        pytest.param(
            "HorizontalPodAutoscaler",
            {"currentReplicas": -1, "desiredReplicas": -1},
            refused("currentReplicas", "desiredReplicas"),
            id="autoscaler",
        ),
        pytest.param(
            "PodDisruptionBudget",
            {"disruptionsAllowed": -1, "expectedPods": -1, "currentHealthy": -1, "desiredHealthy": -1},
            refused("disruptionsAllowed", "expectedPods", "currentHealthy", "desiredHealthy"),
            id="budget",
        ),
        pytest.param(
            "PodDisruptionBudget",
            {"conditions": [CONDITION, CONDITION]},
            refused("conditions[1].type", reason="Duplicate"),
            id="condition-twice",
        ),
        pytest.param(
            "Ingress",
            {"loadBalancer": {"ingress": [{"ip": "x"}, {"hostname": "1.2.3.4"}, {"hostname": "A_"}]}},
            refused("loadBalancer.ingress[0].ip", "loadBalancer.ingress[1].hostname", "loadBalancer.ingress[2].hostname"),
            id="ingress",
        ),
        pytest.param(
            "FlowSchema", {"conditions": [{"status": "True"}]}, refused("conditions[0].type", reason="Required"), id="flow"
        ),
        pytest.param(
            "PriorityLevelConfiguration",
            {"conditions": [{"type": "A"}, {"type": "A"}]},
            refused("conditions[1].type", reason="Duplicate"),
            id="level",
        ),
        pytest.param(
            "APIService",
            {"conditions": [{"type": "A", "status": "x"}]},
            refused("conditions[0].status", reason="NotSupported"),
            id="api",
        ),
        pytest.param(
            "VolumeAttachment",
            {"attachError": {"errorCode": -1}, "detachError": {"message": "a" * 1025}},
            [("status.attachError.errorCode", "Invalid"), ("status.detachError.message", "TooLong")],
            id="attachment",
        ),
        pytest.param(
            "VolumeAttachment",
            {"attachmentMetadata": {"a": "b" * 2**18}},
            refused("attachmentMetadata", reason="TooLong"),
            id="attachment-metadata",
        ),
    ],
)
def test_bad_statuses_are_refused(kind: str, status: dict[str, Any], expected: Causes) -> None:
    assert written(kind, status) == expected


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_collisions_do_not_become_fewer(kind: str) -> None:
    assert written(kind, {"collisionCount": 2}, {"collisionCount": 1}) == []
    assert written(kind, {"collisionCount": 1}, {"collisionCount": 2}) == refused("collisionCount")
    assert written(kind, {}, {"collisionCount": 1}) == refused("collisionCount")


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"type": "a b"}, "type", "Invalid"),
        ({"type": ""}, "type", "Invalid"),
        ({"status": "Perhaps"}, "status", "NotSupported"),
        ({"status": ""}, "status", "NotSupported"),
        ({"reason": ""}, "reason", "Required"),
        ({"reason": "not a word"}, "reason", "Invalid"),
        ({"lastTransitionTime": None}, "lastTransitionTime", "Required"),
        ({"observedGeneration": -1}, "observedGeneration", "Invalid"),
        ({"message": "a" * (2**15 + 1)}, "message", "TooLong"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_conditions_of_the_common_form(change: dict[str, Any], field: str, reason: str) -> None:
    found = written("PodDisruptionBudget", {"conditions": [{**CONDITION, **change}]})
    assert found == [(f"status.conditions[0].{field}", reason)]


def test_what_was_found_in_a_policy_says_what_and_where() -> None:
    key = ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy")
    status = {"typeChecking": {"expressionWarnings": [{}]}, "conditions": [{**CONDITION, "reason": ""}]}
    at = "status.typeChecking.expressionWarnings[0]"
    expected = [("status.conditions[0].reason", "Required"), (f"{at}.fieldRef", "Required"), (f"{at}.warning", "Required")]
    assert causes(validation.status(GroupVersionKind(*key), {"status": status}, {})) == expected


def test_addresses_of_an_ingress_that_it_has_already_are_kept() -> None:
    old = {"loadBalancer": {"ingress": [{"ip": "::ffff:1.2.3.4"}]}}
    assert written("Ingress", old, old) == []
    assert written("Ingress", old) == refused("loadBalancer.ingress[0].ip")
