"""Prepares Pods: their first status, tolerations, and what their subresources may change. (`priority` sets their priority.)"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds import generation
from probate.kinds.core.pods import app_armor
from probate.kinds.core.pods.qos_class import qos_class
from probate.kinds.kind import Strategy
from probate.kinds.shared.object_fields import below, child, ensure_child, fill, items, text

_GENERATION = Strategy(generation_fields=("spec",))

_AWAY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300
_TERMS = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
_GATED = {
    "type": "PodScheduled",
    "observedGeneration": 1,
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def create_pod(pod: Object) -> None:
    """Prepares a new Pod. The changes that admission makes in Kubernetes come first, because later steps depend on them."""
    spec = ensure_child(pod, "spec")
    if spec is None:
        return
    admit_tolerations(spec)
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [dict(_GATED)]
    _select_by_label_keys(spec, below(pod, "metadata", "labels") or {})
    if annotations := below(pod, "metadata", "annotations"):
        app_armor.copy_annotations(spec, annotations)


def admit_tolerations(spec: Object) -> None:
    """Adds the default tolerations: the pod stays 300 seconds on an unreachable or not-ready node, unless it sets its own time."""
    for key in _AWAY:
        if not any(_tolerates(toleration, key) for toleration in items(spec, "tolerations")):
            away = {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": _SECONDS}
            given = spec.get("tolerations")
            spec["tolerations"] = [*(given if isinstance(given, list) else []), away]


def update_pod(new: Object, old: Object) -> None:
    """Prepares a changed Pod: keeps what admission added at its creation."""
    spec, before = ensure_child(new, "spec"), child(old, "spec")
    if spec is None or before is None:
        return
    for name in ("priority", "preemptionPolicy"):
        if before.get(name) is not None:
            fill(spec, **{name: before[name]})
    admit_tolerations(spec)


def update_pod_status(new: Object, old: Object) -> None:
    """Prepares a changed status: the QoS class never changes, and observed generations are kept."""
    status, before = ensure_child(new, "status"), child(old, "status") or {}
    if status is None:
        return
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and before.get(name):
            status[name] = before[name]
    seen = {text(one, "type"): one.get("observedGeneration") for one in items(before, "conditions")}
    for condition in items(status, "conditions"):
        if not condition.get("observedGeneration") and seen.get(text(condition, "type")):
            condition["observedGeneration"] = seen[text(condition, "type")]


def update_ephemeral_containers(new: Object, old: Object) -> None:
    """Prepares a change through `ephemeralcontainers`: all other fields keep their old values."""
    spec = {**(child(old, "spec") or {}), "ephemeralContainers": (child(new, "spec") or {}).get("ephemeralContainers")}
    if spec["ephemeralContainers"] is None:
        del spec["ephemeralContainers"]
    _restore(new, old, spec)


def update_resize(new: Object, old: Object) -> None:
    """Prepares a change through `resize`: only resources and resize policies change.

    Added or removed containers are kept, so that validation rejects them.
    """
    desired, before = child(new, "spec") or {}, child(old, "spec") or {}
    spec = dict(before)
    for name in ("containers", "initContainers"):
        if [one.get("name") for one in items(desired, name)] != [one.get("name") for one in items(before, name)]:
            return
        if name in before:
            spec[name] = [
                _resized(current, requested) for current, requested in zip(items(before, name), items(desired, name), strict=True)
            ]
    if "resources" in desired:
        spec["resources"] = desired["resources"]
    _restore(new, old, spec)


def _resized(container: Object, desired: Object) -> Object:
    kept = {key: value for key, value in container.items() if key not in ("resources", "resizePolicy")}
    return kept | {key: desired[key] for key in ("resources", "resizePolicy") if key in desired}


def _restore(new: Object, old: Object, spec: Object) -> None:
    """Restores all fields but the spec. The resourceVersion stays that of the request: it is the precondition of the write."""
    version = (child(new, "metadata") or {}).get("resourceVersion")
    new["metadata"] = dict(child(old, "metadata") or {})
    if version is not None:
        new["metadata"]["resourceVersion"] = version
    new["spec"], new["status"] = spec, child(old, "status") or {}
    generation.advance(_GENERATION, new, old)


def _tolerates(toleration: Object, key: str) -> bool:
    return (toleration.get("key") or key) == key and (toleration.get("effect") or "NoExecute") == "NoExecute"


def _select_by_label_keys(spec: Object, labels: Object) -> None:
    """Replaces label keys (`matchLabelKeys`, `mismatchLabelKeys`) by expressions with the pod's own label values."""
    for side in ("podAffinity", "podAntiAffinity"):
        for name in _TERMS:
            for one in items(below(spec, "affinity", side), name):
                term = child(one, "podAffinityTerm") or one
                _add_expressions(term, "matchLabelKeys", "In", labels=labels)
                _add_expressions(term, "mismatchLabelKeys", "NotIn", labels=labels)
    for constraint in items(spec, "topologySpreadConstraints"):
        _add_expressions(constraint, "matchLabelKeys", "In", labels=labels)


def _add_expressions(term: Object, keys: str, operator: str, *, labels: Object) -> None:
    selector, label_keys = child(term, "labelSelector"), term.get(keys)
    if selector is None or not isinstance(label_keys, list):
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]} for key in label_keys if isinstance(key, str) and key in labels
    ]
    if added:
        selector["matchExpressions"] = [*items(selector, "matchExpressions"), *added]
