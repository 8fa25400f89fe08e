"""Reading an object of a built-in kind: what is added, what is rewritten, and that it happens once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.kinds import defaults

_WORDS = st.sampled_from(
    [
        *("spec", "status", "metadata", "template", "containers", "initContainers", "ephemeralContainers", "volumes", "name"),
        *("image", "ports", "env", "valueFrom", "fieldRef", "resources", "limits", "requests", "cpu", "memory", "labels"),
        *("strategy", "updateStrategy", "rollingUpdate", "type", "livenessProbe", "httpGet", "grpc", "projected", "sources"),
        *("secret", "ephemeral", "volumeClaimTemplate", "volumeClaimTemplates", "jobTemplate", "selector", "hostNetwork"),
        *("hostPort", "containerPort", "behavior", "scaleUp", "metrics", "webhooks", "clientConfig", "service", "port"),
        *("rules", "roleRef", "subjects", "kind", "conversion", "names", "versions", "conditions", "policyTypes", "egress"),
        *("parameters", "backend", "http", "paths", "limited", "limitResponse", "queuing", "devices", "exactly"),
        *("firstAvailable", "capacity", "stringData", "data", "podCIDR", "podCIDRs", "endpoints", "subsets", "sessionAffinity"),
        *("sessionAffinityConfig", "clusterIP", "serviceAccount", "annotations", "completions", "podFailurePolicy"),
        *("backoffLimitPerIndex", "matchConstraints", "tolerations", "restartPolicy", "max", "min", "default"),
    ]
)
_LEAVES = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "Container", "1Gi", "1000m", "ClientIP", "x:1", "User"])
)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=5), max_leaves=25
)
_OBJECTS = st.dictionaries(_WORDS, _VALUES, max_size=6)
_KINDS = st.sampled_from([*defaults.kinds_with_defaults(), ("", "ConfigMap"), ("", "Event"), ("rbac.authorization.k8s.io", "Role")])
_VERSIONS = st.sampled_from(["v1", "v2"])


def read(group: str, kind: str, object_: Object, *, version: str = "v1") -> Object:
    defaults.apply(GroupVersionKind(group, version, kind), object_)
    return object_


def read_container(**fields: Any) -> Object:
    pod = read("", "Pod", {"spec": {"containers": [{"name": "c", "image": "i:1", **fields}]}})
    container: Object = pod["spec"]["containers"][0]
    return container


def read_volume(**source: Any) -> Object:
    pod = read("", "Pod", {"spec": {"containers": [], "volumes": [{"name": "v", **source}]}})
    volume: Object = pod["spec"]["volumes"][0]
    return volume


@given(_KINDS, _VERSIONS, _OBJECTS)
def test_applying_twice_is_applying_once_whatever_it_looks_like(kind: tuple[str, str], version: str, object_: Object) -> None:
    defaults.apply(GroupVersionKind(kind[0], version, kind[1]), object_)
    once = copy.deepcopy(object_)
    defaults.apply(GroupVersionKind(kind[0], version, kind[1]), object_)
    assert object_ == once


@given(_OBJECTS)
def test_custom_kinds_are_left_alone(object_: Object) -> None:
    before = copy.deepcopy(object_)
    defaults.apply(GroupVersionKind("example.com", "v1", "Deployment"), object_)
    assert object_ == before


@given(st.integers(0, 9), st.integers(1, 9), st.sampled_from(["Recreate", "RollingUpdate"]))
def test_what_was_given_stays(replicas: int, limit: int, strategy: str) -> None:
    given_spec = {"replicas": replicas, "revisionHistoryLimit": limit, "strategy": {"type": strategy}}
    spec = read("apps", "Deployment", {"spec": dict(given_spec)})["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["strategy"]["type"]) == (replicas, limit, strategy)
    assert ("rollingUpdate" in spec["strategy"]) == (strategy == "RollingUpdate")


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry.example.com:5000/team/nginx", "Always"),
        ("registry.example.com:5000/team/nginx:2", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "0" * 64, "Always"),
        ("not an image", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_images_that_may_change_under_their_name_are_always_pulled(image: str, policy: str) -> None:
    assert read_container(image=image)["imagePullPolicy"] == policy
    assert read_volume(image={"reference": image})["image"]["pullPolicy"] == policy


def test_probes_and_hooks_say_all_that_is_needed_to_run_them() -> None:
    container = read_container(
        livenessProbe={"httpGet": {"port": 80}, "initialDelaySeconds": 0},
        readinessProbe={"grpc": {"port": 1}, "periodSeconds": 5},
        startupProbe={"exec": {"command": ["true"]}, "failureThreshold": 0},
        lifecycle={"preStop": {"httpGet": {"port": "http", "path": "/stop"}}},
    )
    times = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert container["livenessProbe"] == {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, **times}
    assert container["readinessProbe"] == {"grpc": {"port": 1, "service": ""}, **times, "periodSeconds": 5}
    assert container["startupProbe"] == {"exec": {"command": ["true"]}, **times}
    assert container["lifecycle"] == {"preStop": {"httpGet": {"port": "http", "path": "/stop", "scheme": "HTTP"}}}


def test_references_to_fields_are_complete_in_variables_and_in_files() -> None:
    limit = {"resourceFieldRef": {"resource": "limits.cpu"}}
    name = {"fieldRef": {"fieldPath": "metadata.name"}}
    container = read_container(env=[{"name": "A", "valueFrom": copy.deepcopy(limit)}, {"name": "B", "value": ""}])
    assert container["env"] == [
        {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}},
        {"name": "B"},
    ]
    files = read_volume(downwardAPI={"items": [{"path": "n", **name}]})["downwardAPI"]
    assert files == {"defaultMode": 420, "items": [{"path": "n", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}]}


_ISCSI = {"targetPortal": "t", "iqn": "q", "lun": 0}
_RBD = {"monitors": ["m"], "image": "i"}
_DISK = {"diskName": "d", "diskURI": "u"}
_SCALE_IO = {"gateway": "g", "system": "s", "secretRef": None}


@pytest.mark.parametrize(
    ("given_source", "full"),
    [
        ({}, {"emptyDir": {}}),
        ({"emptyDir": {"sizeLimit": "1024Mi"}}, {"emptyDir": {"sizeLimit": "1Gi"}}),
        ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
        ({"secret": {"secretName": "s", "defaultMode": 256}}, {"secret": {"secretName": "s", "defaultMode": 256}}),
        ({"iscsi": _ISCSI | {"readOnly": False}}, {"iscsi": _ISCSI | {"iscsiInterface": "default"}}),
        ({"rbd": _RBD | {"pool": "p"}}, {"rbd": _RBD | {"pool": "p", "user": "admin", "keyring": "/etc/ceph/keyring"}}),
        (
            {"azureDisk": _DISK},
            {"azureDisk": _DISK | {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}},
        ),
        ({"scaleIO": _SCALE_IO}, {"scaleIO": _SCALE_IO | {"storageMode": "ThinProvisioned", "fsType": "xfs"}}),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}},
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "metadata": {},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {}, "volumeMode": "Filesystem"},
                    }
                }
            },
        ),
    ],
)
def test_volumes_say_all_that_is_needed_to_mount_them(given_source: Object, full: Object) -> None:
    assert read_volume(**given_source) == {"name": "v", **full}


def test_a_pod_asks_for_what_it_is_limited_to_but_a_template_does_not() -> None:
    spec = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": "0.5"}}}]}
    pod = read("", "Pod", {"spec": copy.deepcopy(spec)})["spec"]["containers"][0]["resources"]
    assert pod == {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    template = read("apps", "ReplicaSet", {"spec": {"template": {"spec": spec}}})["spec"]["template"]["spec"]
    assert template["containers"][0]["resources"]["requests"] == {"cpu": "500m"}
    assert "enableServiceLinks" not in template


def test_a_pod_with_limits_of_its_own_asks_for_what_its_containers_need() -> None:
    spec = {
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        "containers": [{"resources": {"requests": {"cpu": "300m"}}}, {"resources": {"requests": {"cpu": "200m"}}}],
        "initContainers": [{"resources": {"requests": {"cpu": "100m"}}}],
    }
    assert read("", "Pod", {"spec": spec})["spec"]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_ports_on_the_hosts_network_are_ports_of_the_host() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}]
    pod = read("", "Pod", {"spec": {"hostNetwork": True, "containers": [{"name": "c", "ports": copy.deepcopy(ports)}]}})
    assert [port["hostPort"] for port in pod["spec"]["containers"][0]["ports"]] == [80, 8081]
    template = read("", "PodTemplate", {"template": {"spec": {"hostNetwork": True, "containers": [{"ports": ports}]}}})
    assert "hostPort" not in template["template"]["spec"]["containers"][0]["ports"][0]


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
def test_the_service_account_is_in_both_of_its_fields(field: str) -> None:
    spec = read("", "Pod", {"spec": {field: "builder"}})["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("builder", "builder")


def test_empty_values_are_dropped() -> None:
    pod: Object = {
        "metadata": {"labels": {}, "annotations": None, "creationTimestamp": None, "finalizers": []},
        "spec": {"hostNetwork": False, "nodeName": "", "nodeSelector": {}, "tolerations": [], "volumes": None},
    }
    read("", "Pod", pod)
    assert pod["metadata"] == {}
    assert not {"hostNetwork", "nodeName", "nodeSelector", "tolerations", "volumes"} & pod["spec"].keys()


def test_values_in_a_schema_and_data_of_users_are_kept_as_they_are() -> None:
    schema: Object = {"openAPIV3Schema": {"default": {"a": None, "b": []}, "enum": [None, ""], "example": ""}}
    definition = read(
        "apiextensions.k8s.io", "CustomResourceDefinition", {"spec": {"versions": [{"schema": copy.deepcopy(schema)}]}}
    )
    assert definition["spec"]["versions"][0]["schema"] == schema
    assert read("apps", "ControllerRevision", {"data": {"a": None, "b": []}})["data"] == {"a": None, "b": []}


def test_a_stateful_set_keeps_a_strategy_that_was_only_named() -> None:
    assert read("apps", "StatefulSet", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}})["spec"]["updateStrategy"] == {
        "type": "RollingUpdate"
    }
    partial = {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}}
    assert read("apps", "StatefulSet", partial)["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 2, "partition": 0}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"parallelism": 3}, {"parallelism": 3, "backoffLimit": 6}),
        ({"completions": 3}, {"parallelism": 1, "completions": 3}),
        ({"backoffLimitPerIndex": 1}, {"backoffLimit": 2147483647}),
        ({"podFailurePolicy": {"rules": []}}, {"podReplacementPolicy": "Failed"}),
        ({"suspend": True}, {"suspend": True, "manualSelector": False}),
    ],
)
def test_jobs_fill_what_follows_from_what_was_given(spec: Object, expected: Object) -> None:
    job = read("batch", "Job", {"spec": dict(spec)})["spec"]
    assert {key: job.get(key) for key in expected} == expected
    assert ("completions" in job) == ("completions" in spec or "parallelism" not in spec)


def test_a_job_inside_a_cron_job_is_not_filled_yet() -> None:
    cron = read("batch", "CronJob", {"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}}})["spec"]
    assert cron["jobTemplate"]["spec"].keys() == {"template"}
    assert cron["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"sessionAffinity": "ClientIP"}, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}),
        ({"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}, {"sessionAffinityConfig": None}),
        ({"externalIPs": ["192.0.2.1"]}, {"externalTrafficPolicy": "Cluster"}),
        ({"type": "ExternalName"}, {"internalTrafficPolicy": None, "externalTrafficPolicy": None}),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, {"allocateLoadBalancerNodePorts": False}),
        ({"ports": [{"port": 53, "protocol": "UDP"}]}, {"ports": [{"port": 53, "protocol": "UDP", "targetPort": 53}]}),
        ({"clusterIP": ""}, {"clusterIP": None, "type": "ClusterIP"}),
    ],
)
def test_services_fill_what_follows_from_their_type(spec: Object, expected: Object) -> None:
    service = read("", "Service", {"spec": spec})["spec"]
    assert {key: service.get(key) for key in expected} == expected


def test_text_in_a_secret_goes_over_its_data() -> None:
    secret = read("", "Secret", {"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "ü"}})
    assert secret == {"data": {"a": "w7w=", "b": "eQ=="}, "type": "Opaque", "metadata": {}}


def test_limits_of_containers_follow_from_each_other() -> None:
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1024Ki"}, "defaultRequest": {"cpu": "0.1"}}
    limits = read("", "LimitRange", {"spec": {"limits": [item, {"type": "Pod", "max": {"cpu": 4}}]}})["spec"]["limits"]
    assert limits[0]["default"] == {"cpu": "2"}
    assert limits[0]["defaultRequest"] == {"cpu": "100m", "memory": "1Mi"}
    assert limits[1] == {"type": "Pod", "max": {"cpu": "4"}}


@pytest.mark.parametrize(
    ("group", "kind", "given_object", "path", "expected"),
    [
        ("networking.k8s.io", "IngressClass", {"spec": {"parameters": {"name": "p"}}}, "spec.parameters.scope", "Cluster"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", {}, "spec.matchingPrecedence", 1000),
        (
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            {"spec": {"limited": {}}},
            "spec.limited.nominalConcurrencyShares",
            30,
        ),
        ("apiregistration.k8s.io", "APIService", {"spec": {"service": {"name": "s"}}}, "spec.service.port", 443),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", {}, "spec.failurePolicy", "Fail"),
        ("resource.k8s.io", "ResourceClaimTemplate", {"spec": {"spec": {"devices": {}}}}, "spec.metadata", {}),
        ("", "Node", {"status": {"capacity": {"cpu": "2000m"}}}, "status.allocatable.cpu", "2"),
        ("", "Node", {"spec": {"podCIDR": "10.1.0.0/24"}}, "spec.podCIDRs", ["10.1.0.0/24"]),
        ("", "Node", {"spec": {"podCIDR": "a/1", "podCIDRs": ["b/1", "c/1"]}}, "spec.podCIDRs", ["a/1"]),
        ("", "Node", {"spec": {"podCIDR": "b/1", "podCIDRs": ["b/1", "c/1"]}}, "spec.podCIDRs", ["b/1", "c/1"]),
        ("", "Node", {"spec": {"podCIDRs": ["b/1", "c/1"]}}, "spec.podCIDR", "b/1"),
        ("", "Namespace", {"metadata": {"name": "n"}}, "metadata.labels", {"kubernetes.io/metadata.name": "n"}),
        ("storage.k8s.io", "VolumeAttachment", {}, "status.attached", False),
        ("coordination.k8s.io", "Lease", {}, "spec", {}),
        ("events.k8s.io", "Event", {}, "deprecatedLastTimestamp", None),
    ],
)
def test_kinds_of_all_groups_are_filled(group: str, kind: str, given_object: Object, path: str, expected: object) -> None:
    value: Any = read(group, kind, given_object)
    for part in path.split("."):
        value = value[part]
    assert value == expected


def test_device_requests_are_for_one_device_unless_they_say_otherwise() -> None:
    one = {"name": "o", "deviceClassName": "d"}
    requests = [
        {"name": "r", "exactly": {"deviceClassName": "d"}},
        {"name": "s", "firstAvailable": [one | {"allocationMode": "All"}, one | {"count": 2}]},
    ]
    claim = read("resource.k8s.io", "ResourceClaim", {"spec": {"devices": {"requests": requests}}})
    assert claim["spec"]["devices"]["requests"] == [
        {"name": "r", "exactly": {"deviceClassName": "d", "allocationMode": "ExactCount", "count": 1}},
        {"name": "s", "firstAvailable": [one | {"allocationMode": "All"}, one | {"count": 2, "allocationMode": "ExactCount"}]},
    ]


def test_versions_of_an_autoscaler_have_defaults_of_their_own() -> None:
    first = read("autoscaling", "HorizontalPodAutoscaler", {"spec": {}})
    assert first["spec"]["minReplicas"] == 1
    assert first["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    policy = {"type": "Pods", "value": 1, "periodSeconds": 30}
    second = read(
        "autoscaling", "HorizontalPodAutoscaler", {"spec": {"behavior": {"scaleUp": {"policies": [policy]}}}}, version="v2"
    )
    assert second["spec"]["behavior"]["scaleUp"] == {
        "policies": [policy],
        "selectPolicy": "Max",
        "stabilizationWindowSeconds": 0,
    }
    assert second["status"] == {"currentMetrics": None, "desiredReplicas": 0}


def pod_of(resources: Object, *containers: Object, **spec: Any) -> Object:
    named = [{"name": f"c{number}", "image": "i:1", "resources": one} for number, one in enumerate(containers)]
    pod = read("", "Pod", {"spec": {"containers": named, "resources": resources, **spec}})
    found: Object = pod["spec"]["resources"]
    return found


@pytest.mark.parametrize(
    ("whole", "limits", "requests"),
    [
        pytest.param({"requests": {"memory": "1Gi"}}, "6Mi", "6Mi", id="follows the containers"),
        pytest.param({"limits": {"hugepages-2Mi": "8Mi"}}, "8Mi", "8Mi", id="is said"),
        pytest.param({"requests": {"hugepages-2Mi": "6Mi"}}, None, "6Mi", id="is asked for"),
    ],
)
def test_huge_pages_of_a_pod_with_pod_level_resources(whole: Object, limits: str | None, requests: str) -> None:
    containers = [{"limits": {"hugepages-2Mi": "2Mi"}}, {"limits": {"hugepages-2Mi": "4Mi"}}]
    found = pod_of(whole, *containers)
    assert (found.get("limits") or {}).get("hugepages-2Mi") == limits
    assert found["requests"]["hugepages-2Mi"] == requests


@pytest.mark.parametrize(
    ("containers", "limits"),
    [
        pytest.param([{"limits": {"cpu": "1"}}, {"limits": {"cpu": "500m", "memory": "1Gi"}}], {"cpu": "1500m"}, id="all of cpu"),
        pytest.param([{"limits": {"cpu": "1"}}, {}], None, id="not all"),
    ],
)
def test_containers_that_are_all_limited_limit_a_pod_that_asks_for_something(containers: list[Object], limits: Any) -> None:
    assert pod_of({"requests": {"cpu": "1"}}, *containers).get("limits") == limits
    assert pod_of({}, *containers) == {}


def test_a_negative_grace_period_is_a_second_in_pods_and_not_in_templates() -> None:
    spec = {"containers": [], "terminationGracePeriodSeconds": -5}
    assert read("", "Pod", {"spec": dict(spec)})["spec"]["terminationGracePeriodSeconds"] == 1
    template = read("", "PodTemplate", {"template": {"spec": dict(spec)}})["template"]
    assert template["spec"]["terminationGracePeriodSeconds"] == -5


def test_a_csi_node_has_no_status_unless_one_is_written() -> None:
    assert read("storage.k8s.io", "CSINode", {"spec": {"drivers": []}}) == {"metadata": {}, "spec": {"drivers": None}}
