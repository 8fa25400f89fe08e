"""The nodes, their pods and their free resources: maintained from informer events and from the scheduler's own decisions.

A pod that was assigned to a node counts there at once, long before its binding arrives as an event; otherwise the next pod would
get the same resources. A pod whose victims still have to be deleted is nominated for its node, and counts there for all pods that
do not have a higher priority.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probate.api import tenants
from probate.api.objects import Object
from probate.client.resources import is_pod_finished, node_name_of
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts, HostPort


class PodInfo(NamedTuple):
    """A pod on a node, and what it requests."""

    pod: Object
    requests: Amounts
    host_ports: frozenset[HostPort]


class NodeInfo:
    """A node, or the name of a node that does not exist (yet, or any more) but has pods."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: Object | None = None
        self.allocatable: Amounts = {}
        self.requested: Amounts = {}
        self.pods: dict[str, PodInfo] = {}  # by uid
        self.pods_with_anti_affinity: dict[str, PodInfo] = {}  # the subset of `pods` with anti-affinity, by uid
        self.nominated: dict[str, PodInfo] = {}  # pods that wait for their victims to be deleted, by uid

    def copy(self) -> NodeInfo:
        """Returns a copy that can be changed independently."""
        copy = NodeInfo(self.name)
        copy.node, copy.allocatable, copy.requested = self.node, self.allocatable, dict(self.requested)
        copy.pods, copy.pods_with_anti_affinity = dict(self.pods), dict(self.pods_with_anti_affinity)
        copy.nominated = dict(self.nominated)
        return copy

    def with_nominated_pods(self, pod: Object) -> NodeInfo:
        """Returns the node as the pod sees it: with the nominated pods, except those of a lower priority than the pod.

        Tenants choose the priorities of their pods, and write their status: a nominated pod of a tenant counts for its pods only.
        """
        nominated = [info for uid, info in self.nominated.items() if uid != pod["metadata"]["uid"] and counts_for(info.pod, pod)]
        higher = [info for info in nominated if priority_of(info.pod) >= priority_of(pod)]
        if not higher:
            return self
        copy = self.copy()
        for info in higher:
            copy.add(info)
        return copy

    def add(self, info: PodInfo) -> None:
        uid = info.pod["metadata"]["uid"]
        self.remove(uid)
        self.pods[uid] = info
        if (info.pod["spec"].get("affinity") or {}).get("podAntiAffinity"):
            self.pods_with_anti_affinity[uid] = info
        self._count(info, 1)

    def remove(self, uid: str) -> None:
        info = self.pods.pop(uid, None)
        self.pods_with_anti_affinity.pop(uid, None)
        if info is not None:
            self._count(info, -1)

    def insufficient_resources(self, requests: Amounts) -> list[str]:
        """Returns the resources of which not enough is free."""
        allocatable, requested = self.allocatable, self.requested
        return [name for name, amount in requests.items() if amount and amount > allocatable.get(name, 0) - requested.get(name, 0)]

    def utilization(self, requests: Amounts) -> float:
        """Returns the utilization of the node with these additional requests: 0 for empty, 1 for full."""
        fractions = [
            (self.requested.get(name, 0) + requests.get(name, 0)) / (self.allocatable.get(name) or 1) for name in ("cpu", "memory")
        ]
        return sum(fractions) / len(fractions)

    def _count(self, info: PodInfo, sign: int) -> None:
        for name, amount in info.requests.items():
            self.requested[name] = self.requested.get(name, 0) + sign * amount


