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

from probate.kinds import omitempty
from probate.kinds.admissionregistration import defaults as admissionregistration_defaults
from probate.kinds.apiextensions import defaults as apiextension_defaults
from probate.kinds.apps import defaults as app_defaults
from probate.kinds.autoscaling import defaults as autoscaling_defaults
from probate.kinds.batch import defaults as batch_defaults
from probate.kinds.builtin import catalog
from probate.kinds.core import defaults as core_defaults
from probate.kinds.core.pods import defaults as pod_defaults
from probate.kinds.core.services import defaults as service_defaults
from probate.kinds.core.volumes import claim_defaults
from probate.kinds.flowcontrol import defaults as flowcontrol_defaults
from probate.kinds.networking import defaults as networking_defaults
from probate.kinds.rbac import defaults as rbac_defaults
from probate.kinds.scheduling import defaults as scheduling_defaults
from probate.kinds.shared.object_fields import Object
from probate.kinds.storage import defaults as storage_defaults

Default = Callable[[Object], None]

_KINDS: dict[tuple[str, str], Default] = {
    ("", "Endpoints"): service_defaults.default_endpoints,
    ("", "LimitRange"): core_defaults.default_limit_range,
    ("", "Namespace"): core_defaults.default_namespace,
    ("", "Node"): core_defaults.default_node,
    ("", "PersistentVolume"): storage_defaults.default_persistent_volume,
    ("", "PersistentVolumeClaim"): claim_defaults.default_claim,
    ("", "Pod"): pod_defaults.default_pod,
    ("", "PodTemplate"): app_defaults.default_pod_template,
    ("", "ReplicationController"): app_defaults.default_replication_controller,
    ("", "ResourceQuota"): core_defaults.default_resource_quota,
    ("", "Secret"): core_defaults.default_secret,
    ("", "Service"): service_defaults.default_service,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): admissionregistration_defaults.default_policy,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): admissionregistration_defaults.default_policy_binding,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): admissionregistration_defaults.default_mutating_webhooks,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): admissionregistration_defaults.default_policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): admissionregistration_defaults.default_policy_binding,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): admissionregistration_defaults.default_validating_webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): apiextension_defaults.default_custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): apiextension_defaults.default_api_service,
    ("apps", "DaemonSet"): app_defaults.default_daemon_set,
    ("apps", "Deployment"): app_defaults.default_deployment,
    ("apps", "ReplicaSet"): app_defaults.default_replica_set,
    ("apps", "StatefulSet"): app_defaults.default_stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling_defaults.default_autoscaler_v2,
    ("batch", "CronJob"): batch_defaults.default_cron_job,
    ("batch", "Job"): batch_defaults.default_job,
    ("discovery.k8s.io", "EndpointSlice"): service_defaults.default_endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): flowcontrol_defaults.default_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): flowcontrol_defaults.default_priority_level,
    ("networking.k8s.io", "IngressClass"): networking_defaults.default_ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): networking_defaults.default_network_policy,
    ("node.k8s.io", "RuntimeClass"): scheduling_defaults.default_runtime_class,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): rbac_defaults.default_binding,
    ("rbac.authorization.k8s.io", "RoleBinding"): rbac_defaults.default_binding,
    ("resource.k8s.io", "ResourceClaim"): scheduling_defaults.default_resource_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): scheduling_defaults.default_resource_claim_template,
    ("resource.k8s.io", "ResourceSlice"): scheduling_defaults.default_resource_slice,
    ("scheduling.k8s.io", "PriorityClass"): scheduling_defaults.default_priority_class,
    ("storage.k8s.io", "CSIDriver"): storage_defaults.default_csi_driver,
    ("storage.k8s.io", "CSIStorageCapacity"): storage_defaults.default_csi_storage_capacity,
    ("storage.k8s.io", "StorageClass"): storage_defaults.default_storage_class,
    ("storage.k8s.io", "VolumeAttachment"): storage_defaults.default_volume_attachment,
}

_VERSIONS: dict[tuple[str, str, str], Default] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling_defaults.default_autoscaler_v1,
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
def _known(group: str, version: str, kind: str) -> tuple[omitempty.Struct | None, Default | None]:
    schema = catalog.schema(group, version, kind)
    if schema is None:
        return None, None
    return omitempty.struct(schema), _VERSIONS.get((group, version, kind)) or _KINDS.get((group, kind))


def kinds() -> list[tuple[str, str]]:
    """All groups and kinds that have defaults."""
    return list(_KINDS)
