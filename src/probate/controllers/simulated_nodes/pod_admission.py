"""Which pods a node takes. The scheduler sends none that does not fit, but a pod can name its node itself.

A node looks once, when a pod would start there: what the pod asks for has to be left, the node has to be one that the pod can go
to, and its ports have to be free. Resources that the node says nothing of are not its business.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import node_of
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts, HostPort
from probate.kinds.core import node_selection


class Refusal(NamedTuple):
    """Why a pod is not taken."""

    reason: str
    message: str


class Guest(NamedTuple):
    """What a pod takes."""

    takes: Amounts
    ports: frozenset[HostPort]


class Rooms:
    """What the pods of each node have taken there."""

    def __init__(self) -> None:
        self._guests: dict[str, dict[str, Guest]] = {}  # by node, then by uid
        self._taken: dict[str, Amounts] = {}

    def has(self, pod: Object) -> bool:
        """Whether the pod was taken."""
        return pod["metadata"]["uid"] in self._guests.get(node_of(pod), ())

    def put(self, pod: Object) -> None:
        """The pod has what it asks for now, whoever decided that."""
        self.drop(pod)
        guest = Guest(pod_resources.of_pod(pod["spec"]), pod_resources.host_ports(pod["spec"]))
        self._guests.setdefault(node_of(pod), {})[pod["metadata"]["uid"]] = guest
        self._count(node_of(pod), guest, 1)

    def drop(self, pod: Object) -> bool:
        """The pod has nothing any more. Whether it had something."""
        node = node_of(pod)
        guest = self._guests.get(node, {}).pop(pod["metadata"]["uid"], None)
        if guest is None:
            return False
        self._count(node, guest, -1)
        if not self._guests[node]:
            del self._guests[node], self._taken[node]
        return True

    def taken(self, pod: Object) -> Amounts:
        """What all others of its node have."""
        guest = self._guests.get(node_of(pod), {}).get(pod["metadata"]["uid"])
        total = self._taken.get(node_of(pod), {})
        return {name: amount - (guest.takes.get(name, 0) if guest is not None else 0) for name, amount in total.items()}

    def take(self, pod: Object, node: Object) -> Refusal | None:
        """Let the pod in, or say why not."""
        wanted = Guest(pod_resources.of_pod(pod["spec"]), pod_resources.host_ports(pod["spec"]))
        others = self._guests.get(node_of(pod), {}).values() if wanted.ports else ()
        used = frozenset(port for other in others for port in other.ports)
        refusal = _refusal(pod, node, wanted, self.taken(pod), used)
        if refusal is None:
            self.put(pod)
        return refusal

    def _count(self, node: str, guest: Guest, sign: int) -> None:
        taken = self._taken.setdefault(node, {})
        for name, amount in guest.takes.items():
            taken[name] = taken.get(name, 0) + sign * amount


def _refusal(pod: Object, node: Object, wanted: Guest, taken: Amounts, used: frozenset[HostPort]) -> Refusal | None:
    has = pod_resources.of_node(node)
    for name, amount in wanted.takes.items():
        if amount and name in has and amount > has[name] - taken.get(name, 0):
            told = f"requested: {amount // 1000}, used: {taken.get(name, 0) // 1000}, capacity: {has[name] // 1000}"
            return Refusal(f"OutOf{name}", f"Node didn't have enough resource: {name}, {told}")
    if not node_selection.is_wanted(pod["spec"], node):
        return Refusal("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")
    if any(pod_resources.collide(port, other) for port in wanted.ports for other in used):
        return Refusal("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports")
    return None
