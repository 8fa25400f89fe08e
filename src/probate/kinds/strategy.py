"""What is done to which kind when it is created, changed, or changed through `status`.

The order for a request is: defaulting, one of these, the checks, the store. All of them change the object they are given and leave
the old one alone; parts of the old one may become parts of the new. Kinds without rules of their own get the general ones.
"""

from __future__ import annotations

from collections.abc import Callable

from probate.kinds import defaults
from probate.kinds.batch import strategy as batch_strategy
from probate.kinds.certificates import strategy as certificate_strategy
from probate.kinds.core.pods import strategy as pod_strategy
from probate.kinds.core.services import strategy as service_strategy
from probate.kinds.shared import generation, object_strategies
from probate.kinds.shared.object_fields import Object, child, made

_WITH_STATUS = frozenset(
    (
        *(("", kind) for kind in ("Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod")),
        *(("", kind) for kind in ("ReplicationController", "ResourceQuota", "Service")),
        *(("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
        *(("batch", kind) for kind in ("CronJob", "Job")),
        *(("flowcontrol.apiserver.k8s.io", kind) for kind in ("FlowSchema", "PriorityLevelConfiguration")),
        *(("networking.k8s.io", kind) for kind in ("Ingress", "ServiceCIDR")),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("policy", "PodDisruptionBudget"),
        ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"),
    )
)
_STATUS_FROM_USERS = frozenset((("", "Node"),))  # a kubelet registers its node with all it knows

_CREATE: dict[tuple[str, str], Callable[[Object], None]] = {
    ("", "Namespace"): object_strategies.create_namespace,
    ("", "Node"): object_strategies.create_node,
    ("", "PersistentVolumeClaim"): object_strategies.create_claim,
    ("", "Pod"): pod_strategy.create_pod,
    ("", "Service"): service_strategy.create_service,
    ("", "ServiceAccount"): object_strategies.create_account,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): object_strategies.create_definition,
    ("apps", "DaemonSet"): object_strategies.create_daemon_set,
    ("autoscaling", "HorizontalPodAutoscaler"): object_strategies.create_autoscaler,
    ("discovery.k8s.io", "EndpointSlice"): object_strategies.create_endpoint_slice,
    ("storage.k8s.io", "VolumeAttributesClass"): object_strategies.create_attributes_class,
}
_CREATE_AT: dict[tuple[str, str], Callable[..., None]] = {
    ("", "PersistentVolume"): object_strategies.create_volume,
    ("apiregistration.k8s.io", "APIService"): object_strategies.create_api_service,
    ("resource.k8s.io", "ResourceSlice"): object_strategies.create_resource_slice,
}
_CREATE_CALLED: dict[tuple[str, str], Callable[..., None]] = {
    ("", "LimitRange"): object_strategies.create_limit_range,
    ("batch", "Job"): batch_strategy.create_job,
}
_UPDATE: dict[tuple[str, str], Callable[[Object, Object], None]] = {
    ("", "Namespace"): object_strategies.update_namespace,
    ("", "Node"): object_strategies.update_node,
    ("", "PersistentVolumeClaim"): object_strategies.update_claim,
    ("", "Pod"): pod_strategy.update_pod,
    ("", "Service"): service_strategy.update_service,
    ("", "ServiceAccount"): object_strategies.update_account,
    ("apps", "DaemonSet"): object_strategies.update_daemon_set,
    ("autoscaling", "HorizontalPodAutoscaler"): object_strategies.update_autoscaler,
    ("certificates.k8s.io", "CertificateSigningRequest"): object_strategies.update_signing_request,
    ("discovery.k8s.io", "EndpointSlice"): object_strategies.update_endpoint_slice,
}
_OWNED_BY_USERS = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
_KEPT_FROM_STATUS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): ("ownerReferences", "deletionTimestamp"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _OWNED_BY_USERS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _OWNED_BY_USERS,
    ("apiregistration.k8s.io", "APIService"): _OWNED_BY_USERS,
    ("apps", "Deployment"): ("labels",),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _OWNED_BY_USERS,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _OWNED_BY_USERS,
    ("resource.k8s.io", "ResourceClaim"): _OWNED_BY_USERS,
    ("storage.k8s.io", "VolumeAttachment"): _OWNED_BY_USERS,
}


def concerns_new(group: str, kind: str) -> bool:
    """Whether there is anything to prepare."""
    key = (group, kind)
    is_special = key in _CREATE or key in _CREATE_AT or key in _CREATE_CALLED
    return is_special or key in _WITH_STATUS or generation.is_counted(group, kind)


def create(group: str, version: str, kind: str, object_: Object, *, uid: str, now: str) -> None:
    """Prepare a new object that has been defaulted. `uid` is the one it will have, `now` an RFC 3339 time in seconds."""
    key = (group, kind)
    if key in _WITH_STATUS and key not in _STATUS_FROM_USERS:
        object_.pop("status", None)
    generation.start(group, kind, object_)
    if key in _CREATE:
        _CREATE[key](object_)
    elif key in _CREATE_AT:
        _CREATE_AT[key](object_, now=now)
    elif key in _CREATE_CALLED:
        _CREATE_CALLED[key](object_, uid=uid)
    if key in _WITH_STATUS:
        # Kubernetes reads back what it has stored, and that fills what has been emptied or added here.
        defaults.apply(group, version, kind, object_)


def update(group: str, version: str, kind: str, new: Object, old: Object) -> None:
    """Prepare a changed object that has been defaulted: status stays, the generation follows what is wanted."""
    key = (group, kind)
    if key in _WITH_STATUS:
        object_strategies.keep(new, old, "status")
    if key in _UPDATE:
        _UPDATE[key](new, old)
    generation.advance(group, kind, new, old)


def update_status(group: str, version: str, kind: str, new: Object, old: Object, *, now: str) -> None:
    """Prepare a change through `status`: nothing but status changes, and of the metadata only what the kind allows."""
    object_strategies.keep(new, old, *((new.keys() | old.keys()) - {"apiVersion", "kind", "metadata", "status"}))
    generation.carry(new, old)
    if (metadata := made(new, "metadata")) is not None:
        object_strategies.keep(metadata, child(old, "metadata") or {}, *_KEPT_FROM_STATUS.get((group, kind), ()))
    if (group, kind) == ("", "Pod"):
        pod_strategy.update_pod_status(new, old)
    elif (group, kind) == ("", "Node"):
        object_strategies.update_node_status(new, old)
    elif (group, kind) == ("", "PersistentVolume"):
        object_strategies.update_volume_status(new, old, now=now)
    elif (group, kind) == ("certificates.k8s.io", "CertificateSigningRequest"):
        certificate_strategy.update_status(new, old, now=now)


def kept_from_status(group: str, kind: str) -> tuple[str, ...]:
    """Which of the metadata a change through `status` leaves as they are."""
    return _KEPT_FROM_STATUS.get((group, kind), ())


def has_status(group: str, kind: str) -> bool:
    """Whether the kind's status has a path of its own, so that the main one does not change it."""
    return (group, kind) in _WITH_STATUS
