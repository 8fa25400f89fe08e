"""Determines a pod's QoS class from the requests and limits of its containers.

Guaranteed: all containers have CPU and memory limits, and requests equal to them. BestEffort: no container has requests or limits.
Burstable: all others.
"""

from __future__ import annotations

from fractions import Fraction

from probate.api import quantities
from probate.api.objects import Object
from probate.kinds.shared.object_fields import child, items

_COUNTED = ("cpu", "memory")
_Amounts = dict[str, Fraction]


def qos_class(spec: Object) -> str:
    """Returns the QoS class of a pod with this spec. If pod-level resources are set, they alone count."""
    whole = child(spec, "resources")
    if whole is not None and (whole.get("limits") or whole.get("requests")):
        resources = [whole]
    else:
        resources = [child(one, "resources") or {} for one in (*items(spec, "containers"), *items(spec, "initContainers"))]
    requests = [_amounts(one, "requests") for one in resources]
    limits = [_amounts(one, "limits") for one in resources]
    if not any(requests) and not any(limits):
        return "BestEffort"
    is_limited = all(len(one) == len(_COUNTED) for one in limits)
    return "Guaranteed" if is_limited and _total(requests) == _total(limits) else "Burstable"


def _amounts(resources: Object, key: str) -> _Amounts:
    given = child(resources, key) or {}
    values = {name: quantities.value_or_zero(given.get(name)) for name in _COUNTED}
    return {name: value for name, value in values.items() if value > 0}


def _total(amounts: list[_Amounts]) -> _Amounts:
    return {name: sum((one.get(name, Fraction(0)) for one in amounts), Fraction(0)) for name in _COUNTED}
