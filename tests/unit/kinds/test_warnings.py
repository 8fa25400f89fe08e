"""What is allowed and questionable: which inputs are told about, where, and which are not."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
import trustme

from probate.kinds import warnings
from support.valid_objects import CONTAINER, SAMPLES

POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
META: dict[str, Any] = {"metadata": {"name": "x", "generation": 1}}
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
MAPPED, LONG = "::ffff:1.2.3.4", "2001:DB8:0:0:0:0:0:1"


def of_spec(**changes: Any) -> list[str]:
    return warnings.create("", "Pod", {**POD, "spec": {**POD["spec"], **changes}})


def of_container(**changes: Any) -> list[str]:
    return [told.removeprefix("spec.containers[0].") for told in of_spec(containers=[{"name": "c", "image": "i", **changes}])]


def of_annotations(*keys: str, **spec: Any) -> list[str]:
    pod = {"metadata": {"name": "p", "annotations": dict.fromkeys(keys, "x")}, "spec": {**POD["spec"], **spec}}
    return [told.removeprefix("metadata.annotations") for told in warnings.create("", "Pod", pod)]


def of_service(**spec: Any) -> list[str]:
    return warnings.create("", "Service", {**META, "spec": {"type": "ClusterIP", "sessionAffinity": "None", **spec}})


def begins(told: list[str], *expected: str) -> bool:
    return len(told) == len(expected) and all(text.startswith(begin) for text, begin in zip(told, expected, strict=True))


@pytest.mark.parametrize("key", SAMPLES, ids=lambda key: key[2])
def test_valid_objects_have_few_warnings(key: tuple[str, str, str]) -> None:
    group, _, kind = key
    object_ = {"metadata": {"name": "x"}, **SAMPLES[key]}
    told = warnings.create(group, kind, object_) + warnings.update(group, kind, object_, old={"metadata": {}})
    assert [one for one in told if "null labelSelector" not in one and not one.startswith("tls:")] == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"nodeSelector": {"beta.kubernetes.io/os": "linux", "a": "b"}},
            'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
            id="node selector",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "beta.kubernetes.io/arch"}]}]
                        }
                    }
                }
            },
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
            ".key: beta.kubernetes.io/arch is deprecated since v1.14",
            id="node affinity",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"preference": {"matchExpressions": [{"key": "beta.kubernetes.io/instance-type"}]}}
                        ]
                    }
                }
            },
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: "
            "beta.kubernetes.io/instance-type is deprecated since v1.17",
            id="preferred nodes",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"topologyKey": "failure-domain.beta.kubernetes.io/zone", "labelSelector": {}}]},
            "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17",
            id="topology",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"topologyKey": "zone"}]},
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector",
            id="spread of no pods",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}},
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector",
            id="near no pods",
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {}}]}}},
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a",
            id="far from no pods",
        ),
        pytest.param({"volumes": [{"gitRepo": {}}]}, "spec.volumes[0].gitRepo: deprecated in v1.11", id="gitRepo"),
        pytest.param(
            {"volumes": [{"emptyDir": {}}, {"rbd": {}}]},
            "spec.volumes[1].rbd: deprecated in v1.28, non-functional in v1.31+",
            id="rbd",
        ),
        pytest.param(
            {"volumes": [{"storageos": {}}]},
            "spec.volumes[0].storageos: deprecated in v1.22, non-functional in v1.25+",
            id="storageos",
        ),
        pytest.param(
            {"volumes": [{"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1500m"}}}}}}]},
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m"',
            id="ephemeral claim",
        ),
        pytest.param(
            {
                "volumes": [
                    {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                    {"projected": {"sources": [{"secret": {"items": [{"path": "a"}, {"path": "t"}]}}]}},
                ]
            },
            'spec.volumes[1].projected.sources.secrets[1]: has duplicated path with ServiceAccountToken "t"',
            id="hidden token",
        ),
        pytest.param({"hostAliases": [{"ip": "1.2.3.4"}] * 2}, 'spec.hostAliases[1].ip: duplicate ip "1.2.3.4"', id="host aliases"),
        pytest.param({"hostAliases": [{"ip": LONG}]}, f'spec.hostAliases[0].ip: IPv6 address "{LONG}" should be', id="host alias"),
        pytest.param({"dnsConfig": {"nameservers": [MAPPED]}}, "spec.dnsConfig.nameservers[0]: non-standard IP", id="name server"),
        pytest.param(
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
            'spec.imagePullSecrets[1].name: duplicate name "a"',
            id="pull secrets",
        ),
        pytest.param({"imagePullSecrets": [{}]}, 'spec.imagePullSecrets[0].name: invalid empty name ""', id="no pull secret"),
        pytest.param({"overhead": {"memory": "1m"}}, 'spec.overhead[memory]: fractional byte value "1m"', id="overhead"),
        pytest.param({"terminationGracePeriodSeconds": -1}, "spec.terminationGracePeriodSeconds: must be >= 0", id="grace period"),
        pytest.param(
            {"initContainers": [{"name": "i", "env": [{"name": "A"}, {"name": "A"}]}]},
            'spec.initContainers[0].env[1]: hides previous definition of "A"',
            id="init container",
        ),
        pytest.param(
            {"ephemeralContainers": [{"name": "e", "env": [{"name": "A"}, {"name": "A"}]}]},
            'spec.ephemeralContainers[0].env[1]: hides previous definition of "A"',
            id="ephemeral container",
        ),
    ],
)
def test_of_a_pods_spec(changes: dict[str, Any], expected: str) -> None:
    told = of_spec(**changes)
    assert begins(told, expected), told


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"env": CONTAINER["env"]}, [], id="four variables"),
        pytest.param({"env": [{"name": "A", "value": "a"}, {"name": "A", "value": "b"}]}, ["env[1]: hides previous"], id="again"),
        pytest.param({"env": [{"name": "A", "value": "a"}, {"name": "A", "value": "$(A):b"}]}, [], id="again with what it was"),
        pytest.param(
            {"env": [{"name": "A", "value": "a"}, {"name": "A", "value": "$(A)"}]}, ["env[1]: hides"], id="again as it was"
        ),
        pytest.param({"env": [{"name": "A", "value": "$(A)"}, {"name": "A", "valueFrom": {"a": 1}}]}, ["env[1]: hides"], id="from"),
        pytest.param(
            {"resources": {"limits": {"memory": "1500m"}}}, ['resources.limits[memory]: fractional byte value "1500m"'], id="limit"
        ),
        pytest.param(
            {"resources": {"requests": {"ephemeral-storage": "0.5"}}},
            ['resources.requests[ephemeral-storage]: fractional byte value "500m"'],
            id="request",
        ),
        pytest.param({"resources": {"requests": {"memory": "1000m", "cpu": "1500m"}}}, [], id="whole bytes"),
        pytest.param({"resources": {"requests": {"memory": "1e3"}}}, [], id="whole bytes by exponent"),
        pytest.param(
            {"ports": [{"containerPort": 1, "hostIP": "1.2.3.4"}]}, ["ports[0]: hostIP set without hostPort"], id="no host port"
        ),
        pytest.param({"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]}, [], id="two protocols"),
        pytest.param(
            {"ports": [{"containerPort": 1}, {"containerPort": 1}]},
            ["ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
            id="same port",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1, "hostPort": 2}, {"containerPort": 1}]},
            ["ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
            id="overlapping, without a host's",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1}, {"containerPort": 1, "hostPort": 2}]},
            ["ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
            id="overlapping, with a host's",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1, "hostPort": 2, "hostIP": "1.1.1.1"}, {"containerPort": 1, "hostPort": 2}]},
            ["ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]"],
            id="ambiguous",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1, "hostPort": 2}, {"containerPort": 1, "hostPort": 3}]}, [], id="two ports of the host"
        ),
    ],
)
def test_of_a_container(changes: dict[str, Any], expected: list[str]) -> None:
    told = of_container(**changes)
    assert begins(told, *expected), told


def test_ports_of_several_containers_overlap() -> None:
    ports = [{"containerPort": 80, "protocol": "TCP"}]
    told = of_spec(containers=[{"name": "a", "ports": ports}, {"name": "b", "ports": ports}])
    assert told == ["spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]"]


def test_many_ports_cost_no_more_than_looking_at_each() -> None:
    ports = [{"containerPort": 1, "hostPort": number, "protocol": "TCP"} for number in range(1, 20_001)]
    begun = time.process_time()
    assert of_spec(containers=[{"name": "a", "ports": ports}]) == []
    assert time.process_time() - begun < 2  # all pairs would take minutes


def test_number_of_warnings_is_limited() -> None:
    assert len(of_container(env=[{"name": "A"}] * 10_000)) == warnings.MAX_WARNINGS


@pytest.mark.parametrize(
    ("key", "spec", "expected"),
    [
        pytest.param(
            "scheduler.alpha.kubernetes.io/critical-pod", {}, 'non-functional in v1.16+; use the "priorityClassName"', id="critical"
        ),
        pytest.param("security.alpha.kubernetes.io/sysctls", {}, 'non-functional in v1.11+; use the "sysctls"', id="sysctls"),
        pytest.param("security.alpha.kubernetes.io/unsafe-sysctls", {}, 'non-functional in v1.11+; use the "sysctls"', id="unsafe"),
        pytest.param(
            "seccomp.security.alpha.kubernetes.io/pod", {}, 'non-functional in v1.27+; use the "seccompProfile"', id="seccomp"
        ),
        pytest.param(
            "seccomp.security.alpha.kubernetes.io/pod", {"securityContext": {"seccompProfile": {"type": "a"}}}, "", id="field"
        ),
        pytest.param(
            "container.seccomp.security.alpha.kubernetes.io/c", {}, "non-functional in v1.27+", id="seccomp of a container"
        ),
        pytest.param("container.seccomp.security.alpha.kubernetes.io/z", {}, "", id="seccomp of no container"),
        pytest.param("container.apparmor.security.beta.kubernetes.io/c", {}, "deprecated since v1.30", id="AppArmor"),
        pytest.param(
            "container.apparmor.security.beta.kubernetes.io/c",
            {"securityContext": {"appArmorProfile": {"type": "a"}}},
            "",
            id="pod's",
        ),
        pytest.param("example.com/a", {}, "", id="another"),
    ],
)
def test_of_annotations_of_pods(key: str, spec: dict[str, Any], expected: str) -> None:
    told = of_annotations(key, **spec)
    assert begins(told, *([f"[{key}]: {expected}"] if expected else [])), told


@pytest.mark.parametrize(
    ("group", "kind", "use"),
    [
        ("", "Pod", "this is the hostname of the Pod"),
        ("", "ReplicationController", "this is used in Pod names and hostnames"),
        ("apps", "Deployment", "this is used in Pod names and hostnames"),
        ("apps", "ReplicaSet", "this is used in Pod names and hostnames"),
        ("batch", "Job", "this is used in Pod names and hostnames"),
        ("batch", "CronJob", "this is used in Pod names and hostnames"),
        ("apps", "DaemonSet", ""),
        ("apps", "StatefulSet", ""),
    ],
)
def test_of_names_that_become_hostnames(group: str, kind: str, use: str) -> None:
    def told(name: str) -> list[str]:
        return warnings.create(group, kind, {"metadata": {"name": name}})

    assert told("plain-0") == []
    for name, reason in (("with.dots", "must not contain dots"), ("a" * 64, "must be no more than 63 characters")):
        expected = [f"metadata.name: {use}, which can surprise; a DNS label is recommended: {reason}"] if use else []
        assert told(name) == expected


@pytest.mark.parametrize(
    ("group", "kind", "path"),
    [
        ("", "PodTemplate", "template"),
        ("", "ReplicationController", "spec.template"),
        ("apps", "DaemonSet", "spec.template"),
        ("apps", "Deployment", "spec.template"),
        ("apps", "ReplicaSet", "spec.template"),
        ("apps", "StatefulSet", "spec.template"),
        ("batch", "Job", "spec.template"),
        ("batch", "CronJob", "spec.jobTemplate.spec.template"),
    ],
)
def test_of_templates_when_they_are_new_or_their_generation_is(group: str, kind: str, path: str) -> None:
    inner: Any = {
        "metadata": {"annotations": {"security.alpha.kubernetes.io/sysctls": ""}},
        "spec": {"hostAliases": [{"ip": LONG}]},
    }
    for name in reversed(path.split(".")):
        inner = {name: inner}
    new, old = {**META, **inner}, {"metadata": {"generation": 0}}
    fields = [f"{path}.metadata.annotations[security.alpha.kubernetes.io/sysctls]", f"{path}.spec.hostAliases[0].ip"]
    for told in (warnings.create(group, kind, new), warnings.update(group, kind, new, old=old)):
        assert [one.partition(": ")[0] for one in told] == fields
    assert warnings.update(group, kind, new, old={"metadata": {"generation": 1}}) == []


def test_changed_pods_get_no_name_warnings() -> None:
    bad = {**POD, "spec": {"terminationGracePeriodSeconds": -1}}
    assert warnings.update("", "Pod", bad, old=POD) == []


@pytest.mark.parametrize(
    ("group", "kind", "spec", "expected"),
    [
        pytest.param(
            "apps",
            "StatefulSet",
            {"volumeClaimTemplates": [{"spec": {"resources": {"limits": {"storage": "1.5"}}}}]},
            'spec.volumeClaimTemplates[0].spec.resources.limits[storage]: fractional byte value "1500m"',
            id="claim template",
        ),
        pytest.param(
            "apps", "StatefulSet", {"revisionHistoryLimit": -1}, "spec.revisionHistoryLimit: a negative value", id="history"
        ),
        pytest.param(
            "batch",
            "Job",
            {"completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001},
            "spec: with over",
            id="indexes",
        ),
        pytest.param(
            "batch",
            "CronJob",
            {"jobTemplate": {"spec": {"completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001}}},
            "spec.jobTemplate.spec: with over",
            id="indexes of jobs",
        ),
    ],
)
def test_of_workloads(group: str, kind: str, spec: dict[str, Any], expected: str) -> None:
    told = warnings.create(group, kind, {**META, "spec": spec})
    assert begins(told, expected), told


def test_of_time_zones_in_schedules() -> None:
    new = {**META, "spec": {"schedule": "TZ=UTC * * * * *"}}
    assert begins(warnings.update("batch", "CronJob", new, old=new), "spec.schedule: TZ and CRON_TZ")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"clusterIP": "None", "loadBalancerIP": "1.1.1.1"}, ["spec.loadBalancerIP is ignored for headless"], id="balancer"
        ),
        pytest.param(
            {"clusterIP": "None", "externalIPs": ["1.1.1.1"]}, ["spec.externalIPs is ignored for headless"], id="headless"
        ),
        pytest.param({"clusterIP": "None", "sessionAffinity": "ClientIP"}, ["spec.SessionAffinity is ignored"], id="affinity"),
        pytest.param({"externalIPs": ["1.1.1.1"]}, ["spec.externalIPs is deprecated"], id="external addresses"),
        pytest.param(
            {"type": "ExternalName", "externalIPs": ["1.1.1.1"]}, ['spec.externalIPs is ignored when spec.type is "E'], id="name"
        ),
        pytest.param({"externalName": "a.b"}, ["spec.externalName is ignored when spec.type is not"], id="external name"),
        pytest.param({"trafficDistribution": "PreferClose"}, ['spec.trafficDistribution: "PreferClose" is deprecated'], id="close"),
        pytest.param({"trafficDistribution": "PreferSameZone"}, [], id="same zone"),
        pytest.param({"clusterIPs": [LONG]}, ["spec.clusterIPs[0]: IPv6 address"], id="address"),
        pytest.param({"loadBalancerIP": MAPPED}, ["spec.loadBalancerIP: non-standard IP address"], id="address of a balancer"),
        pytest.param({"loadBalancerSourceRanges": ["10.0.0.1/8"]}, ["spec.loadBalancerSourceRanges[0]: CIDR value"], id="range"),
    ],
)
def test_of_services(spec: dict[str, Any], expected: list[str]) -> None:
    told = of_service(**spec)
    assert begins(told, *expected), told


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("10.0.0.0/8", "", id="as it should be"),
        pytest.param("2001:db8::/64", "", id="as IPv6 should be"),
        pytest.param(
            "10.1.2.3/8", 'is ambiguous: the network would be "10.0.0.0/8", the address alone "10.1.2.3/32"', id="ambiguous"
        ),
        pytest.param("2001:DB8::/64", 'should be in RFC 5952 canonical format ("2001:db8::/64")', id="capitals"),
        pytest.param("::ffff:10.0.0.0/104", "will be invalid in a future release", id="IPv4 in IPv6"),
    ],
)
def test_of_ranges(value: str, expected: str) -> None:
    told = of_service(loadBalancerSourceRanges=[value])
    assert len(told) == bool(expected)
    assert all(f'CIDR value "{value}" {expected}' in one for one in told)


@pytest.mark.parametrize(
    ("group", "kind", "object_", "expected"),
    [
        pytest.param(
            "",
            "Service",
            {"metadata": {"annotations": {"service.kubernetes.io/topology-aware-hints": "auto"}}},
            "annotation service.kubernetes.io/topology-aware-hints is deprecated",
            id="hints",
        ),
        pytest.param(
            "", "Endpoints", {"subsets": [{"addresses": [{"ip": LONG}]}]}, "subsets[0].addresses[0].ip: IPv6", id="endpoints"
        ),
        pytest.param(
            "",
            "Endpoints",
            {"subsets": [{"notReadyAddresses": [{"ip": MAPPED}]}]},
            "subsets[0].notReadyAddresses[0].ip: non",
            id="unready",
        ),
        pytest.param(
            "discovery.k8s.io", "EndpointSlice", {"addressType": "FQDN"}, "spec.addressType: FQDN endpoints are", id="names"
        ),
        pytest.param(
            "discovery.k8s.io",
            "EndpointSlice",
            {"endpoints": [{"addresses": [LONG]}]},
            "endpoints[0].addresses[0]: IPv6",
            id="slice",
        ),
        pytest.param(
            "networking.k8s.io",
            "NetworkPolicy",
            {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]}},
            "spec.ingress[0].from[0].ipBlock.cidr: CIDR value",
            id="policy",
        ),
        pytest.param(
            "networking.k8s.io",
            "NetworkPolicy",
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.1/16"]}}]}]}},
            "spec.egress[0].to[0].ipBlock.except[0]: CIDR value",
            id="exception",
        ),
        pytest.param(
            "",
            "PersistentVolumeClaim",
            {"metadata": {"annotations": {OLD_CLASS: "a"}}},
            f'metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use "storageClassName"',
            id="claim's class",
        ),
        pytest.param(
            "",
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"storage": "1m"}}}},
            "spec.resources.requests[storage]: fractional byte value",
            id="claim",
        ),
        pytest.param(
            "",
            "PersistentVolume",
            {"metadata": {"annotations": {OLD_CLASS: "a"}}},
            f"metadata.annotations[{OLD_CLASS}]: deprecated since v1.8",
            id="volume's class",
        ),
        pytest.param(
            "",
            "PersistentVolume",
            {"spec": {"persistentVolumeReclaimPolicy": "Recycle"}},
            "spec.persistentVolumeReclaimPolicy: Recycle is deprecated",
            id="Recycle",
        ),
        pytest.param("", "PersistentVolume", {"spec": {"cephfs": {}}}, "spec.cephfs: deprecated in v1.28", id="cephfs"),
        pytest.param(
            "",
            "PersistentVolume",
            {
                "spec": {
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "values": ["-"]}]}]}}
                }
            },
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values[0]: - is invalid",
            id="no value of a label",
        ),
        pytest.param(
            "storage.k8s.io",
            "StorageClass",
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os"}]}]},
            "allowedTopologies[0].matchLabelExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14",
            id="class",
        ),
        pytest.param(
            "storage.k8s.io",
            "CSIStorageCapacity",
            {"nodeTopology": {"matchLabels": {"beta.kubernetes.io/os": "a"}}},
            "nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14",
            id="capacity",
        ),
        pytest.param(
            "node.k8s.io",
            "RuntimeClass",
            {"scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "a"}}},
            "scheduling.nodeSelector: deprecated since v1.14",
            id="runtime",
        ),
        pytest.param("", "Node", {"spec": {"externalID": "a"}}, "spec.externalID: this field is deprecated", id="external ID"),
        pytest.param("", "Node", {"spec": {"configSource": {}}}, "spec.configSource: ", id="config source"),
        pytest.param("", "Node", {"spec": {"podCIDRs": ["10.0.0.1/8"]}}, "spec.podCIDRs[0]: CIDR value", id="range of pods"),
    ],
)
def test_of_others_whenever_they_are_written(group: str, kind: str, object_: dict[str, Any], expected: str) -> None:
    given = {"metadata": {}, **object_}
    for told in (warnings.create(group, kind, given), warnings.update(group, kind, given, old=given)):
        assert begins(told, expected), told


@pytest.mark.parametrize(
    ("group", "kind", "label"),
    [
        ("", "Endpoints", {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}),
        ("discovery.k8s.io", "EndpointSlice", {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}),
    ],
)
def test_addresses_that_controllers_write_are_not_looked_at(group: str, kind: str, label: dict[str, str]) -> None:
    listed = {"subsets": [{"addresses": [{"ip": LONG}]}], "endpoints": [{"addresses": [LONG]}]}
    assert warnings.create(group, kind, {"metadata": {"labels": label}, **listed}) == []


def test_of_the_class_of_an_ingress_when_it_is_new() -> None:
    ingress = {"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}}
    assert begins(
        warnings.create("networking.k8s.io", "Ingress", ingress), 'annotation "kubernetes.io/ingress.class" is deprecated'
    )
    assert warnings.update("networking.k8s.io", "Ingress", ingress, old=ingress) == []


def test_of_an_account_that_limits_its_secrets_from_now_on() -> None:
    key = "kubernetes.io/enforce-mountable-secrets"
    new, expected = {"metadata": {"annotations": {key: "true"}}}, f"metadata.annotations[{key}]: deprecated in v1.32+"
    assert begins(warnings.create("", "ServiceAccount", new), expected)
    assert begins(warnings.update("", "ServiceAccount", new, old={"metadata": {}}), expected)
    assert warnings.update("", "ServiceAccount", new, old=new) == []


def secret(certificate: bytes, key: bytes, type_: str = "kubernetes.io/tls") -> list[str]:
    data = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    return warnings.create("", "Secret", {"metadata": {}, "type": type_, "data": data})


def test_of_secrets_for_tls() -> None:
    ca = trustme.CA()
    one, other = ca.issue_cert("a.example.com"), ca.issue_cert("b.example.com")
    certificate, key = one.cert_chain_pems[0].bytes(), one.private_key_pem.bytes()
    assert secret(certificate, key) == []
    assert begins(secret(certificate, other.private_key_pem.bytes()), "tls: private key does not match public key")
    assert secret(b"x", key) == ["tls: tls.crt contains no readable certificate"]
    assert secret(certificate, b"x") == ["tls: tls.key contains no readable private key"]
    assert secret(b"x", b"x", "Opaque") == []


def test_unknown_formats_are_warned_about() -> None:
    schema = {
        "properties": {
            "a": {"type": "string", "format": "bogus"},
            "b": {"type": "array", "items": {"type": "string", "format": "date-time"}},
            "c": {"type": "integer", "format": "int32"},
            "d": {"anyOf": [{"type": "string", "format": "odd"}]},
        }
    }
    crd = {**META, "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    told = warnings.create("apiextensions.k8s.io", "CustomResourceDefinition", crd)
    assert begins(
        told,
        'spec.validation.openAPIV3Schema.properties[a].format: unrecognized format "bogus"',
        'spec.validation.openAPIV3Schema.properties[d].anyOf[0].format: unrecognized format "odd"',
    ), told


def test_of_finalizers_of_custom_objects() -> None:
    new = {"metadata": {"finalizers": ["a.example.com", "example.com/b", "foregroundDeletion"]}}
    assert begins(warnings.custom(new), 'metadata.finalizers: "a.example.com": prefer a domain-qualified name including a path (/)')
    assert warnings.custom(new, {"metadata": {}}) == warnings.custom(new)
    assert warnings.custom(new, new) == []
