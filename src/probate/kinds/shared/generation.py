"""metadata.generation: a count of changes to what is wanted, so that controllers can say which one they have seen.

Kubernetes decides for each kind whether it is counted at all, and what counts as a change. Status never does.
"""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, below, made

_SPEC: tuple[str, ...] = ("spec",)
_WEBHOOKS: tuple[str, ...] = ("webhooks",)

_COUNTED: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): _SPEC,
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): _SPEC,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _SPEC,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _SPEC,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _SPEC,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _SPEC,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _SPEC,
    ("apps", "DaemonSet"): _SPEC,
    ("apps", "Deployment"): _SPEC,
    ("apps", "ReplicaSet"): _SPEC,
    ("apps", "StatefulSet"): _SPEC,
    ("batch", "CronJob"): _SPEC,
    ("batch", "Job"): _SPEC,
    ("discovery.k8s.io", "EndpointSlice"): ("addressType", "endpoints", "ports"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _SPEC,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _SPEC,
    ("networking.k8s.io", "Ingress"): _SPEC,
    ("networking.k8s.io", "IngressClass"): _SPEC,
    ("networking.k8s.io", "NetworkPolicy"): _SPEC,
    ("policy", "PodDisruptionBudget"): _SPEC,
    ("resource.k8s.io", "DeviceClass"): _SPEC,
    ("resource.k8s.io", "ResourceSlice"): _SPEC,
    ("scheduling.k8s.io", "PriorityClass"): (),
    ("storage.k8s.io", "CSIDriver"): _SPEC,
}
_COUNTED_METADATA = {("apps", "Deployment"): "annotations", ("discovery.k8s.io", "EndpointSlice"): "labels"}
_NOT_AT_FIRST = frozenset((("storage.k8s.io", "CSIDriver"),))  # counts changes only: there is no first generation


def is_counted(group: str, kind: str) -> bool:
    """Whether its changes are."""
    return (group, kind) in _COUNTED


def start(group: str, kind: str, object_: Object) -> None:
    """Give a new object its first generation, if its kind is counted."""
    key = (group, kind)
    if key in _COUNTED and key not in _NOT_AT_FIRST and (metadata := made(object_, "metadata")) is not None:
        metadata["generation"] = 1


def carry(new: Object, old: Object) -> None:
    """Keep the generation: nobody sets it from outside."""
    metadata = made(new, "metadata")
    if metadata is None:
        return
    metadata.pop("generation", None)
    generation = (below(old, "metadata") or {}).get("generation")
    if isinstance(generation, int) and generation:
        metadata["generation"] = generation


def advance(group: str, kind: str, new: Object, old: Object) -> None:
    """Keep the generation, or count one more if what is wanted has changed."""
    carry(new, old)
    metadata = made(new, "metadata")
    if metadata is not None and _has_changed(group, kind, new, old):
        metadata["generation"] = metadata.get("generation", 0) + 1


def _has_changed(group: str, kind: str, new: Object, old: Object) -> bool:
    if any(new.get(name) != old.get(name) for name in _COUNTED.get((group, kind), ())):
        return True
    name = _COUNTED_METADATA.get((group, kind))
    return name is not None and (below(new, "metadata", name) or {}) != (below(old, "metadata", name) or {})
