"""Pods: their first status, tolerations, and what their subresources may change. (`priorities` has their priority.)"""

from __future__ import annotations

from probate.kinds.core.pods import app_armor
from probate.kinds.core.pods.qos_class import qos_class
from probate.kinds.shared import generation
from probate.kinds.shared.object_fields import Object, below, child, fill, items, made, text

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
    """Prepare a new Pod. What admission adds comes first: it counts for the rest."""
    spec = made(pod, "spec")
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
    """Let the pod stay for a while on a node that is away, unless it says how long itself."""
    for key in _AWAY:
        if not any(_tolerates(toleration, key) for toleration in items(spec, "tolerations")):
            away = {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": _SECONDS}
            given = spec.get("tolerations")
            spec["tolerations"] = [*(given if isinstance(given, list) else []), away]


def update_pod(new: Object, old: Object) -> None:
    """Prepare a changed Pod: what admission gave stays."""
    spec, before = made(new, "spec"), child(old, "spec")
    if spec is None or before is None:
        return
    for name in ("priority", "preemptionPolicy"):
        if before.get(name) is not None:
            fill(spec, **{name: before[name]})
    admit_tolerations(spec)


def update_pod_status(new: Object, old: Object) -> None:
    """Prepare a changed status: the class of service is for life, and observed generations are not forgotten."""
    status, before = made(new, "status"), child(old, "status") or {}
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
    """Prepare a change through `ephemeralcontainers`: everything else is as it was."""
    spec = {**(child(old, "spec") or {}), "ephemeralContainers": (child(new, "spec") or {}).get("ephemeralContainers")}
    if spec["ephemeralContainers"] is None:
        del spec["ephemeralContainers"]
    _restore(new, old, spec)


def update_resize(new: Object, old: Object) -> None:
    """Prepare a change through `resize`: only resources and how they are resized. Other containers are for the checks to refuse."""
    wanted, before = child(new, "spec") or {}, child(old, "spec") or {}
    spec = dict(before)
    for name in ("containers", "initContainers"):
        if [one.get("name") for one in items(wanted, name)] != [one.get("name") for one in items(before, name)]:
            return
        if name in before:
            spec[name] = [_resized(ours, theirs) for ours, theirs in zip(items(before, name), items(wanted, name), strict=True)]
    if "resources" in wanted:
        spec["resources"] = wanted["resources"]
    _restore(new, old, spec)


def _resized(container: Object, wanted: Object) -> Object:
    kept = {key: value for key, value in container.items() if key not in ("resources", "resizePolicy")}
    return kept | {key: wanted[key] for key in ("resources", "resizePolicy") if key in wanted}


def _restore(new: Object, old: Object, spec: Object) -> None:
    """All as it was but the spec. The resourceVersion stays the caller's: it is what the change is conditional on."""
    version = (child(new, "metadata") or {}).get("resourceVersion")
    new["metadata"] = dict(child(old, "metadata") or {})
    if version is not None:
        new["metadata"]["resourceVersion"] = version
    new["spec"], new["status"] = spec, child(old, "status") or {}
    generation.advance("", "Pod", new, old)


def _tolerates(toleration: Object, key: str) -> bool:
    return (toleration.get("key") or key) == key and (toleration.get("effect") or "NoExecute") == "NoExecute"


def _select_by_label_keys(spec: Object, labels: Object) -> None:
    """Turn the keys that a pod matches by into its own values for them."""
    for side in ("podAffinity", "podAntiAffinity"):
        for name in _TERMS:
            for one in items(below(spec, "affinity", side), name):
                term = child(one, "podAffinityTerm") or one
                _add_expressions(term, "matchLabelKeys", "In", labels)
                _add_expressions(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in items(spec, "topologySpreadConstraints"):
        _add_expressions(constraint, "matchLabelKeys", "In", labels)


def _add_expressions(term: Object, keys: str, operator: str, labels: Object) -> None:
    selector, wanted = child(term, "labelSelector"), term.get(keys)
    if selector is None or not isinstance(wanted, list):
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]} for key in wanted if isinstance(key, str) and key in labels
    ]
    if added:
        selector["matchExpressions"] = [*items(selector, "matchExpressions"), *added]
