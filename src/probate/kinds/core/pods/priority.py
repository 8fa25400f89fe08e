"""Resolves priority classes: a new pod gets the priority of the class that it names, or of the global default class.

A pod names a class and never sets the number: a pod whose priority differs from that of its class is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.kinds.shared import system_priority_classes
from probate.kinds.shared.object_fields import ensure_child, fill

DEFAULT_PREEMPTION = "PreemptLowerPriority"
_MAX_SHOWN = 253


class _Class(NamedTuple):
    value: int
    name: str
    policy: str
    is_default: bool = False


_NONE = _Class(0, "", DEFAULT_PREEMPTION)
_SYSTEM = {name: _Class(value, name, DEFAULT_PREEMPTION) for name, value in system_priority_classes.VALUES.items()}


class Priorities:
    """The existing priority classes: the system classes and PriorityClass objects."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        found = [_class(one) for one in objects]
        self._classes = _SYSTEM | {one.name: one for one in found}
        self._default = min((one for one in found if one.is_default), default=_NONE)

    def admit(self, pod: Object) -> str:
        """Sets the priority of a new pod.

        Returns why the pod is rejected if its class does not exist or differs from its numbers.
        """
        spec = ensure_child(pod, "spec")
        if spec is None:
            return ""
        wanted: str = spec.get("priorityClassName") or ""
        found = self._classes.get(wanted) if wanted else self._default
        if found is None:
            return f"no PriorityClass with name {wanted[:_MAX_SHOWN]} was found"
        if why := _objection(spec, found):
            return why
        if found.name:
            spec["priorityClassName"] = found.name
        fill(spec, priority=found.value, preemptionPolicy=found.policy)
        return ""

    def other_default(self, name: str) -> str:
        """Returns the name of the global default class, if it is not this one."""
        return self._default.name if self._default.name != name else ""


def _class(object_: Object) -> _Class:
    policy, is_default = object_.get("preemptionPolicy") or DEFAULT_PREEMPTION, bool(object_.get("globalDefault"))
    return _Class(object_.get("value") or 0, object_["metadata"]["name"], policy, is_default)


def _objection(spec: Object, found: _Class) -> str:
    computed = "must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name"
    if spec.get("priority") not in (None, found.value):
        return f"the integer value of priority ({spec['priority']}) {computed.format(found.value)}"
    if spec.get("preemptionPolicy") not in (None, "", found.policy):
        return f"the string value of PreemptionPolicy ({spec['preemptionPolicy'][:_MAX_SHOWN]}) {computed.format(found.policy)}"
    return ""