class NodeCache:
    """All nodes with their pods."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        self._node_of_pod: dict[str, str] = {}  # nodes of pods, by uid
        self._assumed: set[str] = set()  # uids of pods whose binding has not arrived yet
        self._nominations: dict[str, str] = {}  # nodes for which pods are nominated, by uid

    def nodes(self) -> list[NodeInfo]:
        """Returns the nodes that exist."""
        return [info for info in self._nodes.values() if info.node is not None]

    def find(self, name: str) -> NodeInfo | None:
        """Returns the node of this name, if it exists."""
        info = self._nodes.get(name)
        return info if info is not None and info.node is not None else None

    def with_node(self, info: NodeInfo) -> NodeCache:
        """Returns a cache in which this node replaces the one of its name."""
        cache = NodeCache()
        cache._nodes = {**self._nodes, info.name: info}
        return cache

    def pods(self) -> Iterator[tuple[NodeInfo, PodInfo]]:
        """Returns every pod on a node that exists."""
        return ((node_info, pod_info) for node_info in self.nodes() for pod_info in node_info.pods.values())

    def update_node(self, name: str, node: Object | None) -> None:
        """Updates the cache by a change of a node."""
        info = self._node_info(name)
        info.node, info.allocatable = node, pod_resources.of_node(node) if node is not None else {}
        self._drop_if_empty(info)

    def update_pod(self, old: Object | None, new: Object | None) -> None:
        """Updates the cache by a change of a pod."""
        if new is None or is_pod_finished(new):
            removed = new or old
            if removed is not None:
                self.remove_pod(removed)
        elif node_name_of(new):
            self._put(new, node_name_of(new))
            self._assumed.discard(new["metadata"]["uid"])

    def nominate(self, pod: Object, node: str) -> None:
        """Nominates the pod for the node."""
        self.remove_nomination(pod)
        info = self.find(node)
        if info is not None:
            self._nominations[pod["metadata"]["uid"]] = node
            info.nominated[pod["metadata"]["uid"]] = _pod_info(pod)

    def remove_nomination(self, pod: Object) -> bool:
        """Removes the pod's nomination. Returns whether it had one."""
        uid = pod["metadata"]["uid"]
        node = self._nominations.pop(uid, None)
        if node in self._nodes:
            self._nodes[node].nominated.pop(uid, None)
        return node is not None

    def nominated_pods(self, node: str) -> list[Object]:
        """Returns the pods that are nominated for the node."""
        info = self.find(node)
        return [nominated.pod for nominated in info.nominated.values()] if info is not None else []

    def is_assumed(self, pod: Object) -> bool:
        """Returns whether the pod was assigned to a node although its binding has not arrived yet."""
        return pod["metadata"]["uid"] in self._assumed

    def assume(self, pod: Object, node: str) -> None:
        """Counts the pod on the node before its binding arrives."""
        self._put(pod, node)
        self._assumed.add(pod["metadata"]["uid"])

    def remove_pod(self, pod: Object) -> None:
        """Removes the pod from its node."""
        uid = pod["metadata"]["uid"]
        self._assumed.discard(uid)
        node = self._node_of_pod.pop(uid, None)
        if node is not None:
            self._nodes[node].remove(uid)
            self._drop_if_empty(self._nodes[node])

    def _put(self, pod: Object, node: str) -> None:
        uid = pod["metadata"]["uid"]
        if self._node_of_pod.get(uid, node) != node:
            self.remove_pod(pod)
        self._node_of_pod[uid] = node
        self.remove_nomination(pod)
        self._node_info(node).add(_pod_info(pod))

    def _node_info(self, name: str) -> NodeInfo:
        return self._nodes.setdefault(name, NodeInfo(name))

    def _drop_if_empty(self, info: NodeInfo) -> None:
        if info.node is None and not info.pods:
            self._nodes.pop(info.name, None)


def priority_of(pod: Object) -> int:
    """Returns the pod's priority."""
    priority: int = pod["spec"].get("priority") or 0
    return priority


def counts_for(pod: Object, other: Object) -> bool:
    """Whether the priority of a pod counts for another one: tenants choose priorities, so a tenant's count among its own pods."""
    return tenants.tenant_of(pod) in {"", tenants.tenant_of(other)}


def _pod_info(pod: Object) -> PodInfo:
    return PodInfo(pod, pod_resources.of_pod(pod["spec"]), pod_resources.host_ports(pod["spec"]))
