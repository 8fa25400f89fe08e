"""Applies RuntimeClasses: a new pod gets the overhead and the scheduling constraints of the class that it names.

The class defines the overhead: a pod with a different overhead is rejected, and so is one whose class does not exist, or whose node
selector contradicts that of the class.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api import quantities
from probate.api.objects import Object
from probate.kinds.core import taints
from probate.kinds.core.pods import strategy
from probate.kinds.shared.object_fields import below, child, ensure_child, items

_MAX_SHOWN = 253


class RuntimeClasses:
    """The existing RuntimeClasses."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self._classes: dict[str, Object] = {one["metadata"]["name"]: one for one in objects}

    def admit(self, pod: Object) -> str:
        """Applies its RuntimeClass to a new pod.

        Returns why the pod is rejected if the class does not exist or contradicts the pod.
        """
        spec = child(pod, "spec") or {}
        wanted, overhead = spec.get("runtimeClassName"), spec.get("overhead")
        if not wanted:
            return _undefined_overhead(overhead)
        found = self._classes.get(wanted)
        if found is None:
            return f'pod rejected: RuntimeClass "{wanted[:_MAX_SHOWN]}" not found'
        fixed = child(found, "overhead")
        if fixed is None:
            return _undefined_overhead(overhead) or _apply_scheduling(spec, child(found, "scheduling"))
        return _apply_overhead(spec, child(fixed, "podFixed") or {}) or _apply_scheduling(spec, child(found, "scheduling"))


def _undefined_overhead(overhead: object) -> str:
    return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead" if overhead else ""


def _apply_overhead(spec: Object, fixed: Object) -> str:
    given = child(spec, "overhead")
    if given and _amounts(given) != _amounts(fixed):
        return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    if fixed:
        spec["overhead"] = dict(fixed)
    return ""


def _amounts(amounts: Object) -> Object:
    return {name: quantities.value_or_zero(amount) for name, amount in amounts.items()}


def _apply_scheduling(spec: Object, scheduling: Object | None) -> str:
    """Restricts the pod to the nodes of its class, and adds the class's tolerations."""
    labels = below(scheduling, "nodeSelector") or {}
    selector = ensure_child(spec, "nodeSelector") if labels else None
    if selector is not None:
        for key in sorted(labels):
            if selector.get(key, labels[key]) != labels[key]:
                message = (
                    f"runtimeClass.scheduling.nodeSelector[{key}] = {labels[key]}; pod.spec.nodeSelector[{key}] = {selector[key]}"
                )
                return f"conflict: {message}"
        spec["nodeSelector"] = {**selector, **labels}
    if class_tolerations := items(scheduling, "tolerations"):
        strategy.admit_tolerations(spec)  # these come first: a toleration of the class may cover them
        spec["tolerations"] = taints.merge_tolerations([*items(spec, "tolerations"), *class_tolerations])
    return ""
