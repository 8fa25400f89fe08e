"""Pods: each part of the spec, and what of it may change."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.field_errors import FieldError
from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from probate.kinds.core.pods.validation import resize, update
from support.valid_objects import CONTAINER, POD_SPEC

C = "spec.containers[0]"
Causes = list[tuple[str, str]]


def causes(problems: list[FieldError]) -> Causes:
    return sorted((problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems)


def of_spec(**changes: Any) -> Causes:
    return causes(validation.create(GroupVersionKind("", "v1", "Pod"), {"spec": {**POD_SPEC, **changes}}))


def of_container(**changes: Any) -> Causes:
    return [(field.removeprefix(C + "."), reason) for field, reason in of_spec(containers=[{**CONTAINER, **changes}])]


def updated(old: dict[str, Any] | None = None, **changes: Any) -> Causes:
    before = {**POD_SPEC, **(old or {})}
    return causes(validation.update(GroupVersionKind("", "v1", "Pod"), {"spec": {**before, **changes}}, {"spec": before}))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": ""}, [("name", "Required")]),
        ({"name": "a.b"}, [("name", "Invalid")]),
        ({"image": ""}, [("image", "Required")]),
        ({"image": " i"}, [("image", "Invalid")]),
        ({"imagePullPolicy": "Sometimes"}, [("imagePullPolicy", "NotSupported")]),
        ({"terminationMessagePolicy": "Mail"}, [("terminationMessagePolicy", "NotSupported")]),
        ({"ports": [{"containerPort": 0}]}, [("ports[0].containerPort", "Required")]),
        ({"ports": [{"containerPort": 65536}]}, [("ports[0].containerPort", "Invalid")]),
        ({"ports": [{"containerPort": 1, "hostPort": -1}]}, [("ports[0].hostPort", "Invalid")]),
        ({"ports": [{"containerPort": 1, "name": "WEB"}]}, [("ports[0].name", "Invalid"), ("ports[0].name", "Invalid")]),
        ({"ports": [{"containerPort": 1, "protocol": "tcp"}]}, [("ports[0].protocol", "NotSupported")]),
        ({"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]}, [("ports[1].name", "Duplicate")]),
        (
            {"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
            [("ports[1].hostPort", "Duplicate")],
        ),
        ({"env": [{"name": ""}]}, [("env[0].name", "Required")]),
        ({"env": [{"name": "a=b"}]}, [("env[0].name", "Invalid")]),
        ({"env": [{"name": "a b.1"}]}, []),
        ({"env": [{"name": "A", "valueFrom": {}}]}, [("env[0].valueFrom", "Invalid")]),
        (
            {"env": [{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
            [("env[0].valueFrom", "Invalid")],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {}}}]},
            [("env[0].valueFrom.secretKeyRef.key", "Required"), ("env[0].valueFrom.secretKeyRef.name", "Invalid")],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
            [("env[0].valueFrom.fieldRef.fieldPath", "NotSupported")],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}]},
            [("env[0].valueFrom.fieldRef.fieldPath", "Invalid")],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gold"}}}]},
            [("env[0].valueFrom.resourceFieldRef.resource", "NotSupported")],
        ),
        ({"envFrom": [{}]}, [("envFrom", "Invalid")]),
        ({"envFrom": [{"secretRef": {"name": ""}}]}, [("envFrom[0].secretRef.name", "Required")]),
        ({"volumeMounts": [{"name": "none", "mountPath": "/x"}]}, [("volumeMounts[0].name", "NotFound")]),
        ({"volumeMounts": [{"name": "data"}]}, [("volumeMounts[0].mountPath", "Required")]),
        ({"volumeMounts": [{"name": "data", "mountPath": "/x"}] * 2}, [("volumeMounts[1].mountPath", "Invalid")]),
        ({"volumeMounts": [{"name": "data", "mountPath": "/x", "subPath": "a/../b"}]}, [("volumeMounts.subPath", "Invalid")]),
        (
            {"volumeMounts": [{"name": "data", "mountPath": "/x", "mountPropagation": "Bidirectional"}]},
            [("volumeMounts.mountPropagation", "Forbidden")],
        ),
        ({"resources": {"limits": {"cpu": "-1"}}}, [("resources.limits[cpu]", "Invalid")]),
        ({"resources": {"limits": {"gold": "1"}}}, [("resources.limits[gold]", "Invalid"), ("resources.limits[gold]", "Invalid")]),
        ({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1001m"}}}, [("resources.requests", "Invalid")]),
        ({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1000m"}}}, []),
        ({"resources": {"requests": {"example.com/gpu": "1"}}}, [("resources.limits", "Required")]),
        ({"resources": {"limits": {"example.com/gpu": "1.5"}}}, [("resources.limits[example.com/gpu]", "Invalid")]),
        ({"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}, [("resources", "Forbidden")]),
        (
            {"resources": {"limits": {"cpu": "1", "hugepages-2Mi": "3Mi"}}},
            [("resources.limits[hugepages-2Mi]", "Invalid")],
        ),
        ({"resources": {"claims": [{"name": "none"}]}}, [("resources.claims[0]", "NotFound")]),
        ({"livenessProbe": {}}, [("livenessProbe", "Required")]),
        ({"livenessProbe": {"httpGet": {"path": "/", "port": 0}}}, [("livenessProbe.httpGet.port", "Invalid")]),
        ({"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}}, [("livenessProbe.successThreshold", "Invalid")]),
        (
            {"livenessProbe": {"exec": {}, "timeoutSeconds": -1}},
            [("livenessProbe.exec.command", "Required"), ("livenessProbe.timeoutSeconds", "Invalid")],
        ),
        ({"readinessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}}, [("readinessProbe.tcpSocket", "Forbidden")]),
        ({"lifecycle": {"postStart": {}}}, [("lifecycle.postStart", "Required")]),
        ({"securityContext": {"runAsUser": -1}}, [("securityContext.runAsUser", "Invalid")]),
        ({"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}}, [("securityContext", "Invalid")]),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
            [("securityContext.seccompProfile.localhostProfile", "Required")],
        ),
    ],
    ids=lambda value: str(value)[:70],
)
def test_bad_containers(changes: dict[str, Any], expected: Causes) -> None:
    assert of_container(**changes) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"containers": []}, [("spec.containers", "Required")]),
        ({"initContainers": [{"name": "c", "image": "i"}]}, [("spec.initContainers[0].name", "Duplicate")]),
        (
            {"initContainers": [{"name": "i", "image": "i", "livenessProbe": {"tcpSocket": {"port": 1}}}]},
            [("spec.initContainers[0].livenessProbe", "Forbidden")],
        ),
        (
            {"ephemeralContainers": [{"name": "e", "image": "i", "targetContainerName": "none", "ports": [{"containerPort": 1}]}]},
            [
                ("spec.ephemeralContainers", "Forbidden"),
                ("spec.ephemeralContainers[0].ports", "Forbidden"),
                ("spec.ephemeralContainers[0].targetContainerName", "NotFound"),
            ],
        ),
        ({"restartPolicy": "Sometimes"}, [("spec.restartPolicy", "NotSupported")]),
        ({"dnsPolicy": "Mine"}, [("spec.dnsPolicy", "NotSupported")]),
        ({"dnsPolicy": "None", "dnsConfig": None}, [("spec.dnsConfig", "Required")]),
        ({"dnsPolicy": "None", "dnsConfig": {}}, [("spec.dnsConfig.nameservers", "Required")]),
        ({"hostUsers": False, "hostPID": True}, [("spec.HostPID", "Forbidden")]),
        ({"os": {"name": "dos"}}, [("spec.os", "NotSupported")]),
        ({"overhead": {"cpu": "-1"}}, [("spec.overhead.limits[cpu]", "Invalid")]),
        (
            {"topologySpreadConstraints": POD_SPEC["topologySpreadConstraints"] * 2},
            [("spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}", "Duplicate")],
        ),
        ({"dnsConfig": {"nameservers": ["1.1.1.1"] * 4}}, [("spec.dnsConfig.nameservers", "Invalid")]),
        ({"dnsConfig": {"nameservers": ["here"]}}, [("spec.dnsConfig.nameservers[0]", "Invalid")]),
        ({"activeDeadlineSeconds": 0}, [("spec.activeDeadlineSeconds", "Invalid")]),
        ({"nodeSelector": {"a b": "c"}}, [("spec.nodeSelector", "Invalid")]),
        ({"serviceAccountName": "A"}, [("spec.serviceAccountName", "Invalid")]),
        ({"hostname": "a.b"}, [("spec.hostname", "Invalid")]),
        ({"priorityClassName": "A"}, [("spec.priorityClassName", "Invalid")]),
        ({"preemptionPolicy": "Ask"}, [("spec.preemptionPolicy", "NotSupported")]),
        ({"hostAliases": [{"ip": "x"}]}, [("spec.hostAliases[0].ip", "Invalid")]),
        ({"tolerations": [{"operator": "Equal", "value": "x"}]}, [("spec.tolerations[0].operator", "Invalid")]),
        ({"tolerations": [{"key": "a", "operator": "Is"}]}, [("spec.tolerations[0].operator", "NotSupported")]),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]}, [("spec.tolerations[0].operator", "Invalid")]),
        ({"tolerations": [{"key": "a", "effect": "Maybe"}]}, [("spec.tolerations[0].effect", "NotSupported")]),
        (
            {"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]},
            [("spec.tolerations[0].effect", "Invalid")],
        ),
        ({"securityContext": {"fsGroup": -1}}, [("spec.securityContext.fsGroup", "Invalid")]),
        ({"securityContext": {"sysctls": [{"name": "A"}]}}, [("spec.securityContext.sysctls[0].name", "Invalid")]),
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, [("spec.schedulingGates[1]", "Duplicate")]),
        ({"schedulingGates": [{"name": "a"}], "nodeName": "n"}, [("spec.nodeName", "Forbidden")]),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "whenUnsatisfiable": "Wait"}]},
            [
                ("spec.topologySpreadConstraints[0].maxSkew", "Invalid"),
                ("spec.topologySpreadConstraints[0].topologyKey", "Required"),
                ("spec.topologySpreadConstraints[0].whenUnsatisfiable", "NotSupported"),
            ],
        ),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            [("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", "Required")],
        ),
        (
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
            [("spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey", "Required")],
        ),
        ({"hostNetwork": True, "securityContext": {}}, [(C + ".ports[0].hostPort", "Invalid")]),
    ],
    ids=lambda value: str(value)[:70],
)
def test_bad_specs(changes: dict[str, Any], expected: Causes) -> None:
    assert of_spec(**changes) == expected


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"emptyDir": {}}, [("name", "Required")]),
        ({"name": "A", "emptyDir": {}}, [("name", "Invalid")]),
        ({"name": "data", "emptyDir": {}}, [("name", "Duplicate")]),
        ({"name": "v"}, [("", "Required")]),
        ({"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}, [("hostPath", "Forbidden")]),
        (
            {"name": "v", "hostPath": {"path": "/a/../b", "type": "Door"}},
            [("hostPath.path", "Invalid"), ("hostPath.type", "NotSupported")],
        ),
        ({"name": "v", "secret": {"defaultMode": 512}}, [("secret.defaultMode", "Invalid"), ("secret.secretName", "Required")]),
        ({"name": "v", "configMap": {}}, [("configMap.name", "Required")]),
        (
            {"name": "v", "configMap": {"name": "m", "items": [{"key": "a", "path": "/b"}]}},
            [("configMap.items[0].path", "Invalid")],
        ),
        ({"name": "v", "persistentVolumeClaim": {}}, [("persistentVolumeClaim.claimName", "Required")]),
        ({"name": "v", "nfs": {"path": "x"}}, [("nfs.path", "Invalid"), ("nfs.server", "Required")]),
        ({"name": "v", "projected": {"sources": [{}]}}, []),
        ({"name": "v", "csi": {}}, [("csi.driver", "Required")]),
    ],
    ids=str,
)
def test_bad_volumes(volume: dict[str, Any], expected: Causes) -> None:
    volumes = [*POD_SPEC["volumes"], volume]
    path = f"spec.volumes[{len(volumes) - 1}]"
    assert of_spec(volumes=volumes) == sorted((f"{path}.{field}" if field else path, reason) for field, reason in expected)


@pytest.mark.parametrize(
    ("old", "changes", "expected"),
    [
        ({}, {"containers": [{**CONTAINER, "image": "other"}]}, []),
        ({}, {"containers": [{**CONTAINER, "image": ""}]}, [(C + ".image", "Required")]),
        ({}, {"containers": [{**CONTAINER, "env": []}]}, [("spec", "Forbidden")]),
        ({}, {"containers": [CONTAINER, {"name": "d", "image": "i"}]}, [("spec.containers", "Forbidden")]),
        ({}, {"initContainers": []}, [("spec.initContainers", "Forbidden")]),
        ({}, {"nodeSelector": {"disk": "hdd"}}, [("spec", "Forbidden")]),
        ({}, {"activeDeadlineSeconds": 10}, []),
        ({"activeDeadlineSeconds": 10}, {"activeDeadlineSeconds": 5}, []),
        ({"activeDeadlineSeconds": 10}, {"activeDeadlineSeconds": 11}, [("spec.activeDeadlineSeconds", "Invalid")]),
        ({"activeDeadlineSeconds": 10}, {"activeDeadlineSeconds": None}, [("spec.activeDeadlineSeconds", "Invalid")]),
        ({}, {"tolerations": [*POD_SPEC["tolerations"], {"key": "b", "operator": "Exists"}]}, []),
        ({}, {"tolerations": []}, [("spec.tolerations", "Forbidden")]),
        ({"schedulingGates": [{"name": "a"}]}, {"schedulingGates": []}, []),
        ({"schedulingGates": [{"name": "a"}]}, {"nodeSelector": {"disk": "ssd", "b": "c"}}, []),
        ({}, {"schedulingGates": [{"name": "a"}]}, [("spec.schedulingGates[0].name", "Forbidden")]),
        ({}, {"terminationGracePeriodSeconds": 1}, [("spec", "Forbidden")]),
        ({"terminationGracePeriodSeconds": -1}, {"terminationGracePeriodSeconds": 1}, []),
    ],
    ids=lambda value: str(value)[:70],
)
def test_what_of_a_pod_may_change(old: dict[str, Any], changes: dict[str, Any], expected: Causes) -> None:
    assert updated(old, **changes) == expected


def test_the_same_amount_written_otherwise_is_no_change() -> None:
    resources = {"requests": {"cpu": "0.1", "memory": "1024Mi"}, "limits": {"cpu": "1000m", "example.com/gpu": "2"}}
    assert updated(containers=[{**CONTAINER, "resources": resources}]) == []


def test_a_bad_volume_cannot_be_mounted() -> None:
    volumes = [{"name": "data", "secret": {}}, *POD_SPEC["volumes"][1:]]
    expected = [(C + ".volumeMounts[0].name", "NotFound"), ("spec.volumes[0].secret.secretName", "Required")]
    assert of_spec(volumes=volumes) == expected


def test_images_in_templates_may_have_spaces() -> None:
    spec = {**POD_SPEC, "containers": [{**CONTAINER, "image": " "}]}
    assert validation.create(GroupVersionKind("", "v1", "PodTemplate"), {"template": {"spec": spec}}) == []
    assert causes(validation.create(GroupVersionKind("", "v1", "Pod"), {"spec": spec})) == [(C + ".image", "Invalid")]


def test_ephemeral_containers_may_be_added_and_stay() -> None:
    none: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    one = {"spec": {**none["spec"], "ephemeralContainers": [{"name": "a", "image": "i"}]}}
    assert list(update.check_ephemeral_containers(one, none)) == []
    assert causes(list(update.check_ephemeral_containers(none, one))) == [("spec.ephemeralContainers", "Forbidden")]


def test_invalid_ephemeral_container_made_its_pod_unchangeable() -> None:
    old: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    wrong = {"name": "c", "image": "x", "ports": [{"containerPort": 80}], "targetContainerName": "zz"}
    new = {"spec": {**old["spec"], "ephemeralContainers": [wrong]}}
    assert causes(list(update.check_ephemeral_containers(new, old))) == [
        ("spec.ephemeralContainers[0].name", "Duplicate"),
        ("spec.ephemeralContainers[0].ports", "Forbidden"),
        ("spec.ephemeralContainers[0].targetContainerName", "NotFound"),
    ]


def test_resize_changes_resources_only() -> None:
    old = {"spec": {"containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}}
    bigger = {"spec": {"containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "2"}}}]}}
    other = {"spec": {"containers": [{"name": "a", "image": "j", "resources": {"limits": {"cpu": "2"}}}]}}
    assert list(resize.check_resize(bigger, old)) == []
    assert causes(list(resize.check_resize(other, old))) == [("spec", "Forbidden")]


GUARANTEED = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"limits": {"cpu": "2"}}, {"requests": {"cpu": "5"}, "limits": {"cpu": "2"}}, [(C + ".resources.requests", "Invalid")]),
        (GUARANTEED, {**GUARANTEED, "requests": {"cpu": "500m", "memory": "1Gi"}}, [("spec", "Invalid")]),
        ({}, {"requests": {"cpu": "1"}}, [("spec", "Invalid")]),
        (GUARANTEED, {name: {"cpu": "2", "memory": "1Gi"} for name in GUARANTEED}, []),
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}, []),
    ],
    ids=["above-the-limit", "no-longer-guaranteed", "no-longer-best-effort", "guaranteed", "burstable"],
)
def test_resize_gave_more_than_the_limit_or_another_class_of_service(
    old: dict[str, Any], new: dict[str, Any], expected: Causes
) -> None:
    after, before = ({"spec": {"containers": [{"name": "a", "image": "i", "resources": one}]}} for one in (new, old))
    assert causes(list(resize.check_resize(after, before))) == expected
