"""What a pod asks for and what a node has to give: resources, as whole numbers of thousandths, and ports of the node.

A pod needs what its containers need together; but while it starts, each of its init containers needs what it asks for beside the
sidecars that were started before it. What the pod asks for as a whole counts instead, where it says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from probate.api import quantities
from probate.client.objects import Object

Amounts = dict[str, int]
HostPort = tuple[str, str, int]
"""A protocol, an address and a port."""

PODS = "pods"


def of_pod(spec: Object) -> Amounts:
    """What a pod of this spec needs on its node, itself included."""
    running = _total(_requests(one) for one in spec.get("containers") or ())
    sidecars: Amounts = {}
    starting: Amounts = {}
    for one in spec.get("initContainers") or ():
        if one.get("restartPolicy") == "Always":
            sidecars = _total((sidecars, _requests(one)))
        else:
            starting = _most(starting, _total((sidecars, _requests(one))))
    needed = _most(_total((running, sidecars)), starting)
    needed |= _read((spec.get("resources") or {}).get("requests") or {})
    return {**_total((needed, _read(spec.get("overhead") or {}))), PODS: 1000}


def of_node(node: Object) -> Amounts:
    """What pods can have on the node."""
    status = node.get("status") or {}
    return _read(status.get("allocatable") or status.get("capacity") or {})


def host_ports(spec: Object) -> frozenset[HostPort]:
    """The ports of the node itself that the pod's containers want."""
    ports = (port for container in spec.get("containers") or () for port in container.get("ports") or ())
    return frozenset((p.get("protocol") or "TCP", p.get("hostIP") or "0.0.0.0", p["hostPort"]) for p in ports if p.get("hostPort"))  # noqa: S104


def collide(one: HostPort, other: HostPort) -> bool:
    """Whether both cannot be had on one node."""
    everywhere = "0.0.0.0"  # noqa: S104
    return one[0] == other[0] and one[2] == other[2] and (one[1] == other[1] or everywhere in (one[1], other[1]))


def _requests(container: Object) -> Amounts:
    return _read((container.get("resources") or {}).get("requests") or {})


def _read(given: Object) -> Amounts:
    return {name: _thousandths(str(amount)) for name, amount in given.items()}


@lru_cache(maxsize=4096)
def _thousandths(text: str) -> int:
    return int(-(-(quantities.value_of(text) * 1000) // 1))


def _total(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in one | other}
