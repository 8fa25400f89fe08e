"""The node that a pod gets, or why it gets none. Decided from the ledger alone.

Every node is asked in turn, and the first objection counts. Of those that have none, the pod goes to the one that it likes best,
then to the one that is used least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from probate.client.objects import Object
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts, HostPort
from probate.controllers.scheduler.node_ledger import Host, Ledger
from probate.controllers.scheduler.pod_affinity import NamespaceLabels, Neighbours
from probate.kinds.core import node_selection, taints
from probate.kinds.core.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

NO_NODES = "no nodes available to schedule pods"
UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": NO_SCHEDULE}


class Choice(NamedTuple):
    """A node, or what the nodes object to."""

    node: str = ""
    objections: str = ""


class Asker(NamedTuple):
    """A pod, and what it needs of every node."""

    pod: Object
    wants: Amounts
    ports: frozenset[HostPort]
    neighbours: Neighbours
    objection_of_storage: Callable[[Object], str | None]


def choose(
    pod: Object, nodes: Ledger, labels_of: NamespaceLabels, storage: Callable[[Object], str | None] = lambda _: None
) -> Choice:
    """Where the pod goes."""
    hosts = nodes.hosts()
    if not hosts:
        return Choice(objections=NO_NODES)
    asks = asker(pod, nodes, labels_of=labels_of, storage=storage)
    told: Counter[str] = Counter()
    free = []
    for host in hosts:
        found = objections(asks, host)
        told.update(found)
        if not found:
            free.append(host)
    if not free:
        return Choice(objections=_summary(told, len(hosts)))
    return Choice(min(free, key=lambda host: _dislike(asks, host)).name)


def asker(
    pod: Object, nodes: Ledger, *, labels_of: NamespaceLabels, storage: Callable[[Object], str | None] = lambda _: None
) -> Asker:
    """The pod, and what it needs of every node while the others are where they are."""
    spec = pod["spec"]
    return Asker(pod, pod_resources.of_pod(spec), pod_resources.host_ports(spec), Neighbours(pod, nodes, labels_of), storage)


def objections(asker: Asker, host: Host) -> list[str]:
    """Why the pod cannot go there. Who is expected there and is no less important takes room already."""
    if host.expected:
        host = host.with_expected(asker.pod)
    node, pod = host.node, asker.pod
    if node is None:
        return ["node(s) are gone"]
    if node["spec"].get("unschedulable") and taints.untolerated(pod, [UNSCHEDULABLE]):
        return ["node(s) were unschedulable"]
    taint = taints.untolerated(pod, taints.taints_of(node, NO_SCHEDULE, NO_EXECUTE))
    if taint is not None:
        return [f"node(s) had untolerated taint(s) {{{taint['key']}: {taint.get('value') or ''}}}"]
    if not node_selection.is_wanted(pod["spec"], node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    if asker.ports and _are_taken(asker.ports, host):
        return ["node(s) didn't have free ports for the requested pod ports"]
    if lacks := host.lacks(asker.wants):
        return ["Too many pods" if name == pod_resources.PODS else f"Insufficient {name}" for name in lacks]
    found = asker.objection_of_storage(node) or asker.neighbours.objection(host)
    return [found] if found else []


def _are_taken(ports: frozenset[HostPort], host: Host) -> bool:
    taken = [port for guest in host.guests.values() for port in guest.ports]
    return any(pod_resources.collide(port, other) for port in ports for other in taken)


def _dislike(asker: Asker, host: Host) -> tuple[bool, int, float, int, str]:
    """The less, the better: where room was made for the pod, preferences, what is used already, how many there are, the name."""
    node, pod = host.node or {}, asker.pod
    discouraging = taints.taints_of(node, PREFER_NO_SCHEDULE)
    unwanted = sum(taints.untolerated(pod, [taint]) is not None for taint in discouraging)
    is_expected = pod["metadata"]["uid"] in host.expected
    liking = node_selection.preference(pod["spec"], node) - unwanted * 100
    return not is_expected, -liking, host.share(asker.wants), len(host.guests), host.name


def _summary(told: Counter[str], number: int) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(told.items()))
    return f"0/{number} nodes are available: {reasons}."
