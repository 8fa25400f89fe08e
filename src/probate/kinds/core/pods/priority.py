"""Resolves priority classes: a new pod gets the priority of the class that it names, or of the global default class.

A pod names a class and never sets the number: a pod whose priority differs from that of its class is rejected.

The global default class of a tenant is that of the tenant's pods only, and a tenant's pods get no default class of the platform,
unless it is shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api import tenants
from probate.api.objects import Object
from probate.kinds.shared import system_priority_classes
from probate.kinds.shared.object_fields import ensure_child, fill

DEFAULT_PREEMPTION = "PreemptLowerPriority"
_MAX_SHOWN = 253


class _Class(NamedTuple):
    value: int
    name: str
    policy: str


_NONE = _Class(0, "", DEFAULT_PREEMPTION)
_SYSTEM = {name: _Class(value, name, DEFAULT_PREEMPTION) for name, value in system_priority_classes.VALUES.items()}


class Priorities:
    """The existing priority classes: the system classes and PriorityClass objects."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        found = list(objects)
        self._classes = _SYSTEM | {one.name: one for one in map(_class, found)}
        self._defaults = [one for one in found if one.get("globalDefault")]
        self._default_by_tenant: dict[str, _Class] = {}

    def admit(self, pod: Object) -> str:
        """Sets the priority of a new pod.

        Returns why the pod is rejected if its class does not exist or differs from its numbers.
        """
        spec = ensure_child(pod, "spec")
        if spec is None:
            return ""
        wanted: str = spec.get("priorityClassName") or ""
        found = self._classes.get(wanted) if wanted else self._default(tenants.tenant_of(pod))
        if found is None:
            return f"no PriorityClass with name {wanted[:_MAX_SHOWN]} was found"
        if why := _objection(spec, found):
            return why
        if found.name:
            spec["priorityClassName"] = found.name
        fill(spec, priority=found.value, preemptionPolicy=found.policy)
        return ""

    def other_default(self, object_: Object) -> str:
        """Returns the name of the global default class where this one would be it, if there is another."""
        found = self._default(tenants.tenant_of(object_))
        return found.name if found.name != (object_["metadata"].get("name") or "") else ""

    def _default(self, tenant: str) -> _Class:
        """Returns the default class of a tenant; of the platform, if it is empty."""
        found = self._default_by_tenant.get(tenant)
        if found is None:
            applicable = (_class(one) for one in self._defaults if tenants.applies_to(one, tenant))
            found = self._default_by_tenant[tenant] = min(applicable, default=_NONE)
        return found


def _class(object_: Object) -> _Class:
    return _Class(object_.get("value") or 0, object_["metadata"]["name"], object_.get("preemptionPolicy") or DEFAULT_PREEMPTION)


def _objection(spec: Object, found: _Class) -> str:
    computed = "must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name"
    if spec.get("priority") not in (None, found.value):
        return f"the integer value of priority ({spec['priority']}) {computed.format(found.value)}"
    if spec.get("preemptionPolicy") not in (None, "", found.policy):
        return f"the string value of PreemptionPolicy ({spec['preemptionPolicy'][:_MAX_SHOWN]}) {computed.format(found.policy)}"
    return ""
