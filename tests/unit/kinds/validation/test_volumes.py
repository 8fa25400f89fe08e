"""Volumes: which source counts, what each needs, and where Kubernetes says that it is missing."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.field_errors import FieldError
from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import sample

Causes = list[tuple[str, str]]
V = "spec.volumes[0]"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
ISCSI = {"targetPortal": "1.1.1.1", "iqn": "iqn.2015-02.example.com:test", "lun": 0}
NAMED = {"fieldRef": {"fieldPath": "metadata.name"}}


def causes(problems: list[FieldError]) -> Causes:
    return sorted({(problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems})


def of_pod(*volumes: dict[str, Any], name: str = "p") -> Causes:
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": f"v{at}", **one} for at, one in enumerate(volumes)]}
    return causes(validation.create(GroupVersionKind("", "v1", "Pod"), {"metadata": {"name": name}, "spec": spec}))


def of_persistent_volume(**source: Any) -> Causes:
    key, volume = sample("PersistentVolume", spec__hostPath=None)
    volume["spec"] |= source
    return causes(validation.create(GroupVersionKind(*key), volume))


NEEDS: list[tuple[str, dict[str, Any], Causes]] = [
    ("gcePersistentDisk", {"partition": 256}, [("persistentDisk.partition", "Invalid"), ("persistentDisk.pdName", "Required")]),
    ("awsElasticBlockStore", {"partition": -1}, [(".partition", "Invalid"), (".volumeID", "Required")]),
    ("glusterfs", {}, [(".endpoints", "Required"), (".path", "Required")]),
    ("flocker", {}, [("", "Required")]),
    ("flocker", {"datasetName": "a/b", "datasetUUID": "c"}, [("", "Invalid"), (".datasetName", "Invalid")]),
    ("rbd", {"monitors": []}, [(".image", "Required"), (".monitors", "Required")]),
    ("cinder", {"secretRef": {}}, [(".secretRef.name", "Required"), (".volumeID", "Required")]),
    ("cephfs", {}, [(".monitors", "Required")]),
    ("quobyte", {}, [(".registry", "Required"), (".volume", "Required")]),
    ("quobyte", {"registry": "host:1,other", "volume": "v"}, [(".registry", "Invalid")]),
    ("quobyte", {"registry": "host:1,[::1]:2", "volume": "v"}, []),
    ("quobyte", {"registry": "host:1", "volume": "v", "tenant": "t" * 65}, [(".tenant", "Required")]),
    ("fc", {}, [(".targetWWNs", "Required")]),
    ("fc", {"targetWWNs": ["a"]}, [(".lun", "Required")]),
    ("fc", {"targetWWNs": ["a"], "wwids": ["b"], "lun": 256}, [(".lun", "Invalid"), (".targetWWNs", "Invalid")]),
    ("fc", {"wwids": ["b"]}, []),
    ("flexVolume", {"options": {"a.K8s.io/x": "y"}}, [(".driver", "Required"), (".options[a.K8s.io/x]", "Invalid")]),
    ("azureFile", {}, [(".secretName", "Required"), (".shareName", "Required")]),
    ("azureDisk", {"diskName": "d"}, [(".diskURI", "Required")]),
    (
        "azureDisk",
        {"diskName": "d", "diskURI": "u", "kind": "Managed", "cachingMode": "Some"},
        [(".cachingMode", "NotSupported"), (".diskURI", "NotSupported")],
    ),
    ("azureDisk", {"diskName": "d", "diskURI": "https://u", "kind": "Dedicated"}, []),
    ("vsphereVolume", {}, [(".volumePath", "Required")]),
    ("photonPersistentDisk", {}, [(".pdID", "Required")]),
    ("portworxVolume", {}, [(".volumeID", "Required")]),
    ("storageos", {"volumeNamespace": "A"}, [(".volumeName", "Required"), (".volumeNamespace", "Invalid")]),
    ("scaleIO", {}, [(".gateway", "Required"), (".system", "Required"), (".volumeName", "Required")]),
    ("iscsi", ISCSI, []),
    ("iscsi", {**ISCSI, "iqn": "eui.0123456789abcdef"}, []),
    ("iscsi", {**ISCSI, "iqn": "other"}, [(".iqn", "Invalid")]),
    ("iscsi", {**ISCSI, "iqn": "iqn.bad"}, [(".iqn", "Invalid")]),
    ("iscsi", {**ISCSI, "chapAuthSession": True}, [(".secretRef", "Required")]),
    ("iscsi", {**ISCSI, "initiatorName": "naa.1"}, [(".initiatorname", "Invalid")]),
    ("csi", {"driver": "d", "nodePublishSecretRef": {}}, [(".nodePublishSecretRef.name", "Required")]),
    ("csi", {"driver": "d", "nodePublishSecretRef": {"name": "A_"}}, [(".name", "Invalid")]),
    ("image", {}, [(".reference", "Required")]),
    ("hostPath", {"type": "Door"}, [(".path", "Required")]),
    ("secret", {"secretName": "s", "items": [{"key": "k", "path": "..x"}]}, [(".items[0].path", "Invalid")]),
    ("downwardAPI", {"items": [{"path": "/a", **NAMED}]}, [(".path", "Invalid")]),
    ("downwardAPI", {"items": [{"path": "a"}]}, [("", "Required")]),
    (
        "downwardAPI",
        {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]},
        [(".fieldRef.fieldPath", "NotSupported")],
    ),
    ("downwardAPI", {"items": [{"path": "a", "mode": 512, **NAMED}]}, [(".mode", "Invalid")]),
    ("projected", {"sources": [{"secret": {"name": "a"}, "configMap": {"name": "b"}}]}, [(".sources[0]", "Forbidden")]),
    ("projected", {"sources": [{"serviceAccountToken": {"path": "../a"}}]}, [(".path", "Invalid")]),
    ("projected", {"sources": [{"downwardAPI": {"items": [NAMED]}}]}, [(".sources[0].downwardAPI.path", "Required")]),
    (
        "projected",
        {"sources": [{name: {"name": "a", "items": [{"key": "k", "path": "p"}]}} for name in ("secret", "configMap")]},
        [("", "Invalid")],
    ),
    ("ephemeral", {}, [(".volumeClaimTemplate", "Required")]),
    ("ephemeral", {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM}}, []),
    (
        "ephemeral",
        {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {}}},
        [
            (".volumeClaimTemplate.metadata.name", "Forbidden"),
            (".volumeClaimTemplate.spec.accessModes", "Required"),
            (".volumeClaimTemplate.spec.resources[storage]", "Required"),
        ],
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), NEEDS, ids=lambda value: str(value)[:50])
def test_what_a_source_needs(name: str, source: dict[str, Any], expected: Causes) -> None:
    places = [(V + (f".{name}{field}" if not field[:1].isalpha() else f".{field}"), reason) for field, reason in expected]
    assert of_pod({name: source}) == sorted(places)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"configMap": {"name": "a"}, "secret": {"secretName": "b"}}, "configMap"),
        ({"hostPath": {"path": "/"}, "emptyDir": {}}, "hostPath"),
        ({"downwardAPI": {}, "emptyDir": {}}, "downwarAPI"),
        ({"cephfs": {"monitors": ["m"]}, "emptyDir": {}}, "cephFS"),
    ],
    ids=str,
)
def test_of_two_sources_the_one_that_kubernetes_looks_for_first_counts(source: dict[str, Any], expected: str) -> None:
    assert of_pod(source) == [(f"{V}.{expected}", "Forbidden")]


def test_volume_must_not_name_an_ephemeral_claim() -> None:
    made = {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}
    assert of_pod(made, {"persistentVolumeClaim": {"claimName": "other"}}) == []
    taken = of_pod(made, {"persistentVolumeClaim": {"claimName": "p-v0"}})
    assert taken == [("spec.volumes[1].persistentVolumeClaim.claimName", "Invalid")]
    assert of_pod(made, name="p" * 252) == [(f"{V}.name", "Invalid")]


def test_image_of_a_volume_may_be_filled_in_later_in_a_template() -> None:
    key, template = sample("PodTemplate", template__spec={"containers": [{"name": "c", "image": "i"}], "volumes": []})
    template["template"]["spec"]["volumes"] = [{"name": "v", "image": {}}]
    assert validation.create(GroupVersionKind(*key), template) == []


SECRET = {"name": "s", "namespace": "n"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"emptyDir": {}}, [("spec", "Required")]),
        ({"csi": {"driver": "d"}}, [("spec.csi.volumeHandle", "Required")]),
        ({"csi": {"driver": "d", "volumeHandle": "h", "nodeExpandSecretRef": SECRET}}, []),
        (
            {"csi": {"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "A_"}}},
            [("spec.csi.nodePublishSecretRef.name", "Invalid"), ("spec.csi.nodePublishSecretRef.namespace", "Required")],
        ),
        ({"cinder": {"volumeID": "v", "secretRef": {"name": "s"}}}, [("spec.cinder.secretRef.namespace", "Required")]),
        ({"storageos": {"volumeName": "v", "secretRef": {"name": "s"}}}, [("spec.storageos.secretRef.namespace", "Required")]),
        ({"iscsi": {**ISCSI, "secretRef": {}}}, [("spec.iscsi.secretRef.name", "Required")]),
        (
            {"azureFile": {"secretName": "s", "shareName": "t", "secretNamespace": ""}},
            [("spec.azureFile.secretNamespace", "Required")],
        ),
        (
            {"glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": ""}},
            [("spec.glusterfs.endpointsNamespace", "Invalid")],
        ),
        ({"local": {"path": "/x"}}, [("spec.nodeAffinity", "Required")]),
        (
            {"hostPath": {"path": "/./"}, "persistentVolumeReclaimPolicy": "Recycle"},
            [("spec.persistentVolumeReclaimPolicy", "Forbidden")],
        ),
        ({"hostPath": {"path": "/x"}, "volumeAttributesClassName": "a"}, [("spec.csi", "Required")]),
        (
            {"csi": {"driver": "d", "volumeHandle": "h"}, "volumeAttributesClassName": ""},
            [("spec.volumeAttributesClassName", "Required")],
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_persistent_volumes_need_more(source: dict[str, Any], expected: Causes) -> None:
    assert of_persistent_volume(**source) == expected
