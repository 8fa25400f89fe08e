"""Statuses: the few things that may not stand in one, or may not change."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from probate.kinds.core import cluster_status_validation

Causes = list[tuple[str, str]]


def told(kind: str, status: dict[str, Any], before: dict[str, Any] | None = None, **parts: Any) -> Causes:
    new, old = ({"metadata": {}, **parts, "status": one} for one in (status, before or {}))
    problems = validation.status(GroupVersionKind("", "v1", kind), new, old)
    return sorted({(problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems})


STATUSES: list[tuple[str, dict[str, Any], dict[str, Any], Causes]] = [
    ("Pod", {"qosClass": "Guaranteed"}, {}, [("status.qosClass", "Invalid")]),
    ("Pod", {"conditions": [{"type": "Ready"}, {"type": "a b"}]}, {}, [("metadata.conditions[1].Type", "Invalid")]),
    ("Pod", {"nominatedNodeName": "A_"}, {}, [("status.nominatedNodeName", "Invalid")]),
    ("Pod", {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, {}, []),
    ("Pod", {"podIPs": [{"ip": "x"}]}, {}, [("status.podIPs[0]", "Invalid")]),
    ("Pod", {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}, {}, [("status.podIPs", "Invalid")]),
    ("Pod", {"podIPs": [{"ip": "1.1.1.1"}] * 2}, {}, [("status.podIPs", "Invalid"), ("status.podIPs[1]", "Duplicate")]),
    ("Pod", {"hostIP": "1.1.1.1", "hostIPs": [{"ip": "1.1.1.1"}]}, {}, []),
    ("Pod", {"hostIP": "1.1.1.1", "hostIPs": [{"ip": "1.1.1.2"}]}, {}, [("status.hostIPs[0].ip", "Invalid")]),
    ("Pod", {"resourceClaimStatuses": [{"name": "x"}]}, {}, [("status.resourceClaimStatuses[0].name", "Invalid")]),
    ("Pod", {"resourceClaimStatuses": [{"name": "x"}]}, {"spec": {"resourceClaims": [{"name": "x"}]}}, []),
    ("Namespace", {"phase": "Active"}, {}, []),
    ("Namespace", {"phase": "Terminating"}, {}, [("status.Phase", "Invalid")]),
    ("Namespace", {"phase": "Active"}, {"metadata": {"deletionTimestamp": "now"}}, [("status.Phase", "Invalid")]),
    ("Namespace", {"phase": "Terminating"}, {"metadata": {"deletionTimestamp": "now"}}, []),
    ("Node", {"capacity": {"cpu": "1500m", "pods": "110"}}, {}, []),
    ("Node", {"capacity": {"cpu": "-1"}}, {}, [("status.capacity.cpu", "Invalid")]),
    ("Node", {"allocatable": {"a.com/b": "500m"}}, {}, [("status.allocatable.a.com/b", "Invalid")]),
    ("Node", {"addresses": [{"type": "InternalIP", "address": "1.1.1.1"}] * 2}, {}, [("status.addresses[1]", "Duplicate")]),
    ("PersistentVolumeClaim", {"capacity": {"storage": "-1"}}, {}, [("status.capacity[storage]", "Invalid")]),
    (
        "PersistentVolumeClaim",
        {"allocatedResourceStatuses": {"storage": "Soon"}},
        {},
        [("status.allocatedResourceStatus", "NotSupported")],
    ),
    (
        "PersistentVolumeClaim",
        {"allocatedResourceStatuses": {"storage": "NodeResizePending", "a.com/b": "NodeResizePending"}},
        {},
        [],
    ),
    ("PersistentVolumeClaim", {"allocatedResources": {"cpu": "1"}}, {}, [("status.allocatedResources", "NotSupported")]),
    ("ResourceQuota", {"hard": {"cpu": "1"}, "used": {"cpu": "0"}}, {}, []),
    (
        "ResourceQuota",
        {"hard": {"foo": "1"}, "used": {"pods": "-1"}},
        {},
        [("status.hard[foo]", "Invalid"), ("status.used[pods]", "Invalid")],
    ),
    ("ReplicationController", {"replicas": 2, "readyReplicas": 2, "availableReplicas": 1}, {}, []),
    ("ReplicationController", {"replicas": 1, "readyReplicas": 2}, {}, [("status.readyReplicas", "Invalid")]),
    (
        "ReplicationController",
        {"replicas": 3, "readyReplicas": 1, "availableReplicas": 2},
        {},
        [("status.availableReplicas", "Invalid")],
    ),
    ("ReplicationController", {"observedGeneration": -1}, {}, [("status.observedGeneration", "Invalid")]),
]


@pytest.mark.parametrize(("kind", "status", "parts", "expected"), STATUSES, ids=lambda value: str(value)[:60])
def test_invalid_statuses_are_refused(kind: str, status: dict[str, Any], parts: dict[str, Any], expected: Causes) -> None:
    assert told(kind, status, **parts) == expected


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ({"ip": "1.1.1.1", "ipMode": "VIP"}, []),
        ({"ip": "x"}, [("ip", "Invalid")]),
        ({"ip": "1.1.1.1", "ipMode": "Other"}, [("ipMode", "NotSupported")]),
        ({"hostname": "a.b", "ipMode": "VIP"}, [("ipMode", "Forbidden")]),
        ({"hostname": "1.1.1.1"}, [("hostname", "Invalid")]),
        ({"hostname": "A_"}, [("hostname", "Invalid")]),
    ],
    ids=str,
)
def test_where_a_load_balancer_is(ingress: dict[str, Any], expected: Causes) -> None:
    status = {"loadBalancer": {"ingress": [ingress]}}
    places = [(f"status.loadBalancer.ingress[0].{field}", reason) for field, reason in expected]
    assert told("Service", status, spec={"type": "LoadBalancer"}) == places
    assert told("Service", status, spec={"type": "ClusterIP"}) == [("status.loadBalancer.ingress", "Forbidden")]


def states(name: str, state: dict[str, Any]) -> dict[str, Any]:
    return {name: [{"name": "c", "state": state}]}


@pytest.mark.parametrize(
    ("field", "spec", "code", "is_refused"),
    [
        ("containerStatuses", {"restartPolicy": "Never"}, 1, True),
        ("containerStatuses", {"restartPolicy": "OnFailure"}, 0, True),
        ("containerStatuses", {"restartPolicy": "OnFailure"}, 1, False),
        ("containerStatuses", {"restartPolicy": "Always"}, 0, False),
        ("containerStatuses", {"restartPolicy": "Never", "containers": [{"name": "c", "restartPolicy": "Always"}]}, 0, False),
        (
            "containerStatuses",
            {"restartPolicy": "Never", "containers": [{"name": "d", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
            0,
            False,
        ),
        ("initContainerStatuses", {"restartPolicy": "Never"}, 0, True),
        (
            "initContainerStatuses",
            {"restartPolicy": "Never", "initContainers": [{"name": "c", "restartPolicy": "Always"}]},
            0,
            False,
        ),
        ("ephemeralContainerStatuses", {"restartPolicy": "Always"}, 1, True),
    ],
    ids=lambda value: str(value)[:70],
)
def test_what_ended_for_good_does_not_run_again(field: str, spec: dict[str, Any], code: int, is_refused: bool) -> None:
    before, now = states(field, {"terminated": {"exitCode": code}}), states(field, {"running": {}})
    assert told("Pod", now, before, spec=spec) == ([(f"status.{field}[0].state", "Forbidden")] if is_refused else [])
    assert told("Pod", before, before, spec=spec) == []


def test_finalizers_of_a_namespace_are_named_as_they_are_on_create() -> None:
    namespace = {"spec": {"finalizers": ["kubernetes", "example.com/a", "bad"]}}
    assert [problem.field for problem in cluster_status_validation.check_finalize(namespace, {})] == ["spec.finalizers[2]"]
