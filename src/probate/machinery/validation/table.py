"""Which checks each built-in kind has: the door to all validation of objects.

    table.create("apps", "v1", "Deployment", deployment)     what is wrong with a new one
    table.update("", "v1", "Pod", new, old)                  the same, and what may not change
    table.status("", "v1", "Pod", new, old)                  what is wrong with its status

Metadata are `machinery.metadata`'s; custom kinds have their schemas. A kind that is not here has no rules beyond its schema.

Checks are looked up when a kind is first asked for: they are much code, of which a process needs little at first (`probate.late`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from probate.machinery.problems import Problem, first
from probate.machinery.validation import (
    admission,
    autoscaling,
    batch,
    cluster,
    config,
    csi,
    endpoints,
    events,
    flows,
    network_policies,
    networking,
    policies,
    policy_bindings,
    quotas,
    rbac,
    scheduling,
    service_ranges,
    services,
    serving,
    signing,
    storage,
    storage_classes,
    workloads,
)
from probate.machinery.validation.devices import allocating, claims, slices, tainting
from probate.machinery.validation.fields import Problems, Value
from probate.machinery.validation.pods import spec as pods
from probate.machinery.validation.pods import update as pod_updates
from probate.machinery.validation.statuses import cluster as cluster_statuses
from probate.machinery.validation.statuses import conditions
from probate.machinery.validation.statuses import jobs as job_statuses
from probate.machinery.validation.statuses import pods as pod_statuses
from probate.machinery.validation.statuses import services as service_statuses
from probate.machinery.validation.statuses import storage as storage_statuses
from probate.machinery.validation.statuses import workloads as statuses


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
    ("", "ConfigMap"): lambda: _Checks(config.check_config_map, config.update_config_map),
    ("", "Endpoints"): lambda: _Checks(endpoints.check_endpoints),
    ("", "Event"): lambda: _Checks(events.check_event),
    ("", "LimitRange"): lambda: _Checks(quotas.check_limit_range),
    ("", "Namespace"): lambda: _Checks(cluster.check_namespace, status=cluster_statuses.check_namespace_status),
    ("", "Node"): lambda: _Checks(
        cluster.check_node, cluster.update_node, always=cluster.check_known_node, status=cluster_statuses.check_node_status
    ),
    ("", "PersistentVolume"): lambda: _Checks(storage.check_volume, storage.update_volume),
    ("", "PersistentVolumeClaim"): lambda: _Checks(
        storage.check_claim, storage.update_claim, status=storage_statuses.check_claim_status
    ),
    ("", "Pod"): lambda: _Checks(
        pods.create_pod, pod_updates.check_update, always=pods.check_pod, status=pod_statuses.check_pod_status
    ),
    ("", "PodTemplate"): lambda: _Checks(workloads.check_pod_template),
    ("", "ReplicationController"): lambda: _Checks(workloads.check_replication_controller, status=statuses.check_replica_set),
    ("", "ResourceQuota"): lambda: _Checks(quotas.check_quota, quotas.update_quota, status=quotas.check_quota_status),
    ("", "Secret"): lambda: _Checks(config.check_secret, config.update_secret),
    ("", "Service"): lambda: _Checks(services.check_service, services.update_service, status=service_statuses.check_service_status),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): lambda: _Checks(admission.check_mutating),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): lambda: _Checks(admission.check_validating),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): lambda: _Checks(
        policies.check_validating, status=conditions.check_policy_status
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): lambda: _Checks(policy_bindings.check_validating_binding),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): lambda: _Checks(policies.check_mutating),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): lambda: _Checks(policy_bindings.check_mutating_binding),
    ("apiregistration.k8s.io", "APIService"): lambda: _Checks(
        serving.check_api_service, status=conditions.check_api_service_status
    ),
    ("apps", "ControllerRevision"): lambda: _Checks(workloads.check_controller_revision, workloads.update_controller_revision),
    ("apps", "DaemonSet"): lambda: _Checks(workloads.check_daemon_set, workloads.update_by_selector, status=statuses.check_daemons),
    ("apps", "Deployment"): lambda: _Checks(
        workloads.check_deployment, workloads.update_by_selector, status=statuses.check_deployment
    ),
    ("apps", "ReplicaSet"): lambda: _Checks(
        workloads.check_replica_set, workloads.update_by_selector, status=statuses.check_replica_set
    ),
    ("apps", "StatefulSet"): lambda: _Checks(
        workloads.check_stateful_set, workloads.update_stateful_set, status=statuses.check_stateful_set
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): lambda: _Checks(autoscaling.check_autoscaler, status=statuses.check_autoscaler),
    ("batch", "CronJob"): lambda: _Checks(batch.create_cron_job, batch.update_cron_job, batch.check_cron_job),
    ("batch", "Job"): lambda: _Checks(batch.check_job, batch.update_job, status=job_statuses.check_job_status),
    ("certificates.k8s.io", "CertificateSigningRequest"): lambda: _Checks(
        signing.create_signing_request,
        signing.update_signing_request,
        always=signing.check_signing_request,
        status=signing.check_signed,
    ),
    ("coordination.k8s.io", "Lease"): lambda: _Checks(cluster.check_lease),
    ("discovery.k8s.io", "EndpointSlice"): lambda: _Checks(endpoints.check_slice, endpoints.update_slice),
    ("events.k8s.io", "Event"): lambda: _Checks(events.create_strict, events.update_strict, always=events.check_again),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): lambda: _Checks(flows.check_flow_schema, status=conditions.check_flow_status),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): lambda: _Checks(
        flows.check_priority_level, status=conditions.check_flow_status
    ),
    ("networking.k8s.io", "IPAddress"): lambda: _Checks(service_ranges.check_ip_address, service_ranges.update_ip_address),
    ("networking.k8s.io", "Ingress"): lambda: _Checks(
        networking.create_ingress, always=networking.check_ingress, status=service_statuses.check_ingress_status
    ),
    ("networking.k8s.io", "IngressClass"): lambda: _Checks(networking.check_ingress_class, networking.update_ingress_class),
    ("networking.k8s.io", "NetworkPolicy"): lambda: _Checks(
        network_policies.create_network_policy,
        network_policies.update_network_policy,
        always=network_policies.check_network_policy,
    ),
    ("networking.k8s.io", "ServiceCIDR"): lambda: _Checks(
        service_ranges.check_service_cidr, service_ranges.update_service_cidr, always=service_ranges.check_again
    ),
    ("node.k8s.io", "RuntimeClass"): lambda: _Checks(scheduling.check_runtime_class, scheduling.update_runtime_class),
    ("policy", "PodDisruptionBudget"): lambda: _Checks(scheduling.check_disruption_budget, status=statuses.check_budget),
    ("rbac.authorization.k8s.io", "ClusterRole"): lambda: _Checks(rbac.check_cluster_role),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): lambda: _Checks(rbac.check_cluster_role_binding, rbac.update_binding),
    ("rbac.authorization.k8s.io", "Role"): lambda: _Checks(rbac.check_role),
    ("rbac.authorization.k8s.io", "RoleBinding"): lambda: _Checks(rbac.check_role_binding, rbac.update_binding),
    ("resource.k8s.io", "DeviceClass"): lambda: _Checks(claims.create_class, claims.update_class, always=claims.unchecked),
    ("resource.k8s.io", "DeviceTaintRule"): lambda: _Checks(
        tainting.check_rule_of_taints,
        tainting.update_rule_of_taints,
        always=claims.unchecked,
        status=tainting.check_rule_status,
    ),
    ("resource.k8s.io", "ResourceClaim"): lambda: _Checks(
        claims.create_claim, claims.update_spec, always=claims.unchecked, status=allocating.check_status
    ),
    ("resource.k8s.io", "ResourceClaimTemplate"): lambda: _Checks(
        claims.create_template, claims.update_spec, always=claims.unchecked
    ),
    ("resource.k8s.io", "ResourceSlice"): lambda: _Checks(slices.create_slice, slices.update_slice, always=claims.unchecked),
    ("scheduling.k8s.io", "PriorityClass"): lambda: _Checks(scheduling.check_priority_class, scheduling.update_priority_class),
    ("storage.k8s.io", "CSIDriver"): lambda: _Checks(csi.check_driver, csi.update_driver),
    ("storage.k8s.io", "CSINode"): lambda: _Checks(csi.check_node, csi.update_node),
    ("storage.k8s.io", "CSIStorageCapacity"): lambda: _Checks(csi.check_capacity, csi.update_capacity),
    ("storage.k8s.io", "StorageClass"): lambda: _Checks(storage_classes.check_storage_class, storage_classes.update_storage_class),
    ("storage.k8s.io", "VolumeAttachment"): lambda: _Checks(
        csi.create_attachment, csi.update_attachment, always=csi.check_attachment, status=storage_statuses.check_attachment_status
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): lambda: _Checks(
        storage_classes.check_attributes_class, storage_classes.update_attributes_class
    ),
}
