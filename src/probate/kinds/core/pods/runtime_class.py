"""Runtime classes: what a new pod gets from the one that it names, for its own needs and for where it can run.

What running it costs beside its containers (the overhead) is for its class to say: a pod that says something else is refused, and
so is one whose class is not there, or whose node selector contradicts that of the class.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api import quantities
from probate.kinds.core import taints
from probate.kinds.core.pods import strategy
from probate.kinds.shared.object_fields import Object, below, child, items, made

_MAX_SHOWN = 253


class RuntimeClasses:
    """The classes that there are."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self._classes: dict[str, Object] = {one["metadata"]["name"]: one for one in objects}

    def admit(self, pod: Object) -> str:
        """Give a new pod what its class has. Returns why not, if there is no such class or the pod says otherwise."""
        spec = child(pod, "spec") or {}
        wanted, overhead = spec.get("runtimeClassName"), spec.get("overhead")
        if not wanted:
            return _stray(overhead)
        found = self._classes.get(wanted)
        if found is None:
            return f'pod rejected: RuntimeClass "{wanted[:_MAX_SHOWN]}" not found'
        fixed = child(found, "overhead")
        if fixed is None:
            return _stray(overhead) or _place(spec, child(found, "scheduling"))
        return _charge(spec, child(fixed, "podFixed") or {}) or _place(spec, child(found, "scheduling"))


def _stray(overhead: object) -> str:
    return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead" if overhead else ""


def _charge(spec: Object, fixed: Object) -> str:
    given = child(spec, "overhead")
    if given and _amounts(given) != _amounts(fixed):
        return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    if fixed:
        spec["overhead"] = dict(fixed)
    return ""


def _amounts(amounts: Object) -> Object:
    return {name: quantities.value_of(amount) for name, amount in amounts.items()}


def _place(spec: Object, scheduling: Object | None) -> str:
    """Let the pod run only where its class does, and there whatever keeps others away."""
    wanted = below(scheduling, "nodeSelector") or {}
    selector = made(spec, "nodeSelector") if wanted else None
    if selector is not None:
        for key in sorted(wanted):
            if selector.get(key, wanted[key]) != wanted[key]:
                told = (
                    f"runtimeClass.scheduling.nodeSelector[{key}] = {wanted[key]}; pod.spec.nodeSelector[{key}] = {selector[key]}"
                )
                return f"conflict: {told}"
        spec["nodeSelector"] = {**selector, **wanted}
    if more := items(scheduling, "tolerations"):
        strategy.admit_tolerations(spec)  # which come first: what the class tolerates may cover them
        spec["tolerations"] = taints.merged([*items(spec, "tolerations"), *more])
    return ""
