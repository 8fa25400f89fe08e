"""What single kinds lose or get when they are written, beside what `test_preparation` has."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.kinds import defaults as defaulting
from probate.kinds import strategy

_NOW = "2026-01-01T00:00:00Z"
_SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
_CLAIM = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "c"}
_OTHER = {"apiGroup": "example.com", "kind": "Backup", "name": "b"}
_AWAY = {**_OTHER, "namespace": "elsewhere"}
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def created(group: str, kind: str, object_: Object) -> Object:
    object_ = {"metadata": {"name": "o"}} | copy.deepcopy(object_)
    defaulting.apply(GroupVersionKind(group, "v1", kind), object_)
    strategy.create(GroupVersionKind(group, "v1", kind), object_, uid="u-1", now=_NOW)
    return object_


def updated(group: str, kind: str, old: Object, **changes: Any) -> Object:
    new = copy.deepcopy(old | changes)
    defaulting.apply(GroupVersionKind(group, "v1", kind), new)
    strategy.update(GroupVersionKind(group, "v1", kind), new, old)
    return new


def sources(claim: Object) -> tuple[Any, Any]:
    return claim["spec"].get("dataSource"), claim["spec"].get("dataSourceRef")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"dataSource": _SNAPSHOT}, (_SNAPSHOT, _SNAPSHOT), id="a snapshot"),
        pytest.param({"dataSource": _CLAIM}, (_CLAIM, _CLAIM), id="another claim"),
        pytest.param({"dataSource": _OTHER}, (None, None), id="anything else, in the old field"),
        pytest.param({"dataSource": {**_CLAIM, "apiGroup": "example.com"}}, (None, None), id="a claim of another group"),
        pytest.param({"dataSourceRef": _OTHER}, (_OTHER, _OTHER), id="anything else, in the new field"),
        pytest.param({"dataSourceRef": _AWAY}, (None, None), id="something in another namespace"),
        pytest.param({"dataSource": _OTHER, "dataSourceRef": _OTHER}, (_OTHER, _OTHER), id="anything else, in both"),
        pytest.param({"dataSource": _CLAIM, "dataSourceRef": _AWAY}, (_CLAIM, _CLAIM), id="something elsewhere, and a claim"),
    ],
)
def test_claim_kept_an_unsupported_data_source(given: Object, expected: tuple[Any, Any]) -> None:
    assert sources(created("", "PersistentVolumeClaim", {"spec": given})) == expected
    bare = created("", "PersistentVolumeClaim", {"spec": {}})
    assert sources(updated("", "PersistentVolumeClaim", bare, spec=given)) == expected


def test_existing_claim_keeps_an_unsupported_data_source() -> None:
    old = {"metadata": {"name": "o"}, "spec": {"dataSource": _OTHER, "dataSourceRef": _AWAY}}
    assert sources(updated("", "PersistentVolumeClaim", old)) == (_OTHER, _AWAY)


def test_service_account_keeps_only_the_names_of_its_secrets() -> None:
    said = {"secrets": [{"name": "a", "namespace": "elsewhere", "kind": "Secret", "uid": "1"}, {"uid": "2"}]}
    account = created("", "ServiceAccount", said)
    assert account["secrets"] == [{"name": "a"}, {}]
    assert updated("", "ServiceAccount", account, **said)["secrets"] == [{"name": "a"}, {}]


def test_limit_range_without_a_name_gets_one() -> None:
    assert created("", "LimitRange", {"metadata": {}})["metadata"]["name"] == "u-1"
    assert created("", "LimitRange", {})["metadata"]["name"] == "o"


def test_class_of_volume_attributes_is_held() -> None:
    class_ = created("storage.k8s.io", "VolumeAttributesClass", {"driverName": "d"})
    assert class_["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]


def test_endpoints_of_a_slice_lose_the_labels_of_their_place_unless_they_had_them() -> None:
    place = {"addresses": ["192.0.2.1"], "deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    new = created("discovery.k8s.io", "EndpointSlice", {"addressType": "IPv4", "endpoints": [place]})
    assert new["endpoints"] == [{"addresses": ["192.0.2.1"], "conditions": {}}]
    old = new | {"endpoints": [{**place, "conditions": {}}]}
    assert updated("discovery.k8s.io", "EndpointSlice", old, ports=[])["endpoints"][0]["deprecatedTopology"]
    changed = updated("discovery.k8s.io", "EndpointSlice", old, endpoints=[place | {"nodeName": "n"}])
    assert "deprecatedTopology" not in changed["endpoints"][0]


def test_node_takes_no_settings_of_its_kubelet_unless_it_has_some() -> None:
    settings = {"configMap": {"name": "c", "namespace": "n", "kubeletConfigKey": "k"}}
    said = {"spec": {"configSource": settings}, "status": {"config": {"error": "e"}}}
    node = created("", "Node", said)
    assert "configSource" not in node["spec"]
    assert "config" not in node["status"]
    assert "configSource" not in updated("", "Node", node, **said)["spec"]
    through_status = copy.deepcopy(node | said)
    strategy.update_status(GroupVersionKind("", "v1", "Node"), through_status, node, now=_NOW)
    assert "config" not in through_status["status"]
    assert updated("", "Node", node | said, metadata={})["spec"]["configSource"] == settings


@pytest.mark.parametrize(
    ("said", "profile"),
    [
        pytest.param("runtime/default", {"type": "RuntimeDefault"}, id="the usual"),
        pytest.param("unconfined", {"type": "Unconfined"}, id="none"),
        pytest.param("localhost/mine", {"type": "Localhost", "localhostProfile": "mine"}, id="one of the node's"),
        pytest.param("localhost/", None, id="no name"),
        pytest.param("localhost/ mine", None, id="a name with blanks around it"),
        pytest.param("whatever", None, id="nobody knows what"),
    ],
)
def test_profile_in_an_annotation_was_not_in_the_field(said: str, profile: Object | None) -> None:
    meta = {"name": "o", "annotations": {f"{_APPARMOR}c": said}}
    pod = created("", "Pod", {"metadata": meta, "spec": {"containers": [{"name": "c"}, {"name": "d"}]}})
    first, second = pod["spec"]["containers"]
    assert (first.get("securityContext") or {}).get("appArmorProfile") == profile
    assert "securityContext" not in second


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"os": {"name": "windows"}}, id="on Windows"),
        pytest.param({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, id="as the whole pod"),
    ],
)
def test_profile_in_an_annotation_is_not_copied(spec: Object) -> None:
    meta = {"name": "o", "annotations": {f"{_APPARMOR}c": "unconfined"}}
    pod = created("", "Pod", {"metadata": meta, "spec": {"containers": [{"name": "c"}], **spec}})
    assert "securityContext" not in pod["spec"]["containers"][0]


def test_profile_in_the_field_counts_more_than_one_in_an_annotation() -> None:
    meta = {"name": "o", "annotations": {f"{_APPARMOR}c": "unconfined"}}
    own = {"name": "c", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
    pod = created("", "Pod", {"metadata": meta, "spec": {"initContainers": [own], "containers": []}})
    assert pod["spec"]["initContainers"][0]["securityContext"]["appArmorProfile"] == {"type": "RuntimeDefault"}
