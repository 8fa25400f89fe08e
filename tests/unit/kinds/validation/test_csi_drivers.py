"""Storage and those who drive it; and what a RuntimeClass and an autoscaler say."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import sample

Causes = list[tuple[str, str]]


def refused(kind: str, **changes: Any) -> Causes:
    key, object_ = sample(kind, **changes)
    return sorted(
        {(one.field, one.reason.removeprefix("FieldValue")) for one in validation.create(GroupVersionKind(*key), object_)}
    )


def updated(kind: str, new: dict[str, Any], **old: Any) -> Causes:
    key, before = sample(kind, **old)
    _, after = sample(kind, **{**old, **new})
    return sorted(
        {(one.field, one.reason.removeprefix("FieldValue")) for one in validation.update(GroupVersionKind(*key), after, before)}
    )


def topologies(*terms: dict[str, list[str]]) -> dict[str, Any]:
    made = [{"matchLabelExpressions": [{"key": key, "values": values} for key, values in term.items()]} for term in terms]
    return {"allowedTopologies": made}


def driver(**more: Any) -> dict[str, Any]:
    return {"spec__drivers": [{"name": "d.example.com", "nodeID": "n", **more}]}


AT = "allowedTopologies[0].matchLabelExpressions[0]"
INLINE = {"persistentVolumeName": "v", "inlineVolumeSpec": {}}


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        pytest.param("StorageClass", topologies({"a": ["b"], "c": ["d"]}, {"a": ["d"]}), [], id="topologies"),
        pytest.param(
            "StorageClass", topologies({"a b": ["b", "b"]}), [(f"{AT}.key", "Invalid"), (f"{AT}.values[1]", "Duplicate")], id="term"
        ),
        pytest.param("StorageClass", topologies({"a": []}), [(f"{AT}.values", "Required")], id="no-values"),
        pytest.param(
            "StorageClass",
            topologies({"a": ["b", "c"]}, {"a": ["c", "b"]}),
            [("allowedTopologies[1].matchLabelExpressions", "Duplicate")],
            id="term-twice",
        ),
        pytest.param(
            "StorageClass",
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["b"]}] * 2}]},
            [("allowedTopologies[0].matchLabelExpressions[1].key", "Duplicate")],
            id="key-twice",
        ),
        pytest.param("CSINode", driver(nodeID="a" * 256, allocatable={"count": 0}, topologyKeys=["a", "b.c/d"]), [], id="node"),
        pytest.param("CSINode", driver(nodeID="a" * 257), [("spec.drivers[0].nodeID", "Invalid")], id="node-id"),
        pytest.param("CSINode", driver(allocatable={"count": -1}), [("spec.drivers[0].allocatable.count", "Invalid")], id="room"),
        pytest.param("CSINode", driver(topologyKeys=["a", "a"]), [("spec.drivers[0]", "Duplicate")], id="key"),
        pytest.param("CSINode", driver(topologyKeys=["a b"]), [("spec.drivers[0]", "Invalid")], id="bad-key"),
        pytest.param(
            "CSINode", driver(topologyKeys=[""]), [("spec.drivers[0]", "Invalid"), ("spec.drivers[0]", "Required")], id="no-key"
        ),
        pytest.param(
            "CSIDriver", {"spec__volumeLifecycleModes": ["Short"]}, [("spec.volumeLifecycleModes", "NotSupported")], id="mode"
        ),
        pytest.param(
            "CSIDriver",
            {"spec__tokenRequests": [{}, {"audience": ""}, {"audience": "b", "expirationSeconds": 599}]},
            [("spec.tokenRequests[1].audience", "Duplicate"), ("spec.tokenRequests[2].expirationSeconds", "Invalid")],
            id="tokens",
        ),
        pytest.param(
            "CSIDriver",
            {"spec__nodeAllocatableUpdatePeriodSeconds": 9},
            [("spec.nodeAllocatableUpdatePeriodSeconds", "Invalid")],
            id="period",
        ),
        pytest.param("CSIStorageCapacity", {"capacity": "-1"}, [("capacity", "Invalid")], id="capacity"),
        pytest.param("CSIStorageCapacity", {"storageClassName": ""}, [("storageClassName", "Invalid")], id="class"),
        pytest.param(
            "CSIStorageCapacity",
            {"nodeTopology": {"matchLabels": {"a b": "c"}}},
            [("nodeTopology.matchLabels", "Invalid")],
            id="topology",
        ),
        pytest.param("VolumeAttachment", {"spec__attacher": "A_"}, [("spec.attacher", "Invalid")], id="attacher"),
        pytest.param("VolumeAttachment", {"spec__source": INLINE}, [("spec.source", "Forbidden")], id="two-sources"),
        pytest.param(
            "VolumeAttachment",
            {"spec__source": {"persistentVolumeName": "A_"}},
            [("spec.source.persistentVolumeName", "Invalid")],
            id="volume",
        ),
        pytest.param(
            "RuntimeClass",
            {"handler": "", "scheduling": {"nodeSelector": {"a b": "c"}, "tolerations": [{"key": "a", "operator": "Like"}]}},
            [
                ("handler", "Invalid"),
                ("scheduling.nodeSelector", "Invalid"),
                ("scheduling.tolerations[0].operator", "NotSupported"),
            ],
            id="runtime",
        ),
        pytest.param(
            "RuntimeClass",
            {"scheduling": {"tolerations": [{"key": "a", "operator": "Exists"}] * 2}},
            [("scheduling.tolerations[1]", "Duplicate")],
            id="tolerated-twice",
        ),
    ],
)
def test_bad_fields_are_refused(kind: str, changes: dict[str, Any], expected: Causes) -> None:
    assert refused(kind, **changes) == expected


@pytest.mark.parametrize(
    ("kind", "new", "expected"),
    [
        pytest.param("CSINode", driver(allocatable={"count": 3}), [], id="room"),
        pytest.param("CSINode", driver(nodeID="m"), [("spec.drivers", "Invalid")], id="another-node"),
        pytest.param("CSINode", {"spec__drivers": [{"name": "e.example.com", "nodeID": "m"}]}, [], id="another-driver"),
        pytest.param("CSIStorageCapacity", {"capacity": "2Gi"}, [], id="capacity"),
        pytest.param("CSIStorageCapacity", {"storageClassName": "slow"}, [("storageClassName", "Invalid")], id="class"),
        pytest.param(
            "CSIStorageCapacity", {"nodeTopology": {"matchLabels": {"a": "b"}}}, [("nodeTopology", "Invalid")], id="topology"
        ),
    ],
)
def test_what_may_change(kind: str, new: dict[str, Any], expected: Causes) -> None:
    assert updated(kind, new) == expected


def test_names_of_an_attachment_that_is_there_are_kept() -> None:
    labels = {"metadata__labels": {"a": "b"}}
    assert updated("VolumeAttachment", labels, spec__attacher="A_", spec__source={"persistentVolumeName": "V_"}) == []


METRIC = {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 5}}
PODS = {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "1"}}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param({"type": "ContainerResource", "containerResource": METRIC}, {}, id="good"),
        pytest.param(
            {"type": "ContainerResource", "containerResource": {**METRIC, "name": "flops", "container": "A_"}},
            {"containerResource.container": "Invalid", "containerResource.name": "Invalid"},
            id="names",
        ),
        pytest.param(
            {"type": "Odd", "pods": {**PODS, "metric": {}}}, {"pods.metric.name": "Required", "type": "NotSupported"}, id="odd"
        ),
        pytest.param({"type": "Resource", "pods": PODS}, {"resource": "Required"}, id="another-source"),
        pytest.param({"type": "Pods", "pods": PODS, "resource": METRIC}, {"resource": "Forbidden"}, id="two-sources"),
    ],
)
def test_metrics(metric: dict[str, Any], expected: dict[str, str]) -> None:
    found = refused("HorizontalPodAutoscaler", spec__metrics=[metric])
    assert found == [(f"spec.metrics[0].{field}", reason) for field, reason in expected.items()]


def test_negative_tolerance_is_refused() -> None:
    found = refused("HorizontalPodAutoscaler", spec__behavior={"scaleUp": {"tolerance": "-100m"}, "scaleDown": {"tolerance": "0"}})
    assert found == [("spec.behavior.scaleUp.tolerance", "Invalid")]
