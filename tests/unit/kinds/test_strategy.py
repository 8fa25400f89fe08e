"""What happens to objects once: when they are created, changed, and changed through status."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.kinds import custom_strategy
from probate.kinds import defaults as defaulting
from probate.kinds import strategy as kind_strategy
from probate.kinds.core.pods import strategy as pod_strategy

_NOW = "2026-01-01T00:00:00Z"
_LATER = "2026-01-02T00:00:00Z"


def created(group: str, kind: str, object_: Object) -> Object:
    object_ = {"metadata": {"name": "o"}} | object_
    defaulting.apply(GroupVersionKind(group, "v1", kind), object_)
    kind_strategy.create(GroupVersionKind(group, "v1", kind), object_, uid="u-1", now=_NOW)
    return object_


def updated(group: str, kind: str, old: Object, **changes: Any) -> Object:
    new = copy.deepcopy(old) | changes
    before = copy.deepcopy(old)
    defaulting.apply(GroupVersionKind(group, "v1", kind), new)
    kind_strategy.update(GroupVersionKind(group, "v1", kind), new, old)
    assert old == before, "the old object is not touched"
    return new


def container(limits: Object | None = None, requests: Object | None = None) -> Object:
    return {"name": "c", "image": "i:1", "resources": {"limits": limits or {}, "requests": requests or {}}}


@pytest.mark.parametrize(
    ("containers", "qos"),
    [
        ([container()], "BestEffort"),
        ([container({"cpu": "1", "memory": "1Gi"})], "Guaranteed"),
        ([container({"cpu": "1000m", "memory": "1024Mi"}, {"cpu": 1, "memory": "1Gi"})], "Guaranteed"),
        ([container({"cpu": "1", "memory": "1Gi"}, {"cpu": "500m"})], "Burstable"),
        ([container({"cpu": "1", "memory": "1Gi"}), container()], "Burstable"),
        ([container({"cpu": "1"})], "Burstable"),
        ([container({"example.com/gpu": "1"})], "BestEffort"),
        ([container({"cpu": "0"})], "BestEffort"),
    ],
)
def test_a_pods_class_of_service_follows_from_its_containers(containers: list[Object], qos: str) -> None:
    pod = created("", "Pod", {"spec": {"containers": containers}, "status": {"phase": "Running", "podIP": "192.0.2.1"}})
    assert pod["status"] == {"phase": "Pending", "qosClass": qos}


def test_a_gated_pod_says_that_it_is_not_scheduled() -> None:
    status = created("", "Pod", {"spec": {"containers": [], "schedulingGates": [{"name": "g"}]}})["status"]
    assert [(one["type"], one["status"], one["reason"], one["observedGeneration"]) for one in status["conditions"]] == [
        ("PodScheduled", "False", "SchedulingGated", 1)
    ]


@pytest.mark.parametrize(
    ("tolerations", "added"),
    [
        ([], ["not-ready", "unreachable"]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}], ["unreachable"]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
    ],
)
def test_pods_stay_for_a_while_on_nodes_that_are_away(tolerations: list[Object], added: list[str]) -> None:
    spec = created("", "Pod", {"spec": {"containers": [], "tolerations": copy.deepcopy(tolerations)}})["spec"]
    given, ours = spec.get("tolerations", [])[: len(tolerations)], spec.get("tolerations", [])[len(tolerations) :]
    assert given == tolerations
    assert [one["key"].removeprefix("node.kubernetes.io/") for one in ours] == added
    assert all(one["tolerationSeconds"] == 300 for one in ours)


def test_a_pod_is_selected_by_its_own_value_of_a_label() -> None:
    term = {"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["hash", "absent"], "topologyKey": "zone"}
    spec = {
        "containers": [],
        "topologySpreadConstraints": [copy.deepcopy(term)],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [copy.deepcopy(term)]}},
    }
    spec = created("", "Pod", {"metadata": {"name": "p", "labels": {"hash": "1"}}, "spec": spec})["spec"]
    expected = [{"key": "hash", "operator": "In", "values": ["1"]}]
    affinity = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [one["labelSelector"]["matchExpressions"] for one in (*affinity, *spec["topologySpreadConstraints"])] == [expected] * 2


def test_a_job_finds_its_pods_by_its_uid() -> None:
    job = created("batch", "Job", {"spec": {"template": {"metadata": {"labels": {"app": "a"}}, "spec": {}}}})
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["app"] == "a"
    assert (labels["batch.kubernetes.io/controller-uid"], labels["job-name"]) == ("u-1", "o")
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert job["metadata"]["labels"] == labels


def test_a_job_with_a_selector_of_its_own_keeps_it() -> None:
    job = created("batch", "Job", {"spec": {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}})
    assert job["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert job["spec"]["template"]["metadata"] == {}


@pytest.mark.parametrize(
    ("spec", "policy", "families"),
    [
        ({"selector": {"a": "b"}}, "SingleStack", ["IPv4"]),
        ({"clusterIP": "None"}, "RequireDualStack", ["IPv4", "IPv6"]),
        ({"clusterIP": "None", "ipFamilies": ["IPv6"]}, "RequireDualStack", ["IPv6", "IPv4"]),
        ({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}, "SingleStack", ["IPv4"]),
        ({"ipFamilyPolicy": "PreferDualStack"}, "PreferDualStack", ["IPv4"]),
        ({"clusterIP": "2001:db8::1"}, "SingleStack", ["IPv6"]),
        ({"type": "ExternalName", "externalName": "example.com"}, None, None),
    ],
)
def test_services_have_address_families(spec: Object, policy: str | None, families: list[str] | None) -> None:
    service = created("", "Service", {"spec": spec})["spec"]
    assert (service.get("ipFamilyPolicy"), service.get("ipFamilies")) == (policy, families)
    assert service.get("clusterIPs") == ([spec["clusterIP"]] if "clusterIP" in spec else None)


def allocated_service() -> Object:
    service = created("", "Service", {"spec": {"type": "NodePort", "selector": {"a": "b"}, "ports": [{"port": 80}, {"port": 81}]}})
    service["spec"] |= {"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"]}
    for number, port in enumerate(service["spec"]["ports"]):
        port["nodePort"] = 30000 + number
    return service


def test_a_changed_service_keeps_what_the_server_gave_it() -> None:
    old = allocated_service()
    new = updated("", "Service", old, spec={"type": "NodePort", "ports": [{"port": 81}, {"port": 82}]})["spec"]
    assert (new["clusterIP"], new["clusterIPs"], new["ipFamilies"]) == ("10.0.0.7", ["10.0.0.7"], ["IPv4"])
    assert [port.get("nodePort") for port in new["ports"]] == [30001, None]


def test_a_service_of_another_type_loses_what_came_with_the_old_one() -> None:
    old = allocated_service()
    inside = updated("", "Service", old, spec=copy.deepcopy(old["spec"]) | {"type": "ClusterIP"})["spec"]
    assert inside["clusterIP"] == "10.0.0.7"
    assert "externalTrafficPolicy" not in inside
    assert all("nodePort" not in port for port in inside["ports"])
    name = updated("", "Service", old, spec=copy.deepcopy(old["spec"]) | {"type": "ExternalName"})["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & name.keys()


def test_namespaces_are_held_until_their_content_is_gone() -> None:
    old = created("", "Namespace", {"spec": {"finalizers": ["example.com/mine"]}})
    assert old["spec"]["finalizers"] == ["example.com/mine", "kubernetes"]
    assert updated("", "Namespace", old, spec={}, status={"phase": "Gone"}) == old


def test_a_node_brings_its_status_and_waits_until_it_is_ready() -> None:
    node = created("", "Node", {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}, "status": {"capacity": {"cpu": "2"}}})
    assert node["status"]["allocatable"] == {"cpu": "2"}
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["a", "node.kubernetes.io/not-ready"]


def test_a_claim_is_filled_from_the_same_source_in_both_of_its_fields() -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    for field in ("dataSource", "dataSourceRef"):
        spec = created("", "PersistentVolumeClaim", {"spec": {field: dict(source)}})["spec"]
        assert (spec["dataSource"], spec["dataSourceRef"]) == (source, source)


def test_a_volume_says_since_when_it_is_in_its_phase() -> None:
    old = created("", "PersistentVolume", {"spec": {}, "status": {"phase": "Bound"}})
    assert old["status"] == {"phase": "Pending", "lastPhaseTransitionTime": _NOW}
    new = copy.deepcopy(old)
    kind_strategy.update_status(GroupVersionKind("", "v1", "PersistentVolume"), new, old, now=_LATER)
    assert new["status"]["lastPhaseTransitionTime"] == _NOW
    new["status"]["phase"] = "Available"
    kind_strategy.update_status(GroupVersionKind("", "v1", "PersistentVolume"), new, old, now=_LATER)
    assert new["status"]["lastPhaseTransitionTime"] == _LATER


def test_a_daemon_set_counts_its_templates() -> None:
    old = created("apps", "DaemonSet", {"spec": {"template": {"spec": {"containers": []}}}})
    key = "deprecated.daemonset.template.generation"
    same = updated("apps", "DaemonSet", old, spec=copy.deepcopy(old["spec"]) | {"minReadySeconds": 5})
    other = updated("apps", "DaemonSet", same, spec=copy.deepcopy(old["spec"]) | {"template": {"spec": {"nodeName": "n"}}})
    assert [one["metadata"]["annotations"][key] for one in (old, same, other)] == ["1", "1", "2"]
    assert [one["metadata"]["generation"] for one in (old, same, other)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("group", "kind", "changes", "is_counted"),
    [
        ("apps", "Deployment", {"spec": {"replicas": 2}}, True),
        ("apps", "Deployment", {"metadata": {"annotations": {"a": "b"}}}, True),
        ("apps", "Deployment", {"metadata": {"labels": {"a": "b"}}}, False),
        ("apps", "Deployment", {"status": {"replicas": 2}}, False),
        ("apps", "ReplicaSet", {"metadata": {"annotations": {"a": "b"}}}, False),
        ("discovery.k8s.io", "EndpointSlice", {"metadata": {"labels": {"a": "b"}}}, True),
        ("discovery.k8s.io", "EndpointSlice", {"ports": [{"port": 1}]}, True),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", {"webhooks": [{"name": "w"}]}, True),
        ("scheduling.k8s.io", "PriorityClass", {"description": "d"}, False),
        ("", "PodTemplate", {"template": {"spec": {"nodeName": "n"}}}, True),
        ("", "Pod", {"spec": {"activeDeadlineSeconds": 3}}, True),
    ],
)
def test_generation_counts_changes_of_what_is_wanted(group: str, kind: str, changes: Object, is_counted: bool) -> None:
    old = created(group, kind, {})
    assert old["metadata"]["generation"] == 1
    assert updated(group, kind, old, **changes)["metadata"]["generation"] == 1 + is_counted


@pytest.mark.parametrize("kind", ["ConfigMap", "Service", "Secret", "PersistentVolumeClaim"])
def test_kinds_that_are_not_counted_have_no_generation(kind: str) -> None:
    old = created("", kind, {})
    new = updated("", kind, old, metadata={"generation": 9})
    assert "generation" not in old["metadata"] | new["metadata"]


def test_status_changes_nothing_else_and_nothing_else_changes_status() -> None:
    old = created("apps", "Deployment", {"metadata": {"name": "o", "labels": {"a": "b"}}})
    new = copy.deepcopy(old)
    new["spec"]["replicas"], new["status"] = 5, {"replicas": 1}
    new["metadata"] |= {"labels": {}, "annotations": {"c": "d"}, "generation": 7}
    through_status = copy.deepcopy(new)
    kind_strategy.update_status(GroupVersionKind("apps", "v1", "Deployment"), through_status, old, now=_NOW)
    assert through_status["spec"] == old["spec"]
    assert through_status["status"] == {"replicas": 1}
    assert through_status["metadata"] == {"name": "o", "labels": {"a": "b"}, "annotations": {"c": "d"}, "generation": 1}
    kind_strategy.update(GroupVersionKind("apps", "v1", "Deployment"), new, old)
    assert (new["spec"]["replicas"], new["status"], new["metadata"]["generation"]) == (5, {}, 2)


def test_qos_class_of_a_pod_never_changes() -> None:
    old = created("", "Pod", {"spec": {"containers": []}})
    new = copy.deepcopy(old) | {"status": {"phase": "Running"}}
    kind_strategy.update_status(GroupVersionKind("", "v1", "Pod"), new, old, now=_NOW)
    assert new["status"] == {"phase": "Running", "qosClass": "BestEffort"}


def test_ephemeral_containers_are_all_that_their_subresource_changes() -> None:
    old = created("", "Pod", {"spec": {"containers": [container()]}})
    new = copy.deepcopy(old)
    new["metadata"] |= {"labels": {"a": "b"}, "resourceVersion": "5"}
    new["spec"] |= {"nodeName": "n", "ephemeralContainers": [{"name": "e"}]}
    pod_strategy.update_ephemeral_containers(new, old)
    assert new["metadata"] == {"name": "o", "generation": 2, "resourceVersion": "5"}
    assert new["spec"] == old["spec"] | {"ephemeralContainers": [{"name": "e"}]}


def test_resources_are_all_that_resize_changes() -> None:
    old = created("", "Pod", {"spec": {"containers": [container(requests={"cpu": "1"})]}})
    new = copy.deepcopy(old)
    new["spec"]["containers"][0] |= {"image": "other", "resources": {"requests": {"cpu": "2"}}}
    pod_strategy.update_resize(new, old)
    assert new["spec"]["containers"][0] == old["spec"]["containers"][0] | {"resources": {"requests": {"cpu": "2"}}}
    assert new["metadata"]["generation"] == 2


def test_an_api_service_that_is_served_here_is_available() -> None:
    local = created("apiregistration.k8s.io", "APIService", {"spec": {"group": "", "version": "v1"}})
    assert local["status"]["conditions"][0]["reason"] == "Local"
    remote = created("apiregistration.k8s.io", "APIService", {"spec": {"service": {"name": "s"}}, "status": {"conditions": [{}]}})
    assert remote["status"]["conditions"][0]["reason"] == "NoAggregation"


@pytest.mark.parametrize("has_status", [True, False])
def test_status_of_custom_resources_is_what_is_wanted_unless_it_has_a_path_of_its_own(has_status: bool) -> None:
    old: Object = {"metadata": {"name": "o"}, "spec": {"n": 1}, "status": {"ok": True}}
    custom_strategy.create_custom(old, has_status=has_status)
    assert ("status" in old) != has_status
    new = copy.deepcopy(old) | {"status": {"ok": False}}
    custom_strategy.update_custom(new, old, has_status=has_status)
    assert new["metadata"]["generation"] == (1 if has_status else 2)
    custom_strategy.update_custom(new | {"spec": {}}, new, has_status=has_status)
    through_status = {"metadata": {"labels": {"a": "b"}, "resourceVersion": "3"}, "spec": {}, "status": {"ok": 1}}
    custom_strategy.update_custom_status(through_status, old)
    assert through_status == {**old, "metadata": old["metadata"] | {"resourceVersion": "3"}, "status": {"ok": 1}}
