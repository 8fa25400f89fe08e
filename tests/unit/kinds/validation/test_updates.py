"""Fields of built-in kinds that may not change, and those that may."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import CLAIM, JOB_TEMPLATE, TEMPLATE, sample

Causes = list[tuple[str, str]]
CLASS = "volume.beta.kubernetes.io/storage-class"
CSI = {"driver": "d", "volumeHandle": "h"}
SECRET = {"name": "s", "namespace": "n"}
BALANCED = {"spec__type": "LoadBalancer", "spec__externalTrafficPolicy": "Local", "spec__healthCheckNodePort": 30222}
BOUND = {"status__phase": "Bound", "status__capacity": {"storage": "1Gi"}}


def updated(kind: str, old: dict[str, Any], changes: dict[str, Any]) -> Causes:
    key, before = sample(kind, **old)
    _, after = sample(kind, **old, **changes) if not old.keys() & changes.keys() else sample(kind, **{**old, **changes})
    problems = validation.update(GroupVersionKind(*key), after, before)
    return sorted((problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems)


def on(label: str) -> dict[str, Any]:
    """The affinity of a volume that is where nodes have this label."""
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": label, "operator": "Exists"}]}]}}


@pytest.mark.parametrize(
    ("kind", "old", "changes", "expected"),
    [
        ("Deployment", {}, {"spec__replicas": 5, "spec__template__metadata__annotations": {"a": "b"}}, []),
        ("Deployment", {}, {"spec__selector": {"matchLabels": {"app": "a"}}}, [("spec.selector", "Invalid")]),
        ("DaemonSet", {}, {"spec__selector": {"matchLabels": {"app": "a"}}}, [("spec.selector", "Invalid")]),
        ("ReplicaSet", {}, {"spec__selector": {"matchLabels": {"app": "a"}}}, [("spec.selector", "Invalid")]),
        ("StatefulSet", {}, {"spec__replicas": 5, "spec__updateStrategy": {"type": "OnDelete"}, "spec__minReadySeconds": 1}, []),
        ("StatefulSet", {}, {"spec__serviceName": "other"}, [("spec", "Forbidden")]),
        ("ControllerRevision", {}, {"revision": 2}, []),
        ("ControllerRevision", {}, {"data": {"a": 2}}, [("data", "Invalid")]),
        ("Job", {}, {"spec__parallelism": 5, "spec__suspend": True}, []),
        ("Job", {}, {"spec__template": {**JOB_TEMPLATE, "metadata": {"labels": {"b": "c"}}}}, [("spec.template", "Invalid")]),
        ("Job", {}, {"spec__completions": 4}, [("spec.completions", "Invalid")]),
        ("Job", {"spec__parallelism": 3}, {"spec__completions": 4, "spec__parallelism": 4}, []),
        ("Job", {"spec__suspend": True}, {"spec__template__spec__nodeSelector": {"a": "b"}}, []),
        ("Job", {}, {"spec__template__spec__nodeSelector": {"a": "b"}}, [("spec.template", "Invalid")]),
        ("Service", {}, {"spec__clusterIP": "10.0.0.2", "spec__clusterIPs": ["10.0.0.2"]}, [("spec.clusterIPs[0]", "Invalid")]),
        ("Service", {}, {"spec__selector": {"b": "c"}}, []),
        ("Service", {}, {"spec": {"type": "ExternalName", "externalName": "example.com"}}, []),
        ("CronJob", {"metadata__name": "a" * 60}, {"spec__suspend": True}, []),
        ("ConfigMap", {}, {"data": {"b": "c"}}, []),
        ("ConfigMap", {"immutable": True}, {"data": {"b": "c"}}, [("data", "Forbidden")]),
        (
            "ConfigMap",
            {"immutable": True},
            {"immutable": None, "binaryData": {}},
            [("binaryData", "Forbidden"), ("immutable", "Forbidden")],
        ),
        ("ConfigMap", {}, {"immutable": True}, []),
        ("Secret", {"immutable": True}, {"data": {"tls.crt": "", "tls.key": ""}}, [("data", "Forbidden")]),
        ("Secret", {}, {"type": "Opaque"}, [("type", "Invalid")]),
        ("PersistentVolumeClaim", {}, {"spec__volumeName": "v"}, []),
        ("PersistentVolumeClaim", {"spec__volumeName": "v"}, {"spec__volumeName": "w"}, [("spec", "Forbidden")]),
        ("PersistentVolumeClaim", {}, {"spec__storageClassName": "slow"}, [("spec", "Forbidden")]),
        ("PersistentVolumeClaim", {"spec__storageClassName": None}, {"spec__storageClassName": "slow"}, []),
        ("PersistentVolumeClaim", {}, {"spec__resources__requests": {"storage": "2Gi"}}, [("spec", "Forbidden")]),
        ("PersistentVolumeClaim", BOUND, {"spec__resources__requests": {"storage": "2Gi"}}, []),
        ("PersistentVolumeClaim", {}, {"spec__resources__requests": {"storage": "1024Mi"}}, []),
        (
            "PersistentVolumeClaim",
            BOUND,
            {"spec__resources__requests": {"storage": "1Mi"}},
            [("spec.resources.requests.storage", "Forbidden")],
        ),
        ("PersistentVolume", {}, {"spec__hostPath": {"path": "/y"}}, [("spec.persistentvolumesource", "Forbidden")]),
        ("PersistentVolume", {}, {"spec__volumeMode": "Block"}, [("volumeMode", "Invalid")]),
        ("PersistentVolume", {}, {"spec__capacity": {"storage": "2Gi"}}, []),
        ("PersistentVolume", {"spec__nodeAffinity": on("a")}, {"spec__nodeAffinity": on("b")}, [("nodeAffinity", "Invalid")]),
        (
            "PersistentVolume",
            {"spec__nodeAffinity": on("failure-domain.beta.kubernetes.io/zone")},
            {"spec__nodeAffinity": on("topology.kubernetes.io/zone")},
            [],
        ),
        (
            "PersistentVolume",
            {"spec__hostPath": None, "spec__csi": CSI},
            {"spec__csi": {**CSI, "controllerExpandSecretRef": SECRET}},
            [],
        ),
        (
            "PersistentVolume",
            {"spec__hostPath": None, "spec__csi": {**CSI, "controllerExpandSecretRef": SECRET}},
            {"spec__csi": CSI},
            [("spec.persistentvolumesource", "Forbidden")],
        ),
        (
            "PersistentVolume",
            {"spec__hostPath": None, "spec__csi": CSI, "spec__volumeAttributesClassName": "a"},
            {"spec__volumeAttributesClassName": None},
            [("spec.volumeAttributesClassName", "Forbidden")],
        ),
        ("PersistentVolumeClaim", BOUND, {"spec__resources__limits": {"storage": "9Gi"}}, [("spec", "Forbidden")]),
        ("PersistentVolumeClaim", {}, {"spec__resources__requests": {"storage": "1Mi"}}, [("spec", "Forbidden")]),
        (
            "PersistentVolumeClaim",
            {**BOUND, "spec__resources__requests": {"storage": "2Gi"}},
            {"spec__resources__requests": {"storage": "1Gi"}},
            [("spec.resources.requests.storage", "Forbidden")],
        ),
        (
            "PersistentVolumeClaim",
            {**BOUND, "spec__resources__requests": {"storage": "2Gi"}},
            {"spec__resources__requests": {"storage": "1536Mi"}},
            [],
        ),
        ("PersistentVolumeClaim", {}, {"spec__volumeMode": "Block"}, [("spec", "Forbidden"), ("volumeMode", "Invalid")]),
        ("PersistentVolumeClaim", {"spec__storageClassName": ""}, {"spec__storageClassName": "b"}, [("spec", "Forbidden")]),
        (
            "PersistentVolumeClaim",
            {"metadata__annotations": {CLASS: "a"}},
            {"metadata__annotations": {CLASS: "b"}},
            [(f"metadata.annotations.{CLASS}", "Invalid")],
        ),
        (
            "PersistentVolumeClaim",
            {"spec__storageClassName": None, "metadata__annotations": {CLASS: "a"}},
            {"spec__storageClassName": "a", "metadata__annotations": {}},
            [],
        ),
        (
            "PersistentVolumeClaim",
            {**BOUND, "spec__volumeAttributesClassName": "a"},
            {"spec__volumeAttributesClassName": ""},
            [("spec.volumeAttributesClassName", "Forbidden")],
        ),
        ("PersistentVolumeClaim", BOUND, {"spec__volumeAttributesClassName": "a"}, []),
        ("Service", BALANCED, {"spec__healthCheckNodePort": 30333}, [("spec.healthCheckNodePort", "Forbidden")]),
        ("Service", {}, {"spec__ipFamilies": ["IPv6"]}, [("spec.clusterIPs[0]", "Invalid")]),
        ("ConfigMap", {"immutable": True, "data": None}, {"data": {}}, [("data", "Forbidden")]),
        ("ConfigMap", {"immutable": True, "data": {}}, {"data": None}, []),
        ("Node", {}, {"spec__configSource": {}}, [("spec.configSource", "Invalid")]),
        ("Node", {"spec__externalID": "a"}, {"spec__externalID": "b"}, [("spec.externalID", "Forbidden")]),
        ("StorageClass", {}, {"provisioner": "example.com/q"}, [("provisioner", "Forbidden")]),
        (
            "StorageClass",
            {},
            {"parameters": {}, "reclaimPolicy": "Retain"},
            [("parameters", "Forbidden"), ("reclaimPolicy", "Forbidden")],
        ),
        ("StorageClass", {}, {"allowVolumeExpansion": True}, []),
        ("StorageClass", {}, {"volumeBindingMode": "Immediate"}, [("volumeBindingMode", "Invalid")]),
        ("RoleBinding", {}, {"roleRef__name": "other"}, [("roleRef", "Invalid")]),
        ("RoleBinding", {}, {"subjects": []}, []),
        ("ClusterRoleBinding", {}, {"roleRef__name": "other"}, [("roleRef", "Invalid")]),
        ("PriorityClass", {}, {"value": 6}, [("value", "Forbidden")]),
        ("PriorityClass", {}, {"description": "d"}, []),
        ("RuntimeClass", {}, {"handler": "i"}, [("handler", "Invalid")]),
        ("Node", {}, {"spec__unschedulable": True, "spec__taints": []}, []),
        ("Node", {}, {"spec__providerID": "q"}, [("spec.providerID", "Forbidden")]),
        ("Node", {}, {"spec__podCIDRs": ["10.1.0.0/24"]}, [("spec.podCIDRs", "Forbidden")]),
        ("ResourceQuota", {}, {"spec__scopes": []}, [("spec.scopes", "Invalid")]),
        ("EndpointSlice", {}, {"addressType": "FQDN", "endpoints": []}, [("addressType", "Invalid")]),
        ("IPAddress", {}, {"metadata__labels": {"a": "b"}}, []),
        ("IPAddress", {}, {"spec__parentRef__name": "other"}, [("spec.parentRef", "Invalid")]),
        ("IngressClass", {}, {"spec__controller": "example.com/d"}, [("spec.controller", "Invalid")]),
        ("CSIDriver", {}, {"spec__attachRequired": False}, [("spec.attachedRequired", "Invalid")]),
        ("CertificateSigningRequest", {}, {"spec__signerName": "example.com/other"}, [("spec", "Invalid")]),
        ("ReplicationController", {}, {"spec__selector": {"app": "a", "b": "c"}}, [("spec.template.metadata.labels", "Invalid")]),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_may_change(kind: str, old: dict[str, Any], changes: dict[str, Any], expected: Causes) -> None:
    assert updated(kind, old, changes) == expected


def test_a_problem_that_both_checks_find_is_reported_once() -> None:
    key, pod = sample("Pod", spec__containers__0__image="")
    problems = validation.update(GroupVersionKind(*key), pod, pod)
    assert [problem.field for problem in problems] == ["spec.containers[0].image"]


def test_empty_and_absent_are_the_same() -> None:
    key, old = sample(
        "StatefulSet", spec__template=TEMPLATE, spec__volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": CLAIM}]
    )
    _, new = sample("StatefulSet", spec__template=TEMPLATE)
    new["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "v", "labels": {}}, "spec": {**CLAIM, "volumeName": ""}}]
    assert validation.update(GroupVersionKind(*key), new, old) == []
