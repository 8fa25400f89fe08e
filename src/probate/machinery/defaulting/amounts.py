"""What a pod asks for where it only says what it may use at most: requests follow limits. (Not so in templates.)"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from probate.machinery.defaulting.fields import Object, below, child, drop_empty, items, made
from probate.machinery.defaulting.quantities import settle_lists, spell
from probate.machinery.validation import quantities

_Amounts = dict[str, tuple[Fraction, str]]  # each with a spelling whose family it keeps


def default_requests(spec: Object) -> None:
    """Fill the requests of the containers, then those of the pod as a whole, where it has limits of its own."""
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            _follow_limits(made(container, "resources"))
    _default_pod_requests(spec)


def _follow_limits(resources: Object | None) -> None:
    limits = None if resources is None else child(resources, "limits")
    if resources is None or not limits:
        return
    if (requests := made(resources, "requests")) is not None:
        resources["requests"] = {**limits, **requests}


def _default_pod_requests(spec: Object) -> None:
    resources = child(spec, "resources")
    if resources is None:
        return
    settle_lists(resources, "limits", "requests")
    limits = child(resources, "limits")
    requests = made(resources, "requests")
    if limits and requests is not None:
        for name, (value, like) in _of_containers(spec).items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, spell(value, like))
        for name, amount in limits.items():
            if name in ("cpu", "memory") or name.startswith("hugepages-"):
                requests.setdefault(name, amount)
    drop_empty(resources, "requests")


def _of_containers(spec: Object) -> _Amounts:
    """What all containers together need: those that run side by side in sum, init containers one after the other."""
    sidecars = [one for one in items(spec, "initContainers") if _is_sidecar(one)]
    total = _sum([*items(spec, "containers"), *sidecars])
    running: list[Object] = []
    for container in items(spec, "initContainers"):
        if _is_sidecar(container):
            running.append(container)
            continue
        for name, need in _sum([*running, container]).items():
            if name not in total or need[0] > total[name][0]:
                total[name] = need
    return total


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _sum(containers: Iterable[Object]) -> _Amounts:
    total: _Amounts = {}
    for container in containers:
        for name, amount in (below(container, "resources", "requests") or {}).items():
            if quantities.is_quantity(amount):
                before, like = total.get(name, (Fraction(0), str(amount)))
                total[name] = (before + quantities.parse(amount), like)
    return total
