"""Built-in kinds: the refusals recorded from Kubernetes, and others of their kind."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api import metadata, names
from probate.api.field_errors import FieldError
from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import SAMPLES, Key, sample

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "refusals.json").read_text())
KINDS = {
    "configmaps": "ConfigMap",
    "pods": "Pod",
    "services": "Service",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "deployments": "Deployment",
    "jobs": "Job",
    "cronjobs": "CronJob",
    "priorityclasses": "PriorityClass",
    "rolebindings": "RoleBinding",
}


def is_about_an_object(case: dict[str, Any]) -> bool:
    request = case["request"]
    is_body = case["code"] == 422 and request["method"] == "POST" and "?" not in request["path"]
    return is_body and "customresourcedefinitions" not in request["path"]


CASES = [case for case in RECORDED if is_about_an_object(case)]


def causes(problems: list[FieldError]) -> list[tuple[str, str]]:
    return sorted((problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems)


def refused(kind: str, **changes: Any) -> list[tuple[str, str]]:
    key, object_ = sample(kind, **changes)
    return causes(validation.create(GroupVersionKind(*key), object_))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_kubernetes_refuses_is_refused_alike(case: dict[str, Any]) -> None:
    path = case["request"]["path"].strip("/").split("/")
    kind = KINDS[path[-1]]
    group, is_namespaced = ("", "{ns}" in path) if path[0] == "api" else (path[1], "{ns}" in path)
    body = case["request"]["body"]
    meta = {**body.get("metadata", {}), **({"namespace": "n"} if is_namespaced else {})}
    problems = metadata.validate_create(meta, is_namespaced=is_namespaced, name_rule=names.name_rule(group, kind))
    problems += validation.create(GroupVersionKind(group, "v1", kind), {**body, "metadata": meta})
    assert causes(problems) == sorted((cause["field"], cause["reason"].removeprefix("FieldValue")) for cause in case["causes"])


def test_enough_was_recorded() -> None:
    assert len(CASES) == 19


@pytest.mark.parametrize("key", SAMPLES, ids=lambda key: f"{key[2]}.{key[1]}")
def test_good_objects_have_no_problems(key: Key) -> None:
    object_ = {"metadata": {"name": "x", "namespace": "n"}, **SAMPLES[key]}
    assert validation.create(GroupVersionKind(*key), object_) == []
    assert validation.update(GroupVersionKind(*key), copy.deepcopy(object_), object_) == []


def test_kinds_without_rules_have_no_problems() -> None:
    assert validation.create(GroupVersionKind("example.com", "v1", "Thing"), {}) == []
    assert validation.update(GroupVersionKind("example.com", "v1", "Thing"), {"a": 1}, {}) == []


WORKLOADS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("Deployment", {"spec__replicas": -1}, [("spec.replicas", "Invalid")]),
    ("Deployment", {"spec__selector": {}}, [("spec.selector", "Invalid")]),
    (
        "Deployment",
        {"spec__selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        [("spec.selector", "Invalid"), ("spec.selector.matchExpressions[0].operator", "Invalid")],
    ),
    ("Deployment", {"spec__template__metadata__labels": {"a b": "c", "app": "a"}}, [("spec.template.labels", "Invalid")]),
    ("Deployment", {"spec__template__spec__restartPolicy": "Never"}, [("spec.template.spec.restartPolicy", "NotSupported")]),
    ("Deployment", {"spec__template__spec__activeDeadlineSeconds": 5}, [("spec.template.spec.activeDeadlineSeconds", "Forbidden")]),
    ("Deployment", {"spec__strategy__type": "Fast"}, [("spec.strategy", "NotSupported")]),
    ("Deployment", {"spec__strategy__type": "Recreate"}, [("spec.strategy.rollingUpdate", "Forbidden")]),
    ("Deployment", {"spec__strategy__rollingUpdate__maxSurge": "x"}, [("spec.strategy.rollingUpdate.maxSurge", "Invalid")]),
    (
        "Deployment",
        {"spec__strategy__rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}},
        [("spec.strategy.rollingUpdate.maxUnavailable", "Invalid")],
    ),
    (
        "Deployment",
        {"spec__strategy__rollingUpdate__maxUnavailable": "101%"},
        [("spec.strategy.rollingUpdate.maxUnavailable", "Invalid")],
    ),
    ("Deployment", {"spec__minReadySeconds": 600}, [("spec.progressDeadlineSeconds", "Invalid")]),
    ("ReplicaSet", {"spec__selector": None}, [("spec.selector", "Required"), ("spec.template.metadata.labels", "Invalid")]),
    ("DaemonSet", {"spec__selector": None}, [("spec.template.metadata.labels", "Invalid")]),
    ("DaemonSet", {"spec__updateStrategy__type": "Fast"}, [("spec.updateStrategy", "NotSupported")]),
    (
        "DaemonSet",
        {"spec__updateStrategy__rollingUpdate__maxUnavailable": 0},
        [("spec.updateStrategy.rollingUpdate.maxUnavailable", "Required")],
    ),
    ("StatefulSet", {"spec__podManagementPolicy": "Any"}, [("spec.podManagementPolicy", "Invalid")]),
    ("StatefulSet", {"spec__updateStrategy__type": "OnDelete"}, [("spec.updateStrategy.rollingUpdate", "Invalid")]),
    ("StatefulSet", {"spec__serviceName": "A"}, [("spec.serviceName", "Invalid")]),
    ("StatefulSet", {"spec__volumeClaimTemplates": []}, [("spec.template.spec.containers[0].volumeMounts[0].name", "NotFound")]),
    ("ReplicationController", {"spec__selector": {"x": "y"}}, [("spec.template.metadata.labels", "Invalid")]),
    ("ReplicationController", {"spec__template": None}, [("spec.template", "Required")]),
    ("ControllerRevision", {"revision": -1, "data": None}, [("data", "Required"), ("revision", "Invalid")]),
    ("Job", {"spec__template__spec__restartPolicy": "OnFailure"}, [("spec.template.spec.restartPolicy", "Invalid")]),
    (
        "Job",
        {"spec__parallelism": -1, "spec__backoffLimit": -1},
        [("spec.backoffLimit", "Invalid"), ("spec.parallelism", "Invalid")],
    ),
    ("Job", {"spec__completions": None}, [("spec.completions", "Required")]),
    ("Job", {"spec__completionMode": "Some"}, [("spec.completionMode", "NotSupported")]),
    ("Job", {"metadata__name": "a" * 63}, [("metadata.name", "Invalid")]),
    ("Job", {"spec__selector": {"matchLabels": {"app": "a"}}}, [("spec.selector", "Invalid")]),
    ("CronJob", {"spec__schedule": ""}, [("spec.schedule", "Required")]),
    ("CronJob", {"spec__schedule": "61 * * * *"}, [("spec.schedule", "Invalid")]),
    ("CronJob", {"spec__schedule": "TZ=UTC 1 * * * *"}, [("spec.schedule", "Invalid")]),
    ("CronJob", {"spec__timeZone": "Local"}, [("spec.timeZone", "Invalid")]),
    ("CronJob", {"spec__timeZone": "Nowhere/Land"}, [("spec.timeZone", "Invalid")]),
    ("CronJob", {"spec__concurrencyPolicy": "Maybe"}, [("spec.concurrencyPolicy", "NotSupported")]),
    ("CronJob", {"metadata__name": "a" * 53}, [("metadata.name", "Invalid")]),
    (
        "CronJob",
        {"spec__jobTemplate__spec__template__spec__restartPolicy": "Always"},
        [("spec.jobTemplate.spec.template.spec.restartPolicy", "Required")],
    ),
]

SOURCES = "service.beta.kubernetes.io/load-balancer-source-ranges"
SERVICES: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("Service", {"spec__ports": []}, [("spec.ports", "Required")]),
    ("Service", {"spec": {"clusterIP": "None"}}, []),
    ("Service", {"spec__type": "Special", "spec__externalTrafficPolicy": ""}, [("spec.type", "NotSupported")]),
    ("Service", {"spec__ports__0__name": ""}, [("spec.ports[0].name", "Required")]),
    ("Service", {"spec__ports__1__name": "a"}, [("spec.ports[1].name", "Duplicate")]),
    ("Service", {"spec__ports__0__name": "a.b"}, [("spec.ports[0].name", "Invalid")]),
    ("Service", {"spec__ports__1__protocol": "ICMP"}, [("spec.ports[1].protocol", "NotSupported")]),
    ("Service", {"spec__ports__1__targetPort": "no_port"}, [("spec.ports[1].targetPort", "Invalid")]),
    ("Service", {"spec__ports__1__port": 80, "spec__ports__1__protocol": "TCP"}, [("spec.ports[1]", "Duplicate")]),
    ("Service", {"spec__type": "ClusterIP", "spec__externalTrafficPolicy": ""}, [("spec.ports[0].nodePort", "Forbidden")]),
    ("Service", {"spec__selector": {"a b": "c"}}, [("spec.selector", "Invalid")]),
    ("Service", {"spec__sessionAffinity": "Cookie"}, [("spec.sessionAffinity", "NotSupported")]),
    (
        "Service",
        {"spec__sessionAffinityConfig__clientIP__timeoutSeconds": 86401},
        [("spec.sessionAffinityConfig.clientIP.timeoutSeconds", "Invalid")],
    ),
    ("Service", {"spec": {"type": "ExternalName"}}, [("spec.externalName", "Required")]),
    ("Service", {"spec": {"type": "ExternalName", "externalName": "a_b"}}, [("spec.externalName", "Invalid")]),
    ("Service", {"spec__clusterIP": "abc", "spec__clusterIPs": ["abc"]}, [("spec.clusterIPs[0]", "Invalid")]),
    (
        "Service",
        {"spec__externalIPs": ["127.0.0.1", "x"]},
        [("spec.externalIPs[0]", "Invalid"), ("spec.externalIPs[1]", "Invalid")],
    ),
    ("Service", {"spec__loadBalancerClass": "a/b"}, [("spec.loadBalancerClass", "Forbidden")]),
    ("Service", {"spec__clusterIP": ""}, [("spec.clusterIPs", "Invalid")]),
    (
        "Service",
        {"spec": {"type": "ExternalName", "externalName": "a.b", "ipFamilies": ["IPv4"]}},
        [("spec.ipFamilies", "Forbidden")],
    ),
    ("Service", {"spec__ipFamilies": ["IPv5"]}, [("spec.ipFamilies[0]", "NotSupported")]),
    (
        "Service",
        {"spec__clusterIP": "None", "spec__clusterIPs": ["None", "10.96.0.78"]},
        [("spec.clusterIPs", "Invalid")],
    ),
    (
        "Service",
        {"spec__clusterIP": "10.0.0.1", "spec__clusterIPs": ["10.0.0.1", "10.0.0.2"], "spec__ipFamilies": ["IPv4", "IPv4"]},
        [("spec.clusterIPs", "Invalid")],
    ),
    ("Service", {"spec__ipFamilies": ["IPv6"]}, [("spec.clusterIPs[0]", "Invalid")]),
    (
        "Service",
        {"spec__ipFamilies": ["IPv4", "IPv6"], "spec__ipFamilyPolicy": "SingleStack"},
        [("spec.ipFamilyPolicy", "Invalid")],
    ),
    ("Service", {"spec__ipFamilies": ["IPv5"], "spec__ports": []}, [("spec.ipFamilies[0]", "NotSupported")]),
    (
        "Service",
        {"spec__externalIPs": ["239.1.1.1", "224.0.0.1", "ff02::1"]},
        [("spec.externalIPs[1]", "Invalid"), ("spec.externalIPs[2]", "Invalid")],
    ),
    ("Service", {"spec__ports__0__appProtocol": ""}, [("spec.ports[0].appProtocol", "Invalid")]),
    ("Service", {"spec__trafficDistribution": ""}, [("spec.trafficDistribution", "NotSupported")]),
    (
        "Service",
        {"spec__loadBalancerSourceRanges": ["10.0.0.0/8", "10.0.0.0/255.0.0.0", "10.0.0.1/8"]},
        [
            ("spec.LoadBalancerSourceRanges", "Forbidden"),
            ("spec.LoadBalancerSourceRanges[1]", "Invalid"),
            ("spec.LoadBalancerSourceRanges[2]", "Invalid"),
        ],
    ),
    (
        "Service",
        {"spec__type": "LoadBalancer", "metadata__annotations": {SOURCES: "10.0.0.0/8, x"}},
        [(f"metadata.annotations[{SOURCES}]", "Invalid")],
    ),
    (
        "Service",
        {"metadata__annotations": {"service.kubernetes.io/topology-aware-hints": "a", "service.kubernetes.io/topology-mode": "b"}},
        [("metadata.annotations[service.kubernetes.io/topology-mode]", "Invalid")],
    ),
    ("Endpoints", {"subsets__0__addresses": []}, [("subsets[0]", "Required")]),
    ("Endpoints", {"subsets__0__addresses__0__ip": "239.0.0.1"}, []),
    ("Endpoints", {"subsets__0__addresses__0__nodeName": ""}, [("subsets[0].addresses[0].nodeName", "Invalid")]),
    ("Endpoints", {"subsets__0__addresses__0__ip": "127.0.0.1"}, [("subsets[0].addresses[0].ip", "Invalid")]),
    ("Endpoints", {"subsets__0__ports__0__port": 0}, [("subsets[0].ports[0].port", "Invalid")]),
    ("EndpointSlice", {"addressType": ""}, [("addressType", "Required")]),
    ("EndpointSlice", {"addressType": "IPv6"}, [("endpoints[0].addresses[0]", "Invalid")]),
    ("EndpointSlice", {"endpoints__0__addresses": []}, [("endpoints[0].addresses", "Required")]),
    ("EndpointSlice", {"endpoints": [{"addresses": ["1.2.3.4"]}] * 1001}, [("endpoints", "TooMany")]),
    ("Ingress", {"spec__rules": []}, [("spec", "Invalid")]),
    ("Ingress", {"spec__rules__0__host": "1.2.3.4"}, [("spec.rules[0].host", "Invalid")]),
    ("Ingress", {"spec__rules__0__http__paths": []}, [("spec.rules[0].http.paths", "Required")]),
    ("Ingress", {"spec__rules__0__http__paths__0__pathType": None}, [("spec.rules[0].http.paths[0].pathType", "Required")]),
    ("Ingress", {"spec__rules__0__http__paths__0__path": "x"}, [("spec.rules[0].http.paths[0].path", "Invalid")]),
    ("Ingress", {"spec__rules__0__http__paths__0__backend": {}}, [("spec.rules[0].http.paths[0].backend", "Invalid")]),
    (
        "Ingress",
        {"spec__rules__0__http__paths__0__backend__service__port": {"number": 70000}},
        [("spec.rules[0].http.paths[0].backend.service.port.number", "Invalid")],
    ),
    (
        "Ingress",
        {"spec__ingressClassName": "c", "metadata__annotations": {"kubernetes.io/ingress.class": "d"}},
        [("annotations.kubernetes.io/ingress.class", "Invalid")],
    ),
    ("IngressClass", {"spec__controller": "c"}, [("spec.controller", "Invalid")]),
    ("NetworkPolicy", {"spec__policyTypes": ["Both"]}, [("spec.policyTypes[0]", "NotSupported")]),
    ("NetworkPolicy", {"spec__ingress__0__from__1": {}}, [("spec.ingress[0].from[1]", "Required")]),
    (
        "NetworkPolicy",
        {"spec__ingress__0__from__0__ipBlock__cidr": "10.0.0.0"},
        [("spec.ingress[0].from[0].ipBlock.cidr", "Invalid")],
    ),
    (
        "NetworkPolicy",
        {"spec__ingress__0__from__0__ipBlock__except": ["11.0.0.0/16"]},
        [("spec.ingress[0].from[0].ipBlock.except[0]", "Invalid")],
    ),
    ("NetworkPolicy", {"spec__ingress__0__ports__0__endPort": 79}, [("spec.ingress[0].ports[0].endPort", "Invalid")]),
]

OTHERS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("ConfigMap", {"binaryData": {"a": ""}}, [("data[a]", "Invalid")]),
    ("ConfigMap", {"data": {"..": "", "": ""}}, [("data[..]", "Invalid"), ("data[]", "Invalid")]),
    ("ConfigMap", {"data": {"a": "x" * (1024 * 1024 + 1)}}, [("", "TooLong")]),
    ("ConfigMap", {"data": {"a": "x" * (1024 * 1024)}, "binaryData": None}, []),
    ("ConfigMap", {"data": {"a": "é" * (512 * 1024)}, "binaryData": None}, []),
    ("ConfigMap", {"data": {"a": "é" * (512 * 1024) + "x"}, "binaryData": None}, [("", "TooLong")]),
    ("ConfigMap", {"data": {"a": "x" * (512 * 1024)}, "binaryData": {"b": "A" * (4 * 512 * 1024 // 3)}}, []),
    ("ConfigMap", {"data": {"a": "x" * (512 * 1024)}, "binaryData": {"b": "A" * (4 * 513 * 1024 // 3)}}, [("", "TooLong")]),
    ("Secret", {"data": {}}, [("data[tls.crt]", "Required"), ("data[tls.key]", "Required")]),
    ("Secret", {"type": "kubernetes.io/basic-auth"}, [("data[password]", "Required"), ("data[username]", "Required")]),
    ("Secret", {"type": "kubernetes.io/dockerconfigjson"}, [("data[.dockerconfigjson]", "Required")]),
    (
        "Secret",
        {"type": "kubernetes.io/service-account-token"},
        [("metadata.annotations[kubernetes.io/service-account.name]", "Required")],
    ),
    ("Secret", {"data__a b": ""}, [("data[a b]", "Invalid")]),
    ("Secret", {"type": "kubernetes.io/ssh-auth"}, [("data[ssh-privatekey]", "Required")]),
    ("Secret", {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "bnVsbA=="}}, []),
    (
        "Secret",
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "MQ=="}},
        [("data[.dockerconfigjson]", "Invalid")],
    ),
    ("PersistentVolumeClaim", {"spec__dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}, []),
    (
        "PersistentVolumeClaim",
        {"spec__dataSourceRef": {"name": "a"}},
        [("spec.dataSourceRef", "Invalid"), ("spec.dataSourceRef.kind", "Required")],
    ),
    (
        "PersistentVolumeClaim",
        {"spec__dataSourceRef": {"apiGroup": "A_", "kind": "X", "name": "a"}},
        [("spec.dataSourceRef.apiGroup", "Invalid")],
    ),
    (
        "PersistentVolumeClaim",
        {f"spec__{field}": {"kind": "PersistentVolumeClaim", "name": field.lower()} for field in ("dataSource", "dataSourceRef")},
        [("spec", "Invalid")],
    ),
    ("PersistentVolumeClaim", {"spec__accessModes": ["Often"]}, [("spec.accessModes", "NotSupported")]),
    ("PersistentVolumeClaim", {"spec__accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]}, [("spec.accessModes", "Forbidden")]),
    ("PersistentVolumeClaim", {"spec__resources__requests__storage": "0"}, [("spec.resources[storage]", "Invalid")]),
    ("PersistentVolumeClaim", {"spec__volumeMode": "Tape"}, [("spec.volumeMode", "NotSupported")]),
    ("PersistentVolume", {"spec__hostPath": None}, [("spec", "Required")]),
    ("PersistentVolume", {"spec__nfs": {"server": "s", "path": "/"}}, [("spec.nfs", "Forbidden")]),
    ("PersistentVolume", {"spec__capacity": {}}, [("spec.capacity", "NotSupported"), ("spec.capacity", "Required")]),
    ("PersistentVolume", {"spec__persistentVolumeReclaimPolicy": "Burn"}, [("spec.persistentVolumeReclaimPolicy", "NotSupported")]),
    ("StorageClass", {"provisioner": ""}, [("provisioner", "Required")]),
    ("StorageClass", {"reclaimPolicy": "Recycle"}, [("reclaimPolicy", "NotSupported")]),
    ("StorageClass", {"volumeBindingMode": "Late"}, [("volumeBindingMode", "NotSupported")]),
    (
        "Role",
        {"rules": [{}]},
        [("rules[0].apiGroups", "Required"), ("rules[0].resources", "Required"), ("rules[0].verbs", "Required")],
    ),
    ("Role", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}, [("rules[0].nonResourceURLs", "Invalid")]),
    ("ClusterRole", {"aggregationRule": {}}, [("aggregationRule.clusterRoleSelectors", "Required")]),
    ("RoleBinding", {"roleRef__apiGroup": "x"}, [("roleRef.apiGroup", "NotSupported")]),
    ("RoleBinding", {"subjects__0__kind": "Robot"}, [("subjects[0].kind", "NotSupported")]),
    ("ClusterRoleBinding", {"roleRef__kind": "Role"}, [("roleRef.kind", "NotSupported")]),
    ("ClusterRoleBinding", {"subjects__0__namespace": ""}, [("subjects[0].namespace", "Required")]),
    ("PriorityClass", {"metadata__name": "system-x"}, [("metadata.name", "Forbidden")]),
    ("PriorityClass", {"preemptionPolicy": "Ask"}, [("preemptionPolicy", "NotSupported")]),
    ("PodDisruptionBudget", {"spec__maxUnavailable": 1}, [("spec", "Invalid")]),
    ("PodDisruptionBudget", {"spec__minAvailable": "101%"}, [("spec.minAvailable", "Invalid")]),
    ("PodDisruptionBudget", {"spec__minAvailable": -1}, [("spec.minAvailable", "Invalid")]),
    ("HorizontalPodAutoscaler", {"spec__maxReplicas": -1}, [("spec.maxReplicas", "Invalid")]),
    ("HorizontalPodAutoscaler", {"spec__maxReplicas": 0}, [("spec.maxReplicas", "Required")]),
    ("HorizontalPodAutoscaler", {"spec__minReplicas": 4}, [("spec.maxReplicas", "Invalid")]),
    (
        "HorizontalPodAutoscaler",
        {"spec__scaleTargetRef": {}},
        [
            ("spec.scaleTargetRef.apiVersion", "Invalid"),
            ("spec.scaleTargetRef.kind", "Required"),
            ("spec.scaleTargetRef.name", "Required"),
        ],
    ),
    ("HorizontalPodAutoscaler", {"spec__metrics": [{"type": "Moon"}]}, [("spec.metrics[0].type", "NotSupported")]),
    ("HorizontalPodAutoscaler", {"spec__metrics": [{"type": "Pods"}]}, [("spec.metrics[0].pods", "Required")]),
    ("Namespace", {"spec__finalizers": ["mine"]}, [("spec.finalizers", "Invalid")]),
    ("Node", {"spec__podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, []),
    ("Node", {"spec__podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}, [("spec.podCIDRs", "Invalid")]),
    ("Node", {"spec__podCIDRs": ["10.0.0.0/24"] * 2}, [("spec.podCIDRs", "Invalid"), ("spec.podCIDRs[1]", "Duplicate")]),
    ("Node", {"status__capacity": {"cpu": "-1"}}, [("status.capacity.cpu", "Invalid")]),
    ("Node", {"spec__taints__0__effect": ""}, [("metadata.taints[0].effect", "Required")]),
    ("Node", {"spec__taints__0__effect": "Maybe"}, [("metadata.taints[0].effect", "NotSupported")]),
    ("Node", {"spec__taints": [{"key": "a", "effect": "NoSchedule"}] * 2}, [("metadata.taints[1]", "Duplicate")]),
    ("ResourceQuota", {"spec__hard": {"pods": "1.5"}}, [("spec.hard[pods]", "Invalid")]),
    (
        "ResourceQuota",
        {"spec__hard": {"a.storageclass.storage.k8s.io/persistentvolumeclaims": "500m"}},
        [("spec.hard[a.storageclass.storage.k8s.io/persistentvolumeclaims]", "Invalid")],
    ),
    (
        "ResourceQuota",
        {"spec__scopeSelector": {"matchExpressions": [{"scopeName": "Terminating", "operator": "In", "values": ["a"]}]}},
        [("spec.scopeSelector.matchExpressions.operator", "Invalid")],
    ),
    (
        "ResourceQuota",
        {
            "spec__hard": {"pods": "1"},
            "spec__scopeSelector": {
                "matchExpressions": [{"scopeName": name, "operator": "Exists"} for name in ("Terminating", "NotTerminating")]
            },
        },
        [("spec.scopeSelector.matchExpressions", "Invalid")],
    ),
    ("LimitRange", {"spec__limits": [{"type": "Container", "max": {"foo": "1"}}]}, [("spec.limits[0].max[foo]", "Invalid")] * 2),
    ("LimitRange", {"spec__limits": [{"type": "Pod", "max": {"storage": "1"}}]}, [("spec.limits[0].max[storage]", "Invalid")]),
    ("LimitRange", {"spec__limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1"}}]}, []),
    (
        "LimitRange",
        {"spec__limits": [{"type": "Container", "default": {"a.com/b": "2"}, "defaultRequest": {"a.com/b": "1"}}]},
        [("spec.limits[0].defaultRequest[a.com/b]", "Invalid")],
    ),
    ("ResourceQuota", {"spec__hard": {"moons": "1"}}, [("spec.hard[moons]", "Invalid")]),
    ("ResourceQuota", {"spec__hard": {"cpu": "-1"}}, [("spec.hard[cpu]", "Invalid")]),
    (
        "LimitRange",
        {"spec__limits__0__min": {"cpu": "3"}},
        [("spec.limits[0].default[cpu]", "Invalid"), ("spec.limits[0].min[cpu]", "Invalid")],
    ),
    ("LimitRange", {"spec__limits__0__type": "Pod"}, [("spec.limits[0].default", "Forbidden")]),
    (
        "Lease",
        {"spec__leaseDurationSeconds": 0, "spec__leaseTransitions": -1},
        [("spec.leaseDurationSeconds", "Invalid"), ("spec.leaseTransitions", "Invalid")],
    ),
    ("RuntimeClass", {"handler": "A"}, [("handler", "Invalid")]),
    ("CertificateSigningRequest", {"spec__usages": []}, [("spec.usages", "Required")]),
    ("CertificateSigningRequest", {"spec__request": "AAAA"}, [("spec.request", "Invalid")]),
    ("CertificateSigningRequest", {"spec__signerName": "me"}, [("spec.signerName", "Invalid")]),
    ("CertificateSigningRequest", {"spec__expirationSeconds": 599}, [("spec.expirationSeconds", "Invalid")]),
    ("Event", {"involvedObject__namespace": "other"}, [("involvedObject.namespace", "Invalid")]),
    ("ValidatingWebhookConfiguration", {"webhooks__0__name": "a.b"}, [("webhooks[0].name", "Invalid")]),
    ("ValidatingWebhookConfiguration", {"webhooks__0__sideEffects": "Some"}, [("webhooks[0].sideEffects", "NotSupported")]),
    ("ValidatingWebhookConfiguration", {"webhooks__0__clientConfig": {}}, [("webhooks[0].clientConfig", "Required")]),
    (
        "ValidatingWebhookConfiguration",
        {"webhooks__0__clientConfig": {"url": "http://x"}},
        [("webhooks[0].clientConfig.url", "Invalid")],
    ),
]


@pytest.mark.parametrize(("kind", "changes", "expected"), [*WORKLOADS, *SERVICES, *OTHERS], ids=lambda value: str(value)[:60])
def test_bad_fields_are_named_with_their_reasons(kind: str, changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert refused(kind, **changes) == expected


@pytest.mark.parametrize(
    ("scope", "tracked", "others"),
    [
        ("BestEffort", ["pods"], ["services", "cpu", "requests.memory"]),
        ("NotBestEffort", ["pods", "cpu", "limits.memory"], ["secrets", "ephemeral-storage", "hugepages-2Mi"]),
        ("Terminating", ["pods", "requests.cpu"], ["requests.storage"]),
        ("PriorityClass", ["pods", "memory"], ["persistentvolumeclaims"]),
        ("CrossNamespacePodAffinity", ["pods"], ["services.nodeports"]),
        ("VolumeAttributesClass", ["persistentvolumeclaims", "requests.storage"], ["pods"]),
    ],
)
def test_quota_counted_in_a_scope_what_has_no_such_scope(scope: str, tracked: list[str], others: list[str]) -> None:
    good = dict.fromkeys([*tracked, "count/pods", "count/services", "example.com/gpu"], "1")
    chosen = {"matchExpressions": [{"scopeName": scope, "operator": "Exists"}]}
    assert refused("ResourceQuota", spec={"hard": good, "scopes": [scope], "scopeSelector": chosen}) == []
    for name in others:
        hard = {**good, name: "1"}
        assert refused("ResourceQuota", spec={"hard": hard, "scopes": [scope]}) == [("spec.scopes", "Invalid")], name
        expected = [("spec.scopeSelector.matchExpressions", "Invalid")]
        assert refused("ResourceQuota", spec={"hard": hard, "scopeSelector": chosen}) == expected, name


def spoil(value: Any, random: Random) -> Any:
    """The value with parts of it lost or replaced by others of the same type."""
    if random.random() < 0.05:
        return None
    if isinstance(value, dict):
        return {key: spoil(item, random) for key, item in value.items() if random.random() > 0.1}
    if isinstance(value, list):
        kept = [spoil(item, random) for item in value if random.random() > 0.1]
        return kept + kept[:1] if random.random() < 0.1 else kept
    if random.random() > 0.2:
        return value
    if isinstance(value, bool):
        return not value
    return (
        random.choice([0, -1, 2**40]) if isinstance(value, int) else random.choice(["", "a b", "ü/../x", "None", "*", "%s%", "1"])
    )


@settings(max_examples=300)
@given(st.sampled_from(list(SAMPLES)), st.integers(0, 2**64).map(Random))  # noqa: S311 nothing here is secret
def test_no_object_of_the_right_types_breaks_the_checks(key: Key, random: Random) -> None:
    new, old = spoil(SAMPLES[key], random) or {}, spoil(SAMPLES[key], random) or {}
    assert all(problem.reason.startswith("FieldValue") for problem in validation.create(GroupVersionKind(*key), new))
    updated = validation.update(GroupVersionKind(*key), new, old)
    assert len(set(updated)) == len(updated)
