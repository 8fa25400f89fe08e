"""Pods: rules that tie one part of the spec to another, or that few Pods ever meet."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.field_errors import FieldError
from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from probate.kinds.core.pods.validation import resize, update
from support.valid_objects import sample

Causes = list[tuple[str, str]]
C = "spec.containers[0]"
NEEDED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = f"spec.affinity.nodeAffinity.{NEEDED}.nodeSelectorTerms"
COST = "controller.kubernetes.io/pod-deletion-cost"
MIRROR = "kubernetes.io/config.mirror"
ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def causes(problems: list[FieldError]) -> Causes:
    return sorted({(problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems})


def pod(container: dict[str, Any] | None = None, notes: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", **(container or {})}]
    return {"metadata": {"name": "p", "annotations": notes or {}}, "spec": {"containers": containers, **spec}}


def of_container(**container: Any) -> Causes:
    found = causes(validation.create(GroupVersionKind("", "v1", "Pod"), pod(container, terminationGracePeriodSeconds=30)))
    return [(field.removeprefix(C + "."), reason) for field, reason in found]


def of_spec(**spec: Any) -> Causes:
    return causes(validation.create(GroupVersionKind("", "v1", "Pod"), pod(**spec)))


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}, []),
        ({"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]}, [("resizePolicy", "NotSupported")]),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "Maybe"}]}, [("resizePolicy", "NotSupported")]),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2}, [("resizePolicy[1]", "Duplicate")]),
        (
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
            [("restartPolicy", "Required")],
        ),
        (
            {
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
            },
            [],
        ),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Sleep"}]},
            [("restartPolicyRules[0].action", "NotSupported"), ("restartPolicyRules[0].exitCodes", "Required")],
        ),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "Is"}}] * 21},
            [
                ("restartPolicyRules", "TooMany"),
                *((f"restartPolicyRules[{at}].exitCodes.operator", "NotSupported") for at in range(21)),
            ],
        ),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 30}}}}, []),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}, [("lifecycle.preStop.sleep", "Invalid")]),
        ({"resources": {"limits": {"requests.a.com/b": "1"}}}, [("resources.limits[requests.a.com/b]", "Invalid")]),
        ({"resources": {"limits": {"kubernetes.io/batch-cpu": "500m"}}}, []),
        ({"resources": {"limits": {"hugepages-foo": "1", "cpu": "1"}}}, [("resources.limits[hugepages-foo]", "Invalid")]),
        ({"resources": {"limits": {"storage": "1"}}}, [("resources.limits[storage]", "Invalid")]),
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "A_b", "key": "k"}}}]},
            [("env[0].valueFrom.configMapKeyRef.name", "Invalid")],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v9", "fieldPath": "metadata.name"}}}]},
            [("env[0].valueFrom.fieldRef.fieldPath", "Invalid")],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['Foo.com/Bar']"}}}]},
            [("env[0].valueFrom.fieldRef", "Invalid")],
        ),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['Foo.com/Bar']"}}}]}, []),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gold", "divisor": "2"}}}]},
            [("env[0].valueFrom.resourceFieldRef.resource", "NotSupported")],
        ),
        ({"envFrom": [{"configMapRef": {"name": "abc-"}}]}, []),
        ({"envFrom": [{"configMapRef": {"name": "A_"}}]}, [("envFrom[0].configMapRef.name", "Invalid")]),
        ({"securityContext": {"procMount": "Unmasked"}}, [("securityContext.procMount", "Invalid")]),
        ({"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": ""}}}, []),
        (
            {"securityContext": {"appArmorProfile": {"type": "Other", "localhostProfile": "a"}}},
            [("securityContext.appArmorProfile.type", "NotSupported")],
        ),
        (
            {"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": " a"}}},
            [("securityContext.appArmorProfile.localhostProfile", "Invalid")],
        ),
        (
            {"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": "a" * 4096}}},
            [("securityContext.appArmorProfile.localhostProfile", "TooLong")],
        ),
        (
            {"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "A_", "gmsaCredentialSpec": ""}}},
            [
                ("securityContext.windowsOptions.gmsaCredentialSpec", "Invalid"),
                ("securityContext.windowsOptions.gmsaCredentialSpecName", "Invalid"),
            ],
        ),
    ],
    ids=lambda value: str(value)[:70],
)
def test_containers(container: dict[str, Any], expected: Causes) -> None:
    assert of_container(**container) == sorted(expected)


@pytest.mark.parametrize("name", ["user", "DOMAIN\\user", "example.com\\user", "NT AUTHORITY\\SYSTEM"])
def test_users_of_windows(name: str) -> None:
    assert of_container(securityContext={"windowsOptions": {"runAsUserName": name}}) == []


@pytest.mark.parametrize("name", ["", "a\\b\\c", "a\nb", ".dot\\user", "domain\\", "...", "a" * 105, "us:er"])
def test_invalid_windows_user_names(name: str) -> None:
    found = of_container(securityContext={"windowsOptions": {"runAsUserName": name}})
    assert found == [("securityContext.windowsOptions.runAsUserName", "Invalid")]


def test_a_resize_restarts_nothing_that_is_never_restarted() -> None:
    never = pod({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}, restartPolicy="Never")
    assert causes(validation.create(GroupVersionKind("", "v1", "Pod"), never)) == [(C + ".resizePolicy", "Invalid")]


VOLUMES = [{"name": "v", "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": {"claimName": "x"}}]


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (
            {"volumeMounts": [{"name": "b", "mountPath": "/a"}], "volumeDevices": [{"name": "b", "devicePath": "/dev/x"}]},
            [("volumeDevices[0].name", "Invalid"), ("volumeMounts[0].name", "Invalid")],
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/x"}], "volumeDevices": [{"name": "b", "devicePath": "/x"}]},
            [("volumeDevices[0].devicePath", "Invalid"), ("volumeMounts[0].mountPath", "Invalid")],
        ),
        (
            {"volumeDevices": [{"name": "b", "devicePath": "/x"}, {"name": "b", "devicePath": "/y"}]},
            [("volumeDevices[1].name", "Invalid")],
        ),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x", "readOnly": True, "recursiveReadOnly": "Enabled"}]}, []),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x", "recursiveReadOnly": "Disabled"}]}, []),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/x", "recursiveReadOnly": "Enabled"}]},
            [("volumeMounts.recursiveReadOnly", "Forbidden")],
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/x", "recursiveReadOnly": "Maybe"}]},
            [("volumeMounts.recursiveReadOnly", "NotSupported")],
        ),
    ],
    ids=lambda value: str(value)[:70],
)
def test_mounts_and_devices(container: dict[str, Any], expected: Causes) -> None:
    found = causes(validation.create(GroupVersionKind("", "v1", "Pod"), pod(container, volumes=VOLUMES)))
    assert found == [(f"{C}.{field}", reason) for field, reason in expected]


TERM = {"topologyKey": "zone"}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
SELECTED = {"labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["c"]}]}}


def of_term(**term: Any) -> Causes:
    found = of_spec(affinity={"podAffinity": {NEEDED: [{**TERM, **term}]}})
    return [(field.removeprefix(f"spec.affinity.podAffinity.{NEEDED}[0]"), reason) for field, reason in found]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({"matchLabelKeys": ["a"], "labelSelector": {}}, []),
        ({"matchLabelKeys": ["a"]}, [(".matchLabelKeys", "Forbidden")]),
        ({"mismatchLabelKeys": ["a b"], "labelSelector": {}}, [(".mismatchLabelKeys[0]", "Invalid")]),
        ({"matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"], "labelSelector": {}}, [(".matchLabelKeys[0]", "Invalid")]),
        ({"matchLabelKeys": ["a"], **SELECTED}, [("[0]", "Invalid")]),
    ],
    ids=str,
)
def test_keys_of_labels_to_match_by(term: dict[str, Any], expected: Causes) -> None:
    assert of_term(**term) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"topologySpreadConstraints": [{**SPREAD, "matchLabelKeys": ["a"]}]},
            [("spec.topologySpreadConstraints[0].matchLabelKeys", "Forbidden")],
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "matchLabelKeys": ["a"], **SELECTED}]},
            [("spec.topologySpreadConstraints[0].matchLabelKeys[0]", "Invalid")],
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        NEEDED: {"nodeSelectorTerms": [{"matchFields": [{"key": "x", "operator": "In", "values": ["A_"]}]}]}
                    }
                }
            },
            [(f"{TERMS}[0].matchFields[0].key", "Invalid")],
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        NEEDED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]}]}
                    }
                }
            },
            [(f"{TERMS}[0].matchExpressions[0].values[0]", "Invalid")],
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]}}
                        ]
                    }
                }
            },
            [],
        ),
        ({"resourceClaims": [{"name": "x"}]}, [("spec.resourceClaims[0]", "Invalid")]),
        ({"resourceClaims": [{"name": "x", "resourceClaimName": "A_"}]}, [("spec.resourceClaims[0].resourceClaimName", "Invalid")]),
        ({"resources": {"limits": {"a.com/b": "1"}}}, [("spec.resources.limits[a.com/b]", "NotSupported")]),
        ({"resources": {"limits": {"ephemeral-storage": "1"}}}, [("spec.resources.limits[ephemeral-storage]", "NotSupported")]),
        (
            {"resources": {"claims": [{"name": "x"}]}},
            [("spec.resources.claims", "Forbidden"), ("spec.resources.claims[0]", "NotFound")],
        ),
        (
            {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net/core/somaxconn"}]}},
            [("spec.securityContext.sysctls[0].name", "Invalid")],
        ),
        (
            {"hostIPC": True, "securityContext": {"sysctls": [{"name": "kernel.sem"}]}},
            [("spec.securityContext.sysctls[0].name", "Invalid")],
        ),
        ({"hostIPC": True, "securityContext": {"sysctls": [{"name": "net.core.somaxconn"}]}}, []),
        ({"dnsPolicy": "None", "dnsConfig": {"searches": ["A_"]}}, [("spec.dnsConfig.nameservers", "Required")]),
        ({"dnsConfig": {"searches": ["_a.b_c.d", "."]}}, []),
        ({"dnsConfig": {"searches": ["-a"]}}, [("spec.dnsConfig.searches[0]", "Invalid")]),
        ({"hostAliases": [{"ip": "fe80::1%eth0"}]}, [("spec.hostAliases[0].ip", "Invalid")]),
        ({"hostAliases": [{"ip": "::ffff:1.2.3.4"}]}, [("spec.hostAliases[0].ip", "Invalid")]),
        ({"hostnameOverride": "a.b"}, []),
        ({"hostnameOverride": "A_"}, [("spec.hostnameOverride", "Invalid")]),
        ({"hostnameOverride": "a" * 60 + ".abcd"}, [("spec.hostnameOverride", "TooLong")]),
        ({"hostnameOverride": "a", "setHostnameAsFQDN": True}, [("spec.hostnameOverride", "Forbidden")]),
        (
            {"os": {"name": "windows"}, "hostPID": True, "securityContext": {"runAsUser": 1, "fsGroup": 1}},
            [
                ("spec.hostPID", "Forbidden"),
                ("spec.securityContext.fsGroup", "Forbidden"),
                ("spec.securityContext.runAsUser", "Forbidden"),
            ],
        ),
        ({"os": {"name": "windows"}, "hostPID": False, "securityContext": {"windowsOptions": {"runAsUserName": "a"}}}, []),
        (
            {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "a"}}},
            [("spec.securityContext.windowsOptions", "Forbidden")],
        ),
        ({"securityContext": {"windowsOptions": {"hostProcess": True}}}, [("spec.hostNetwork", "Invalid")]),
        ({"hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": True}}}, []),
        ({"ephemeralContainers": [{"name": "e", "image": "i"}]}, [("spec.ephemeralContainers", "Forbidden")]),
    ],
    ids=lambda value: str(value)[:70],
)
def test_specs(spec: dict[str, Any], expected: Causes) -> None:
    assert of_spec(**spec) == expected


def test_containers_of_windows_are_processes_of_the_host_together() -> None:
    one = {"windowsOptions": {"hostProcess": True}}
    mixed = pod({"securityContext": {"windowsOptions": {"hostProcess": False}}}, hostNetwork=True, securityContext=one)
    place = C + ".securityContext.windowsOptions.hostProcess"
    assert causes(validation.create(GroupVersionKind("", "v1", "Pod"), mixed)) == [(place, "Invalid")]
    some = pod({"securityContext": one}, hostNetwork=True, initContainers=[{"name": "i", "image": "i"}])
    assert causes(validation.create(GroupVersionKind("", "v1", "Pod"), some)) == [("spec", "Invalid")]


def test_containers_request_at_most_what_the_pod_requests() -> None:
    asked = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}}
    within = pod(asked, resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4"}})
    assert validation.create(GroupVersionKind("", "v1", "Pod"), within) == []
    beyond = pod(asked, resources={"requests": {"cpu": "1"}, "limits": {"cpu": "3"}})
    expected = [("spec.resources.containers[0][cpu].limits", "Invalid"), ("spec.resources.requests[cpu]", "Invalid")]
    assert causes(validation.create(GroupVersionKind("", "v1", "Pod"), beyond)) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([{"name": "x", "request": "a"}, {"name": "x", "request": "b"}], []),
        ([{"name": "x", "request": "A"}], [("claims[0].request", "Invalid")]),
        ([{"name": "x", "request": "a"}, {"name": "x"}], [("claims[1]", "Duplicate")]),
        ([{"name": "x"}, {"name": "x", "request": "a"}], [("claims[1]", "Duplicate")]),
    ],
    ids=str,
)
def test_parts_of_a_claim_are_used_once_each(claims: list[dict[str, str]], expected: Causes) -> None:
    claimed = pod({"resources": {"claims": claims}}, resourceClaims=[{"name": "x", "resourceClaimName": "y"}])
    assert causes(validation.create(GroupVersionKind("", "v1", "Pod"), claimed)) == [
        (f"{C}.resources.{field}", reason) for field, reason in expected
    ]


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ({COST: "-5"}, []),
        ({COST: "+5"}, [(COST, "Invalid")]),
        ({COST: "05"}, [(COST, "Invalid")]),
        ({COST: str(2**31)}, [(COST, "Invalid")]),
        ({MIRROR: "x"}, [(MIRROR, "Invalid")]),
        ({ARMOR + "c": "localhost/x"}, []),
        ({ARMOR + "c": "other"}, [(ARMOR + "c", "Invalid")]),
        ({ARMOR + "d": "unconfined"}, [(ARMOR + "d", "Invalid")]),
    ],
    ids=str,
)
def test_annotations(notes: dict[str, str], expected: Causes) -> None:
    found = causes(validation.create(GroupVersionKind("", "v1", "Pod"), pod(notes=notes)))
    assert found == [(f"metadata.annotations[{key}]", reason) for key, reason in expected]


def test_annotations_of_templates_are_reported_without_metadata() -> None:
    key, deployment = sample("Deployment", spec__template__metadata__annotations={COST: "x"})
    assert causes(validation.create(GroupVersionKind(*key), deployment)) == [(f"spec.template.annotations[{COST}]", "Invalid")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {MIRROR: "x"}, [(MIRROR, "Forbidden")]),
        ({MIRROR: "x"}, {}, [(MIRROR, "Forbidden")]),
        ({ARMOR + "c": "unconfined"}, {ARMOR + "c": "runtime/default"}, [(ARMOR + "c", "Forbidden")]),
        ({COST: "x"}, {COST: "y"}, []),
        ({COST: "1"}, {COST: "y"}, [(COST, "Invalid")]),
    ],
    ids=str,
)
def test_annotations_that_may_not_change(old: dict[str, str], new: dict[str, str], expected: Causes) -> None:
    found = validation.update(GroupVersionKind("", "v1", "Pod"), pod(notes=new, nodeName="n"), pod(notes=old, nodeName="n"))
    assert causes(found) == [(f"metadata.annotations[{key}]", reason) for key, reason in expected]


def test_gates_may_go_with_a_node_in_a_template() -> None:
    gated = {"schedulingGates": [{"name": "a"}], "nodeName": "n"}
    key, template = sample("PodTemplate", template__spec={**pod()["spec"], **gated})
    assert validation.create(GroupVersionKind(*key), template) == []
    assert of_spec(**gated) == [("spec.nodeName", "Forbidden")]


ONE, TWO = ({"key": key, "operator": "Exists"} for key in ("a", "b"))


def nodes(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {NEEDED: {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}}}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"nodeSelector": {"a": "b"}}, []),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "c"}}, [("spec.nodeSelector", "Invalid")]),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"c": "d"}}, [("spec.nodeSelector", "Invalid")]),
        ({}, nodes([ONE]), []),
        (nodes([ONE]), nodes([ONE, TWO]), []),
        (nodes([ONE]), nodes([TWO]), [(f"{TERMS}[0]", "Invalid")]),
        (nodes([ONE]), nodes([ONE], [TWO]), [(TERMS, "Invalid")]),
        (nodes([ONE]), {"affinity": None}, [(TERMS, "Invalid")]),
        ({}, {"affinity": {"podAffinity": {NEEDED: [TERM]}}}, [("spec", "Forbidden")]),
    ],
    ids=lambda value: str(value)[-70:],
)
def test_a_gated_pod_may_be_narrowed_down(old: dict[str, Any], new: dict[str, Any], expected: Causes) -> None:
    gates: dict[str, Any] = {"schedulingGates": [{"name": "g"}]}
    assert causes(validation.update(GroupVersionKind("", "v1", "Pod"), pod(**gates, **new), pod(**gates, **old))) == expected


def test_first_kind_of_problem_of_a_changed_pod_is_reported_alone() -> None:
    more = pod(initContainers=[{"name": "i", "image": "i"}])
    more["spec"]["containers"].append({"name": "d", "image": "i"})
    assert causes(validation.update(GroupVersionKind("", "v1", "Pod"), more, pod())) == [("spec.containers", "Forbidden")]
    later = pod(activeDeadlineSeconds=10, hostname="a")
    assert causes(validation.update(GroupVersionKind("", "v1", "Pod"), later, pod(activeDeadlineSeconds=5))) == [
        ("spec.activeDeadlineSeconds", "Invalid")
    ]


def sized(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return pod({"resources": {"requests": requests or {}, "limits": limits or {}}}, **spec)


SIDECAR = {"name": "i", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
INIT = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "1"}}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (sized({"cpu": "1"}), sized({"cpu": "2"}, {"memory": "1Gi"}), []),
        (sized({"cpu": "1", "memory": "1"}), sized({"cpu": "1"}), [(C + ".resources.requests", "Forbidden")]),
        (sized({"cpu": "1"}, {"cpu": "2"}), sized({"cpu": "1"}), [(C + ".resources.limits", "Forbidden")]),
        (sized({"cpu": "1", "ephemeral-storage": "1"}), sized({"cpu": "1", "ephemeral-storage": "2"}), [("spec", "Forbidden")]),
        (sized({"cpu": "1"}), sized({"cpu": "1", "a.com/b": "1"}, {"a.com/b": "1"}), [("spec", "Forbidden")]),
        (
            sized(initContainers=[SIDECAR]),
            sized(initContainers=[{**SIDECAR, "resources": {"requests": {"memory": "1"}}}]),
            [("spec.initContainers[0].resources.requests", "Forbidden")],
        ),
        (
            sized(initContainers=[INIT]),
            sized(initContainers=[{**INIT, "resources": {"requests": {"cpu": "2"}}}]),
            [("spec", "Forbidden")],
        ),
        (sized({"cpu": "1"}, os={"name": "windows"}), sized({"cpu": "2"}, os={"name": "windows"}), [("", "Forbidden")]),
        (sized({"cpu": "1"}, notes={MIRROR: "x"}), sized({"cpu": "2"}, notes={MIRROR: "x"}), [("", "Forbidden")]),
    ],
    ids=["grown", "request gone", "limit gone", "storage", "extended", "sidecar", "init", "windows", "static"],
)
def test_what_a_resize_may_change(old: dict[str, Any], new: dict[str, Any], expected: Causes) -> None:
    assert causes(list(resize.check_resize(new, old))) == expected


@pytest.mark.parametrize(
    ("container", "field", "reason"),
    [
        ({"restartPolicy": "Always"}, "restartPolicy", "Forbidden"),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}, "resizePolicy", "Forbidden"),
        ({"image": " i"}, "image", "Invalid"),
    ],
    ids=str,
)
def test_containers_for_debugging(container: dict[str, Any], field: str, reason: str) -> None:
    new = pod(ephemeralContainers=[{"name": "e", "image": "i", **container}])
    assert causes(list(update.check_ephemeral_containers(new, pod()))) == [(f"spec.ephemeralContainers[0].{field}", reason)]


def test_static_pods_accept_no_ephemeral_containers() -> None:
    static = pod(notes={MIRROR: "x"}, nodeName="n")
    assert causes(list(update.check_ephemeral_containers(static, static))) == [("", "Forbidden")]
