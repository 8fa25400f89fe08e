"""Which checks each built-in kind has: the door to all validation of objects.

    table.create("apps", "v1", "Deployment", deployment)     what is wrong with a new one
    table.update("", "v1", "Pod", new, old)                  the same, and what may not change
    table.status("", "v1", "Pod", new, old)                  what is wrong with its status

Metadata are `api.metadata`'s; custom kinds have their schemas. A kind that is not here has no rules beyond its schema.

The checks of a kind load when they are first needed (`probate.core.lazy_import`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from probate.api.field_errors import Problem, first
from probate.kinds.admissionregistration import binding_validation, policy_validation, webhook_validation
from probate.kinds.apiregistration import validation as apiregistration_validation
from probate.kinds.apps import status_validation as statuses
from probate.kinds.apps import validation as app_validation
from probate.kinds.autoscaling import validation as autoscaling_validation
from probate.kinds.batch import status_validation as job_statuses
from probate.kinds.batch import validation as batch_validation
from probate.kinds.certificates import validation as certificate_validation
from probate.kinds.core import cluster_status_validation as cluster_statuses
from probate.kinds.core import cluster_validation, config_validation
from probate.kinds.core.pods.validation import spec as pods
from probate.kinds.core.pods.validation import status as pod_statuses
from probate.kinds.core.pods.validation import update as pod_updates
from probate.kinds.core.quota import validation as quota_validation
from probate.kinds.core.services import endpoints_validation
from probate.kinds.core.services import status_validation as service_statuses
from probate.kinds.core.services import validation as service_validation
from probate.kinds.core.volumes import status_validation as storage_statuses
from probate.kinds.core.volumes import validation as volume_validation
from probate.kinds.events import validation as event_validation
from probate.kinds.flowcontrol import validation as flowcontrol_validation
from probate.kinds.networking import ingress_validation, network_policy_validation, service_cidr_validation
from probate.kinds.rbac import validation as rbac_validation
from probate.kinds.resource import allocation_status, device_taints, slice_validation
from probate.kinds.resource import validation as resource_validation
from probate.kinds.scheduling import validation as scheduling_validation
from probate.kinds.shared import condition_validation
from probate.kinds.shared.field_checks import Problems, Value
from probate.kinds.storage import class_validation, csi_validation


def create(group: str, version: str, kind: str, object_: Value) -> list[Problem]:
    """What is wrong with an object that is to be created."""
    checks = _find(group, kind)
    return first(checks.create(object_)) if checks else []


def update(group: str, version: str, kind: str, new: Value, old: Value) -> list[Problem]:
    """What is wrong with an object that is to replace `old`. What both checks find is reported once."""
    checks = _find(group, kind)
    if checks is None:
        return []
    found = [*first((checks.always or checks.create)(new)), *first(checks.update(new, old) if checks.update else ())]
    return list(dict.fromkeys(found))


def status(group: str, version: str, kind: str, new: Value, old: Value) -> list[Problem]:
    """What is wrong with the status of an object that is to replace `old`, which has another one."""
    checks = _find(group, kind)
    return first(checks.status(new, old)) if checks and checks.status else []


class _Checks(NamedTuple):
    create: Callable[[Value], Problems]
    update: Callable[[Value, Value], Problems] | None = None
    always: Callable[[Value], Problems] | None = (
        None  # what an update checks of the new object, where that is less than a create does
    )
    status: Callable[[Value, Value], Problems] | None = None


@cache
def _find(group: str, kind: str) -> _Checks | None:
    found = _CHECKS.get((group, kind))
    return None if found is None else found()


_CHECKS: Mapping[tuple[str, str], Callable[[], _Checks]] = {
    ("", "ConfigMap"): lambda: _Checks(config_validation.check_config_map, config_validation.update_config_map),
    ("", "Endpoints"): lambda: _Checks(endpoints_validation.check_endpoints),
    ("", "Event"): lambda: _Checks(event_validation.check_event),
    ("", "LimitRange"): lambda: _Checks(quota_validation.check_limit_range),
    ("", "Namespace"): lambda: _Checks(cluster_validation.check_namespace, status=cluster_statuses.check_namespace_status),
    ("", "Node"): lambda: _Checks(
        cluster_validation.check_node,
        cluster_validation.update_node,
        always=cluster_validation.check_known_node,
        status=cluster_statuses.check_node_status,
    ),
    ("", "PersistentVolume"): lambda: _Checks(volume_validation.check_volume, volume_validation.update_volume),
    ("", "PersistentVolumeClaim"): lambda: _Checks(
        volume_validation.check_claim, volume_validation.update_claim, status=storage_statuses.check_claim_status
    ),
    ("", "Pod"): lambda: _Checks(
        pods.create_pod, pod_updates.check_update, always=pods.check_pod, status=pod_statuses.check_pod_status
    ),
    ("", "PodTemplate"): lambda: _Checks(app_validation.check_pod_template),
    ("", "ReplicationController"): lambda: _Checks(app_validation.check_replication_controller, status=statuses.check_replica_set),
    ("", "ResourceQuota"): lambda: _Checks(
        quota_validation.check_quota, quota_validation.update_quota, status=quota_validation.check_quota_status
    ),
    ("", "Secret"): lambda: _Checks(config_validation.check_secret, config_validation.update_secret),
    ("", "Service"): lambda: _Checks(
        service_validation.check_service, service_validation.update_service, status=service_statuses.check_service_status
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): lambda: _Checks(webhook_validation.check_mutating),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): lambda: _Checks(webhook_validation.check_validating),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): lambda: _Checks(
        policy_validation.check_validating, status=condition_validation.check_policy_status
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): lambda: _Checks(
        binding_validation.check_validating_binding
    ),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): lambda: _Checks(policy_validation.check_mutating),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): lambda: _Checks(binding_validation.check_mutating_binding),
    ("apiregistration.k8s.io", "APIService"): lambda: _Checks(
        apiregistration_validation.check_api_service, status=condition_validation.check_api_service_status
    ),
    ("apps", "ControllerRevision"): lambda: _Checks(
        app_validation.check_controller_revision, app_validation.update_controller_revision
    ),
    ("apps", "DaemonSet"): lambda: _Checks(
        app_validation.check_daemon_set, app_validation.update_by_selector, status=statuses.check_daemons
    ),
    ("apps", "Deployment"): lambda: _Checks(
        app_validation.check_deployment, app_validation.update_by_selector, status=statuses.check_deployment
    ),
    ("apps", "ReplicaSet"): lambda: _Checks(
        app_validation.check_replica_set, app_validation.update_by_selector, status=statuses.check_replica_set
    ),
    ("apps", "StatefulSet"): lambda: _Checks(
        app_validation.check_stateful_set, app_validation.update_stateful_set, status=statuses.check_stateful_set
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): lambda: _Checks(
        autoscaling_validation.check_autoscaler, status=statuses.check_autoscaler
    ),
    ("batch", "CronJob"): lambda: _Checks(
        batch_validation.create_cron_job, batch_validation.update_cron_job, batch_validation.check_cron_job
    ),
    ("batch", "Job"): lambda: _Checks(
        batch_validation.check_job, batch_validation.update_job, status=job_statuses.check_job_status
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): lambda: _Checks(
        certificate_validation.create_signing_request,
        certificate_validation.update_signing_request,
        always=certificate_validation.check_signing_request,
        status=certificate_validation.check_signed,
    ),
    ("coordination.k8s.io", "Lease"): lambda: _Checks(cluster_validation.check_lease),
    ("discovery.k8s.io", "EndpointSlice"): lambda: _Checks(endpoints_validation.check_slice, endpoints_validation.update_slice),
    ("events.k8s.io", "Event"): lambda: _Checks(
        event_validation.create_strict, event_validation.update_strict, always=event_validation.check_again
    ),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): lambda: _Checks(
        flowcontrol_validation.check_flow_schema, status=condition_validation.check_flow_status
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): lambda: _Checks(
        flowcontrol_validation.check_priority_level, status=condition_validation.check_flow_status
    ),
    ("networking.k8s.io", "IPAddress"): lambda: _Checks(
        service_cidr_validation.check_ip_address, service_cidr_validation.update_ip_address
    ),
    ("networking.k8s.io", "Ingress"): lambda: _Checks(
        ingress_validation.create_ingress, always=ingress_validation.check_ingress, status=service_statuses.check_ingress_status
    ),
    ("networking.k8s.io", "IngressClass"): lambda: _Checks(
        ingress_validation.check_ingress_class, ingress_validation.update_ingress_class
    ),
    ("networking.k8s.io", "NetworkPolicy"): lambda: _Checks(
        network_policy_validation.create_network_policy,
        network_policy_validation.update_network_policy,
        always=network_policy_validation.check_network_policy,
    ),
    ("networking.k8s.io", "ServiceCIDR"): lambda: _Checks(
        service_cidr_validation.check_service_cidr,
        service_cidr_validation.update_service_cidr,
        always=service_cidr_validation.check_again,
    ),
    ("node.k8s.io", "RuntimeClass"): lambda: _Checks(
        scheduling_validation.check_runtime_class, scheduling_validation.update_runtime_class
    ),
    ("policy", "PodDisruptionBudget"): lambda: _Checks(scheduling_validation.check_disruption_budget, status=statuses.check_budget),
    ("rbac.authorization.k8s.io", "ClusterRole"): lambda: _Checks(rbac_validation.check_cluster_role),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): lambda: _Checks(
        rbac_validation.check_cluster_role_binding, rbac_validation.update_binding
    ),
    ("rbac.authorization.k8s.io", "Role"): lambda: _Checks(rbac_validation.check_role),
    ("rbac.authorization.k8s.io", "RoleBinding"): lambda: _Checks(
        rbac_validation.check_role_binding, rbac_validation.update_binding
    ),
    ("resource.k8s.io", "DeviceClass"): lambda: _Checks(
        resource_validation.create_class, resource_validation.update_class, always=resource_validation.unchecked
    ),
    ("resource.k8s.io", "DeviceTaintRule"): lambda: _Checks(
        device_taints.check_rule_of_taints,
        device_taints.update_rule_of_taints,
        always=resource_validation.unchecked,
        status=device_taints.check_rule_status,
    ),
    ("resource.k8s.io", "ResourceClaim"): lambda: _Checks(
        resource_validation.create_claim,
        resource_validation.update_spec,
        always=resource_validation.unchecked,
        status=allocation_status.check_status,
    ),
    ("resource.k8s.io", "ResourceClaimTemplate"): lambda: _Checks(
        resource_validation.create_template, resource_validation.update_spec, always=resource_validation.unchecked
    ),
    ("resource.k8s.io", "ResourceSlice"): lambda: _Checks(
        slice_validation.create_slice, slice_validation.update_slice, always=resource_validation.unchecked
    ),
    ("scheduling.k8s.io", "PriorityClass"): lambda: _Checks(
        scheduling_validation.check_priority_class, scheduling_validation.update_priority_class
    ),
    ("storage.k8s.io", "CSIDriver"): lambda: _Checks(csi_validation.check_driver, csi_validation.update_driver),
    ("storage.k8s.io", "CSINode"): lambda: _Checks(csi_validation.check_node, csi_validation.update_node),
    ("storage.k8s.io", "CSIStorageCapacity"): lambda: _Checks(csi_validation.check_capacity, csi_validation.update_capacity),
    ("storage.k8s.io", "StorageClass"): lambda: _Checks(
        class_validation.check_storage_class, class_validation.update_storage_class
    ),
    ("storage.k8s.io", "VolumeAttachment"): lambda: _Checks(
        csi_validation.create_attachment,
        csi_validation.update_attachment,
        always=csi_validation.check_attachment,
        status=storage_statuses.check_attachment_status,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): lambda: _Checks(
        class_validation.check_attributes_class, class_validation.update_attributes_class
    ),
}
