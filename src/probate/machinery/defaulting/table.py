"""Which function fills which kind. `apply` is called for every object that comes in, whatever the verb.

    pod = {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    apply("", "v1", "Pod", pod)      # pod["spec"]["restartPolicy"] == "Always", and so on

It works in three steps: what says nothing goes, defaults come, and what Kubernetes always writes is written (the first and the last
are `emptiness`). The result is the object as Kubernetes would read it back, so applying twice is applying once. Kinds that are not
built in are left alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from probate.machinery import builtin, emptiness
from probate.machinery.defaulting import (
    admission,
    autoscaling,
    batch,
    claims,
    core,
    extensions,
    flowcontrol,
    networking,
    pods,
    rbac,
    scheduling,
    services,
    storage,
    workloads,
)
from probate.machinery.defaulting.fields import Object

Default = Callable[[Object], None]

_KINDS: dict[tuple[str, str], Default] = {
    ("", "Endpoints"): services.default_endpoints,
    ("", "LimitRange"): core.default_limit_range,
    ("", "Namespace"): core.default_namespace,
    ("", "Node"): core.default_node,
    ("", "PersistentVolume"): storage.default_persistent_volume,
    ("", "PersistentVolumeClaim"): claims.default_claim,
    ("", "Pod"): pods.default_pod,
    ("", "PodTemplate"): workloads.default_pod_template,
    ("", "ReplicationController"): workloads.default_replication_controller,
    ("", "ResourceQuota"): core.default_resource_quota,
    ("", "Secret"): core.default_secret,
    ("", "Service"): services.default_service,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): admission.default_policy,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): admission.default_policy_binding,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): admission.default_mutating_webhooks,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): admission.default_policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): admission.default_policy_binding,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): admission.default_validating_webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): extensions.default_custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): extensions.default_api_service,
    ("apps", "DaemonSet"): workloads.default_daemon_set,
    ("apps", "Deployment"): workloads.default_deployment,
    ("apps", "ReplicaSet"): workloads.default_replica_set,
    ("apps", "StatefulSet"): workloads.default_stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v2,
    ("batch", "CronJob"): batch.default_cron_job,
    ("batch", "Job"): batch.default_job,
    ("discovery.k8s.io", "EndpointSlice"): services.default_endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): flowcontrol.default_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): flowcontrol.default_priority_level,
    ("networking.k8s.io", "IngressClass"): networking.default_ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): networking.default_network_policy,
    ("node.k8s.io", "RuntimeClass"): scheduling.default_runtime_class,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): rbac.default_binding,
    ("rbac.authorization.k8s.io", "RoleBinding"): rbac.default_binding,
    ("resource.k8s.io", "ResourceClaim"): scheduling.default_resource_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): scheduling.default_resource_claim_template,
    ("resource.k8s.io", "ResourceSlice"): scheduling.default_resource_slice,
    ("scheduling.k8s.io", "PriorityClass"): scheduling.default_priority_class,
    ("storage.k8s.io", "CSIDriver"): storage.default_csi_driver,
    ("storage.k8s.io", "CSIStorageCapacity"): storage.default_csi_storage_capacity,
    ("storage.k8s.io", "StorageClass"): storage.default_storage_class,
    ("storage.k8s.io", "VolumeAttachment"): storage.default_volume_attachment,
}

_VERSIONS: dict[tuple[str, str, str], Default] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v1,
}


def apply(group: str, version: str, kind: str, object_: Object) -> None:
    """Fill the object, in place, as Kubernetes does when it reads one. Never raises; what was given stays."""
    struct, default = _known(group, version, kind)
    if struct is not None:
        struct.drop(object_)
    if default is not None:
        default(object_)
    if struct is not None:
        struct.write(object_)


@functools.lru_cache(maxsize=300)
def _known(group: str, version: str, kind: str) -> tuple[emptiness.Struct | None, Default | None]:
    schema = builtin.schema(group, version, kind)
    if schema is None:
        return None, None
    return emptiness.struct(schema), _VERSIONS.get((group, version, kind)) or _KINDS.get((group, kind))


def kinds() -> list[tuple[str, str]]:
    """All groups and kinds that have defaults."""
    return list(_KINDS)
