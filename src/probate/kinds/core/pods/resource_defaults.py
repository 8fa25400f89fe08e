"""What a pod asks for where it only says what it may use at most: requests follow limits. (Not so in templates.)

A pod that says something of itself as a whole is given the rest: huge pages and limits as its containers have them, and requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from probate.api import quantities
from probate.kinds.shared.object_fields import Object, below, child, drop_empty, items, made
from probate.kinds.shared.quantity_defaults import settle_lists, spell

_Amounts = dict[str, tuple[Fraction, str]]  # each with a spelling whose family it keeps
_SHARED = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def default_requests(spec: Object) -> None:
    """Fill the requests of the containers, then what the pod as a whole leaves open."""
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            _follow_limits(made(container, "resources"))
    if (resources := child(spec, "resources")) is not None:
        _default_whole(resources, spec)


def _follow_limits(resources: Object | None) -> None:
    limits = None if resources is None else child(resources, "limits")
    if resources is None or not limits:
        return
    if (requests := made(resources, "requests")) is not None:
        resources["requests"] = {**limits, **requests}


def _default_whole(resources: Object, spec: Object) -> None:
    settle_lists(resources, "limits", "requests")
    limits, requests = made(resources, "limits"), made(resources, "requests")
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
            limits.setdefault(name, spell(value, like))


def _default_whole_requests(limits: Object, requests: Object, spec: Object) -> None:
    for name, (value, like) in _of_containers(spec, "requests").items():
        if name in _SHARED:
            requests.setdefault(name, spell(value, like))
    for name, amount in limits.items():
        if name in _SHARED or name.startswith(_HUGE_PAGES):
            requests.setdefault(name, amount)


def _default_whole_limits(limits: Object, spec: Object) -> None:
    """Containers that are all limited limit their pod."""
    containers = [*items(spec, "containers"), *items(spec, "initContainers")]
    for name, (value, like) in _of_containers(spec, "limits").items():
        if name in _SHARED and all(name in (below(one, "resources", "limits") or {}) for one in containers):
            limits[name] = spell(value, like)


def _of_containers(spec: Object, which: str) -> _Amounts:
    """What all containers together need: those that run side by side in sum, init containers one after the other."""
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
