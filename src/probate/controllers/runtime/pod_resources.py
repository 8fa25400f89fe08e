"""The resources and host ports that a pod requests and a node offers. Amounts are whole thousandths.

A pod needs the sum of what its containers request. While it starts, each init container needs its request and those of the sidecars
that were started before it; the larger of the two counts. A request of the pod as a whole takes precedence where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from probate.api import quantities
from probate.api.objects import Object

Amounts = dict[str, int]
HostPort = tuple[str, str, int]
"""A protocol, an address and a port."""

PODS = "pods"


def of_pod(spec: Object) -> Amounts:
    """Returns what a pod of this spec needs on its node, with one of the node's `pods`."""
    running = _sum(_requests(container) for container in spec.get("containers") or ())
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = _sum((sidecars, _requests(container)))
        else:
            starting = _max(starting, _sum((sidecars, _requests(container))))
    needed = _max(_sum((running, sidecars)), starting)
    needed |= _parse((spec.get("resources") or {}).get("requests") or {})
    return {**_sum((needed, _parse(spec.get("overhead") or {}))), PODS: 1000}


def of_node(node: Object) -> Amounts:
    """Returns what the node offers to pods."""
    status = node.get("status") or {}
    return _parse(status.get("allocatable") or status.get("capacity") or {})


def host_ports(spec: Object) -> frozenset[HostPort]:
    """Returns the host ports that the pod's containers use."""
    ports = (port for container in spec.get("containers") or () for port in container.get("ports") or ())
    return frozenset((p.get("protocol") or "TCP", p.get("hostIP") or "0.0.0.0", p["hostPort"]) for p in ports if p.get("hostPort"))  # noqa: S104


def conflict(first: HostPort, second: HostPort) -> bool:
    """Whether one node cannot provide both."""
    any_address = "0.0.0.0"  # noqa: S104
    return first[0] == second[0] and first[2] == second[2] and (first[1] == second[1] or any_address in (first[1], second[1]))


def _requests(container: Object) -> Amounts:
    return _parse((container.get("resources") or {}).get("requests") or {})


def _parse(quantities_: Object) -> Amounts:
    return {name: _thousandths(str(quantity)) for name, quantity in quantities_.items()}


@lru_cache(maxsize=4096)
def _thousandths(text: str) -> int:
    return int(-(-(quantities.value_or_zero(text) * 1000) // 1))


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _max(first: Amounts, second: Amounts) -> Amounts:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in first | second}
