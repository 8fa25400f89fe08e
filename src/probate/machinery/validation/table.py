"""Which checks each built-in kind has: the door to all validation of objects.

    table.create("apps", "v1", "Deployment", deployment)     what is wrong with a new one
    table.update("", "v1", "Pod", new, old)                  the same, and what may not change

Metadata are `machinery.metadata`'s; custom kinds have their schemas. A kind that is not here has no rules beyond its schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.machinery.problems import Problem, first
from probate.machinery.validation import (
    admission,
    autoscaling,
    batch,
    cluster,
    config,
    endpoints,
    events,
    networking,
    policies,
    quotas,
    rbac,
    scheduling,
    services,
    serving,
    storage,
    storage_classes,
    workloads,
)
from probate.machinery.validation.fields import Problems, Value
from probate.machinery.validation.pods import spec as pods
from probate.machinery.validation.pods import update as pod_updates


def create(group: str, version: str, kind: str, object_: Value) -> list[Problem]:
    """What is wrong with an object that is to be created."""
    checks = _find(group, version, kind)
    return first(checks.create(object_)) if checks else []


def update(group: str, version: str, kind: str, new: Value, old: Value) -> list[Problem]:
    """What is wrong with an object that is to replace `old`. What both checks find is reported once."""
    checks = _find(group, version, kind)
    if checks is None:
        return []
    found = [*first((checks.always or checks.create)(new)), *first(checks.update(new, old) if checks.update else ())]
    return list(dict.fromkeys(found))


class _Checks(NamedTuple):
    create: Callable[[Value], Problems]
    update: Callable[[Value, Value], Problems] | None = None
    always: Callable[[Value], Problems] | None = (
        None  # what an update checks of the new object, where that is less than a create does
    )


def _find(group: str, version: str, kind: str) -> _Checks | None:
    return _CHECKS.get((group, kind))


_CHECKS = {
    ("", "ConfigMap"): _Checks(config.check_config_map, config.update_config_map),
    ("", "Endpoints"): _Checks(endpoints.check_endpoints),
    ("", "Event"): _Checks(events.check_event),
    ("", "LimitRange"): _Checks(quotas.check_limit_range),
    ("", "Namespace"): _Checks(cluster.check_namespace),
    ("", "Node"): _Checks(cluster.check_node, cluster.update_node),
    ("", "PersistentVolume"): _Checks(storage.check_volume, storage.update_volume),
    ("", "PersistentVolumeClaim"): _Checks(storage.check_claim, storage.update_claim),
    ("", "Pod"): _Checks(pods.check_pod, pod_updates.check_update),
    ("", "PodTemplate"): _Checks(workloads.check_pod_template),
    ("", "ReplicationController"): _Checks(workloads.check_replication_controller),
    ("", "ResourceQuota"): _Checks(quotas.check_quota, quotas.update_quota),
    ("", "Secret"): _Checks(config.check_secret, config.update_secret),
    ("", "Service"): _Checks(services.check_service, services.update_service),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _Checks(admission.check_mutating),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _Checks(admission.check_validating),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _Checks(policies.check_validating),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _Checks(policies.check_validating_binding),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _Checks(policies.check_mutating),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _Checks(policies.check_mutating_binding),
    ("apiregistration.k8s.io", "APIService"): _Checks(serving.check_api_service),
    ("apps", "ControllerRevision"): _Checks(workloads.check_controller_revision, workloads.update_controller_revision),
    ("apps", "DaemonSet"): _Checks(workloads.check_daemon_set, workloads.update_by_selector),
    ("apps", "Deployment"): _Checks(workloads.check_deployment, workloads.update_by_selector),
    ("apps", "ReplicaSet"): _Checks(workloads.check_replica_set, workloads.update_by_selector),
    ("apps", "StatefulSet"): _Checks(workloads.check_stateful_set, workloads.update_stateful_set),
    ("autoscaling", "HorizontalPodAutoscaler"): _Checks(autoscaling.check_autoscaler),
    ("batch", "CronJob"): _Checks(batch.create_cron_job, always=batch.check_cron_job),
    ("batch", "Job"): _Checks(batch.check_job, batch.update_job),
    ("certificates.k8s.io", "CertificateSigningRequest"): _Checks(cluster.check_signing_request, cluster.update_signing_request),
    ("coordination.k8s.io", "Lease"): _Checks(cluster.check_lease),
    ("discovery.k8s.io", "EndpointSlice"): _Checks(endpoints.check_slice, endpoints.update_slice),
    ("events.k8s.io", "Event"): _Checks(events.create_strict, events.update_strict, always=events.check_again),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _Checks(serving.check_flow_schema),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _Checks(serving.check_priority_level),
    ("networking.k8s.io", "IPAddress"): _Checks(networking.check_ip_address),
    ("networking.k8s.io", "Ingress"): _Checks(networking.create_ingress, always=networking.check_ingress),
    ("networking.k8s.io", "IngressClass"): _Checks(networking.check_ingress_class, networking.update_ingress_class),
    ("networking.k8s.io", "NetworkPolicy"): _Checks(networking.check_network_policy),
    ("networking.k8s.io", "ServiceCIDR"): _Checks(networking.check_service_cidr),
    ("node.k8s.io", "RuntimeClass"): _Checks(scheduling.check_runtime_class, scheduling.update_runtime_class),
    ("policy", "PodDisruptionBudget"): _Checks(scheduling.check_disruption_budget),
    ("rbac.authorization.k8s.io", "ClusterRole"): _Checks(rbac.check_cluster_role),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _Checks(rbac.check_cluster_role_binding, rbac.update_binding),
    ("rbac.authorization.k8s.io", "Role"): _Checks(rbac.check_role),
    ("rbac.authorization.k8s.io", "RoleBinding"): _Checks(rbac.check_role_binding, rbac.update_binding),
    ("scheduling.k8s.io", "PriorityClass"): _Checks(scheduling.check_priority_class, scheduling.update_priority_class),
    ("storage.k8s.io", "CSIDriver"): _Checks(storage_classes.check_csi_driver, storage_classes.update_csi_driver),
    ("storage.k8s.io", "CSINode"): _Checks(storage_classes.check_csi_node),
    ("storage.k8s.io", "CSIStorageCapacity"): _Checks(storage_classes.check_capacity),
    ("storage.k8s.io", "StorageClass"): _Checks(storage_classes.check_storage_class, storage_classes.update_storage_class),
    ("storage.k8s.io", "VolumeAttachment"): _Checks(storage_classes.check_attachment, storage_classes.update_attachment),
    ("storage.k8s.io", "VolumeAttributesClass"): _Checks(
        storage_classes.check_attributes_class, storage_classes.update_attributes_class
    ),
}
