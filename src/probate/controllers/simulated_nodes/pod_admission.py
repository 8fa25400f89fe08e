"""Node admission: which pods a node accepts. The scheduler sends none that does not fit, but a pod can name its node itself.

A node checks once, before it starts the pod: the requested resources must be free, the node must match the pod's selector and
affinity, and its host ports must be free. Resources that the node does not report are not checked.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.client.resources import node_name_of
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts, HostPort
from probate.kinds.core import node_selection


class Rejection(NamedTuple):
    """Why a pod is rejected."""

    reason: str
    message: str


class PodUsage(NamedTuple):
    """What a pod uses."""

    requests: Amounts
    host_ports: frozenset[HostPort]


class NodeAllocations:
    """What the pods of each node have been allocated."""

    def __init__(self) -> None:
        self._usage_by_node: dict[str, dict[str, PodUsage]] = {}  # by node, then by uid
        self._allocated: dict[str, Amounts] = {}

    def is_admitted(self, pod: Object) -> bool:
        """Returns whether the pod was admitted."""
        return pod["metadata"]["uid"] in self._usage_by_node.get(node_name_of(pod), ())

    def add(self, pod: Object) -> None:
        """Allocates what the pod requests now, without a check."""
        self.remove(pod)
        usage = PodUsage(pod_resources.of_pod(pod["spec"]), pod_resources.host_ports(pod["spec"]))
        self._usage_by_node.setdefault(node_name_of(pod), {})[pod["metadata"]["uid"]] = usage
        self._count(node_name_of(pod), usage, 1)

    def remove(self, pod: Object) -> bool:
        """Releases the pod's allocation. Returns whether it had one."""
        node = node_name_of(pod)
        usage = self._usage_by_node.get(node, {}).pop(pod["metadata"]["uid"], None)
        if usage is None:
            return False
        self._count(node, usage, -1)
        if not self._usage_by_node[node]:
            del self._usage_by_node[node], self._allocated[node]
        return True

    def used_by_others(self, pod: Object) -> Amounts:
        """Returns what all other pods of the node have been allocated."""
        usage = self._usage_by_node.get(node_name_of(pod), {}).get(pod["metadata"]["uid"])
        total = self._allocated.get(node_name_of(pod), {})
        return {name: amount - (usage.requests.get(name, 0) if usage is not None else 0) for name, amount in total.items()}

    def admit(self, pod: Object, node: Object) -> Rejection | None:
        """Admits the pod, or returns why it is rejected."""
        usage = PodUsage(pod_resources.of_pod(pod["spec"]), pod_resources.host_ports(pod["spec"]))
        other_pods = self._usage_by_node.get(node_name_of(pod), {}).values() if usage.host_ports else ()
        used_ports = frozenset(port for pod_usage in other_pods for port in pod_usage.host_ports)
        rejection = _check(pod, node, usage, used_by_others=self.used_by_others(pod), used_ports=used_ports)
        if rejection is None:
            self.add(pod)
        return rejection

    def _count(self, node: str, usage: PodUsage, sign: int) -> None:
        allocated = self._allocated.setdefault(node, {})
        for name, amount in usage.requests.items():
            allocated[name] = allocated.get(name, 0) + sign * amount


def _check(
    pod: Object, node: Object, usage: PodUsage, *, used_by_others: Amounts, used_ports: frozenset[HostPort]
) -> Rejection | None:
    allocatable = pod_resources.of_node(node)
    for name, amount in usage.requests.items():
        if amount and name in allocatable and amount > allocatable[name] - used_by_others.get(name, 0):
            amounts = (
                f"requested: {amount // 1000}, used: {used_by_others.get(name, 0) // 1000}, capacity: {allocatable[name] // 1000}"
            )
            return Rejection(f"OutOf{name}", f"Node didn't have enough resource: {name}, {amounts}")
    if not node_selection.is_selected(pod["spec"], node):
        return Rejection("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")
    if any(pod_resources.conflict(port, used_port) for port in usage.host_ports for used_port in used_ports):
        return Rejection("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports")
    return None
