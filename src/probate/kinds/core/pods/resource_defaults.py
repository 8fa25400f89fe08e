"""Sets default requests: requests default to limits. This applies to Pods only, not to templates.

A pod with pod-level resources also gets the pod-level values that it lacks: huge pages and limits from its containers, and
requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from probate.api import quantities
from probate.api.objects import Object
from probate.kinds.shared.object_fields import below, child, drop_empty, ensure_child, items
from probate.kinds.shared.quantity_defaults import format_amount, normalize_lists

_Amounts = dict[str, tuple[Fraction, str]]  # each with a quantity string whose suffix family is kept
_SHARED = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def default_requests(spec: Object) -> None:
    """Sets the default requests of the containers, then the pod-level requests and limits that are not set."""
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            _follow_limits(ensure_child(container, "resources"))
    if (resources := child(spec, "resources")) is not None:
        _default_whole(resources, spec)


def _follow_limits(resources: Object | None) -> None:
    limits = None if resources is None else child(resources, "limits")
    if resources is None or not limits:
        return
    if (requests := ensure_child(resources, "requests")) is not None:
        resources["requests"] = {**limits, **requests}


def _default_whole(resources: Object, spec: Object) -> None:
    normalize_lists(resources, "limits", "requests")
    limits, requests = ensure_child(resources, "limits"), ensure_child(resources, "requests")
    if limits is not None and requests is not None:
        if limits or requests:
            _limit_huge_pages(limits, requests, spec)
        if limits:
            _default_whole_requests(limits, requests, spec)
        elif any(name in requests for name in _SHARED):
            _default_whole_limits(limits, spec)
    drop_empty(resources, "limits", "requests")


def _limit_huge_pages(limits: Object, requests: Object, spec: Object) -> None:
    for name, (value, like) in _of_containers(spec, "limits").items():
        if name.startswith(_HUGE_PAGES) and name not in requests:
            limits.setdefault(name, format_amount(value, like))


def _default_whole_requests(limits: Object, requests: Object, spec: Object) -> None:
    for name, (value, like) in _of_containers(spec, "requests").items():
        if name in _SHARED:
            requests.setdefault(name, format_amount(value, like))
    for name, amount in limits.items():
        if name in _SHARED or name.startswith(_HUGE_PAGES):
            requests.setdefault(name, amount)


def _default_whole_limits(limits: Object, spec: Object) -> None:
    """Sets pod-level limits if all containers have limits."""
    containers = [*items(spec, "containers"), *items(spec, "initContainers")]
    for name, (value, like) in _of_containers(spec, "limits").items():
        if name in _SHARED and all(name in (below(one, "resources", "limits") or {}) for one in containers):
            limits[name] = format_amount(value, like)


def _of_containers(spec: Object, which: str) -> _Amounts:
    """Returns what all containers together need: the sum of those that run in parallel; init containers run one after the other."""
    sidecars = [one for one in items(spec, "initContainers") if _is_sidecar(one)]
    total = _sum([*items(spec, "containers"), *sidecars], which)
    running: list[Object] = []
    for container in items(spec, "initContainers"):
        if _is_sidecar(container):
            running.append(container)
            continue
        for name, need in _sum([*running, container], which).items():
            if name not in total or need[0] > total[name][0]:
                total[name] = need
    return total


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _sum(containers: Iterable[Object], which: str) -> _Amounts:
    total: _Amounts = {}
    for container in containers:
        for name, amount in (below(container, "resources", which) or {}).items():
            if quantities.is_quantity(amount):
                before, like = total.get(name, (Fraction(0), str(amount)))
                total[name] = (before + quantities.parse(amount), like)
    return total
