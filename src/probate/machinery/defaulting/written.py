"""Fields that Kubernetes writes even when they hold nothing, so that clients may rely on them: `status: {}`, `rules: null`.

`empty` is an object as Kubernetes writes it when nothing was given at all; whoever records which fields a request has set
(managedFields) starts from it.
"""

from __future__ import annotations

from typing import Any

from probate.machinery.defaulting.fields import Object, child

_SPEC: Object = {"spec": {}}
_BOTH: Object = {"spec": {}, "status": {}}
_POD_TEMPLATE: Object = {"metadata": {}, "spec": {}}
_NODE_INFO = (
    *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion"),
    *("machineID", "operatingSystem", "osImage", "systemUUID"),
)
_CORE_EVENT: Object = {
    "involvedObject": {},
    "source": {},
    "eventTime": None,
    "firstTimestamp": None,
    "lastTimestamp": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_EVENT: Object = {
    "regarding": {},
    "deprecatedSource": {},
    "eventTime": None,
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
_NODE_STATUS = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": dict.fromkeys(_NODE_INFO, "")}
_DAEMON_SET_STATUS = dict.fromkeys(("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"), 0)
_BUDGET_STATUS = dict.fromkeys(("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0)
_ROLE_REF = {"apiGroup": "", "kind": "", "name": ""}
_SCALER_STATUS = {"v1": {"currentReplicas": 0, "desiredReplicas": 0}, "v2": {"currentMetrics": None, "desiredReplicas": 0}}

_WRITTEN: dict[tuple[str, str], Object] = {
    ("", "Event"): _CORE_EVENT,
    ("", "LimitRange"): {"spec": {"limits": None}},
    ("", "Namespace"): _BOTH,
    ("", "Node"): {"spec": {}, "status": _NODE_STATUS},
    ("", "PersistentVolume"): _BOTH,
    ("", "PersistentVolumeClaim"): {"spec": {"resources": {}}, "status": {}},
    ("", "Pod"): _BOTH,
    ("", "PodTemplate"): {"template": _POD_TEMPLATE},
    ("", "ReplicationController"): {"spec": {}, "status": {"replicas": 0}},
    ("", "ResourceQuota"): _BOTH,
    ("", "Service"): {"spec": {}, "status": {"loadBalancer": {}}},
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _BOTH,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _SPEC,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _SPEC,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _SPEC,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {
        "spec": {},
        "status": {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": None},
    },
    ("apiregistration.k8s.io", "APIService"): {"spec": {"groupPriorityMinimum": 0, "versionPriority": 0}, "status": {}},
    ("apps", "DaemonSet"): {"spec": {"template": _POD_TEMPLATE, "updateStrategy": {}}, "status": _DAEMON_SET_STATUS},
    ("apps", "Deployment"): {"spec": {"template": _POD_TEMPLATE, "strategy": {}}, "status": {}},
    ("apps", "ReplicaSet"): {"spec": {"template": _POD_TEMPLATE}, "status": {"replicas": 0}},
    ("apps", "StatefulSet"): {
        "spec": {"template": _POD_TEMPLATE, "updateStrategy": {}},
        "status": {"availableReplicas": 0, "replicas": 0},
    },
    ("apps", "ControllerRevision"): {"revision": 0},
    ("autoscaling", "Scale"): {"spec": {}, "status": {"replicas": 0}},
    ("batch", "CronJob"): {"spec": {"jobTemplate": {"metadata": {}, "spec": {"template": _POD_TEMPLATE}}}, "status": {}},
    ("batch", "Job"): {"spec": {"template": _POD_TEMPLATE}, "status": {}},
    ("certificates.k8s.io", "CertificateSigningRequest"): _BOTH,
    ("coordination.k8s.io", "Lease"): _SPEC,
    ("discovery.k8s.io", "EndpointSlice"): {"endpoints": None, "ports": None},
    ("events.k8s.io", "Event"): _EVENT,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _BOTH,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _BOTH,
    ("networking.k8s.io", "Ingress"): {"spec": {}, "status": {"loadBalancer": {}}},
    ("networking.k8s.io", "IngressClass"): _SPEC,
    ("networking.k8s.io", "IPAddress"): _SPEC,
    ("networking.k8s.io", "NetworkPolicy"): {"spec": {"podSelector": {}}},
    ("networking.k8s.io", "ServiceCIDR"): _BOTH,
    ("policy", "PodDisruptionBudget"): {"spec": {}, "status": _BUDGET_STATUS},
    ("rbac.authorization.k8s.io", "ClusterRole"): {"rules": None},
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): {"roleRef": _ROLE_REF},
    ("rbac.authorization.k8s.io", "Role"): {"rules": None},
    ("rbac.authorization.k8s.io", "RoleBinding"): {"roleRef": _ROLE_REF},
    ("resource.k8s.io", "DeviceClass"): _SPEC,
    ("resource.k8s.io", "ResourceClaim"): {"spec": {"devices": {}}, "status": {}},
    ("resource.k8s.io", "ResourceClaimTemplate"): {"spec": {"metadata": {}, "spec": {"devices": {}}}},
    ("resource.k8s.io", "ResourceSlice"): _SPEC,
    ("scheduling.k8s.io", "PriorityClass"): {"value": 0},
    ("storage.k8s.io", "CSIDriver"): _SPEC,
    ("storage.k8s.io", "CSINode"): {"spec": {"drivers": None}},
    ("storage.k8s.io", "VolumeAttachment"): {"spec": {"source": {}}, "status": {"attached": False}},
}


def fill_written(group: str, version: str, kind: str, object_: Object) -> None:
    """Write what Kubernetes always writes, where it is absent."""
    _fill(object_, {"metadata": {}, **_shape(group, version, kind)})


def empty(group: str, version: str, kind: str) -> Object:
    """An object of this kind to which nobody has given anything."""
    object_: Object = {}
    fill_written(group, version, kind, object_)
    return object_


def _shape(group: str, version: str, kind: str) -> Object:
    if (group, kind) == ("autoscaling", "HorizontalPodAutoscaler"):
        return {"spec": {"scaleTargetRef": {}}, "status": _SCALER_STATUS.get(version, {})}
    return _WRITTEN.get((group, kind), {})


def _fill(object_: Object, shape: dict[str, Any]) -> None:
    for key, value in shape.items():
        if not isinstance(value, dict):
            object_.setdefault(key, value)
            continue
        if object_.get(key) is None:
            object_[key] = {}
        if (inner := child(object_, key)) is not None and value:
            _fill(inner, value)
