"""Who is on which node, and what is left there: kept from what the informers tell, and from what was just decided.

A pod that was given a node counts there at once, long before the server tells so: else the next pod would get the same room. One
for which others have to leave first is expected there, and counts for all who are not more important.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_finished, node_of
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts, HostPort


class Guest(NamedTuple):
    """A pod on a node, and what it takes."""

    pod: Object
    takes: Amounts
    ports: frozenset[HostPort]


class Host:
    """A node, or the name of one that is not there (yet, or any more)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: Object | None = None
        self.has: Amounts = {}
        self.taken: Amounts = {}
        self.guests: dict[str, Guest] = {}  # by uid
        self.choosy: dict[str, Guest] = {}  # of those, who does not want to be near others
        self.expected: dict[str, Guest] = {}  # who comes when others have left, by uid

    def copy(self) -> Host:
        """One that can be changed without consequences."""
        other = Host(self.name)
        other.node, other.has, other.taken = self.node, self.has, dict(self.taken)
        other.guests, other.choosy, other.expected = dict(self.guests), dict(self.choosy), dict(self.expected)
        return other

    def with_expected(self, pod: Object) -> Host:
        """The node as it is for a pod: with those who are expected, unless they are less important than the pod."""
        others = [one for uid, one in self.expected.items() if uid != pod["metadata"]["uid"]]
        before = [one for one in others if priority_of(one.pod) >= priority_of(pod)]
        if not before:
            return self
        full = self.copy()
        for one in before:
            full.put(one)
        return full

    def put(self, guest: Guest) -> None:
        uid = guest.pod["metadata"]["uid"]
        self.remove(uid)
        self.guests[uid] = guest
        if (guest.pod["spec"].get("affinity") or {}).get("podAntiAffinity"):
            self.choosy[uid] = guest
        self._count(guest, 1)

    def remove(self, uid: str) -> None:
        guest = self.guests.pop(uid, None)
        self.choosy.pop(uid, None)
        if guest is not None:
            self._count(guest, -1)

    def lacks(self, wanted: Amounts) -> list[str]:
        """Of what there is not enough left."""
        has, taken = self.has, self.taken
        return [name for name, amount in wanted.items() if amount and amount > has.get(name, 0) - taken.get(name, 0)]

    def share(self, wanted: Amounts) -> float:
        """How much of the node is taken once somebody has this too: 0 for nothing, 1 for everything."""
        shares = [(self.taken.get(name, 0) + wanted.get(name, 0)) / (self.has.get(name) or 1) for name in ("cpu", "memory")]
        return sum(shares) / len(shares)

    def _count(self, guest: Guest, sign: int) -> None:
        for name, amount in guest.takes.items():
            self.taken[name] = self.taken.get(name, 0) + sign * amount


class Ledger:
    """All nodes with their pods."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}
        self._where: dict[str, str] = {}  # nodes of pods, by uid
        self._assumed: set[str] = set()  # uids of those of which the server has not told yet
        self._nominated: dict[str, str] = {}  # nodes at which pods are expected, by uid

    def hosts(self) -> list[Host]:
        """The nodes that are there."""
        return [host for host in self._hosts.values() if host.node is not None]

    def find(self, name: str) -> Host | None:
        """The node of this name, if it is there."""
        host = self._hosts.get(name)
        return host if host is not None and host.node is not None else None

    def replacing(self, host: Host) -> Ledger:
        """How things would be with this one in the place of the node of its name."""
        other = Ledger()
        other._hosts = {**self._hosts, host.name: host}
        return other

    def guests(self) -> Iterator[tuple[Host, Guest]]:
        """Every pod that has a node which is there."""
        return ((host, guest) for host in self.hosts() for guest in host.guests.values())

    def take_node(self, name: str, node: Object | None) -> None:
        host = self._host(name)
        host.node, host.has = node, pod_resources.of_node(node) if node is not None else {}
        self._drop_if_empty(host)

    def take_pod(self, old: Object | None, new: Object | None) -> None:
        """A pod has changed."""
        if new is None or is_finished(new):
            gone = new or old
            if gone is not None:
                self.forget(gone)
        elif node_of(new):
            self._put(new, node_of(new))
            self._assumed.discard(new["metadata"]["uid"])

    def nominate(self, pod: Object, node: str) -> None:
        """The pod is expected there."""
        self.withdraw(pod)
        host = self.find(node)
        if host is not None:
            self._nominated[pod["metadata"]["uid"]] = node
            host.expected[pod["metadata"]["uid"]] = _guest(pod)

    def withdraw(self, pod: Object) -> bool:
        """The pod is expected nowhere. Whether it was."""
        uid = pod["metadata"]["uid"]
        node = self._nominated.pop(uid, None)
        if node in self._hosts:
            self._hosts[node].expected.pop(uid, None)
        return node is not None

    def nominated_for(self, node: str) -> list[Object]:
        """The pods that are expected there."""
        host = self.find(node)
        return [one.pod for one in host.expected.values()] if host is not None else []

    def is_assumed(self, pod: Object) -> bool:
        """Whether the pod has been given a node already, although it does not say so."""
        return pod["metadata"]["uid"] in self._assumed

    def assume(self, pod: Object, node: str) -> None:
        """The pod will be told to go there."""
        self._put(pod, node)
        self._assumed.add(pod["metadata"]["uid"])

    def forget(self, pod: Object) -> None:
        """The pod takes nothing any more."""
        uid = pod["metadata"]["uid"]
        self._assumed.discard(uid)
        where = self._where.pop(uid, None)
        if where is not None:
            self._hosts[where].remove(uid)
            self._drop_if_empty(self._hosts[where])

    def _put(self, pod: Object, node: str) -> None:
        uid = pod["metadata"]["uid"]
        if self._where.get(uid, node) != node:
            self.forget(pod)
        self._where[uid] = node
        self.withdraw(pod)
        self._host(node).put(_guest(pod))

    def _host(self, name: str) -> Host:
        return self._hosts.setdefault(name, Host(name))

    def _drop_if_empty(self, host: Host) -> None:
        if host.node is None and not host.guests:
            self._hosts.pop(host.name, None)


def priority_of(pod: Object) -> int:
    """How important the pod is."""
    priority: int = pod["spec"].get("priority") or 0
    return priority


def _guest(pod: Object) -> Guest:
    return Guest(pod, pod_resources.of_pod(pod["spec"]), pod_resources.host_ports(pod["spec"]))
