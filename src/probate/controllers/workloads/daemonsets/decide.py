"""What is to happen next to the pods of a DaemonSet: a pure decision, node by node.

An update takes an old pod away and lets a new one come, as long as not too many nodes are without one (`maxUnavailable`); or it
lets the new one come first, as long as not too many nodes have two (`maxSurge`). A pod that does not serve is replaced at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import int_or_percent, pod_template
from probate.controllers.workloads.daemonsets import placement
from probate.controllers.workloads.daemonsets.placement import HASH, Verdict

Test = Callable[[Object], bool]
"""Whether a pod has served for long enough."""


class Place(NamedTuple):
    """A node and the set's pods on it, the oldest first."""

    node: str
    verdict: Verdict
    pods: list[Object]

    @property
    def staying(self) -> list[Object]:
        return [pod for pod in self.pods if not is_deleting(pod)]

    @property
    def active(self) -> list[Object]:
        return [pod for pod in self.pods if pod_template.is_active(pod)]


class Bounds(NamedTuple):
    """How many nodes may have two pods, and how many may have none."""

    surge: int
    unavailable: int


class Steps(NamedTuple):
    """The nodes to make a pod for, the pods to delete, and those to delete because they have ended."""

    makes: list[str]
    deletes: list[Object]
    ended: list[Object]


def places(set_: Object, nodes: Iterable[Object], ours: Iterable[Object]) -> list[Place]:
    """All nodes, and such as are no more but have pods."""
    by_node: dict[str, list[Object]] = {}
    for pod in sorted(ours, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"])):
        by_node.setdefault(placement.node_of(pod), []).append(pod)
    there = [Place(_name(node), placement.judge(set_, node), by_node.pop(_name(node), [])) for node in nodes]
    return [*there, *(Place(name, Verdict(should_run=False, may_stay=True), left) for name, left in by_node.items())]


def bounds(set_: Object, wanted: int) -> Bounds:
    """The bounds of an update on so many nodes. Something must always be allowed to happen."""
    strategy = set_["spec"].get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    if strategy.get("type") == "OnDelete":
        return Bounds(0, 0)
    surge = int_or_percent.rounded_up(rolling.get("maxSurge") or 0, wanted)
    said = rolling.get("maxUnavailable")
    unavailable = int_or_percent.rounded_up(1 if said is None else said, wanted)
    return Bounds(surge, unavailable if surge or unavailable else 1)


def place_pods(found: list[Place], known: set[str], limits: Bounds, hash_: str, is_available: Test) -> Steps:
    """What it takes to have a pod on each node that should have one, and none elsewhere. `known` are the nodes there are."""
    steps = Steps([], [], [])
    for one in found:
        if not one.node:
            continue  # nobody knows where it will run
        if one.node not in known:
            # Whoever removes a node takes its pods. One that never came to it is ours to take.
            steps.deletes.extend(pod for pod in one.staying if not pod["spec"].get("nodeName"))
        elif one.verdict.should_run and not one.pods:
            steps.makes.append(one.node)
        elif not one.verdict.may_stay:
            steps.deletes.extend(one.staying)
        else:
            steps.ended.extend(pod for pod in one.staying if pod_template.is_finished(pod))
            steps.deletes.extend(_excess(one.active, limits, hash_, is_available))
    return steps


def _excess(active: list[Object], limits: Bounds, hash_: str, is_available: Test) -> list[Object]:
    """Pods of one node that are too many: the oldest stays. During a surge, the oldest of each version may."""
    if not limits.surge:
        return active[1:]
    new = [pod for pod in active if is_new(pod, hash_)]
    old = [pod for pod in active if not is_new(pod, hash_)]
    if new and old and (not pod_template.is_ready(old[0]) or is_available(new[0])):
        return [*new[1:], *old]
    return [*new[1:], *old[1:]]


def roll(found: list[Place], limits: Bounds, hash_: str, is_available: Test) -> Steps:
    """What it takes to bring the next nodes to the version of this hash."""
    return _surge(found, limits, hash_, is_available) if limits.surge else _replace(found, limits, hash_, is_available)


def _replace(found: list[Place], limits: Bounds, hash_: str, is_available: Test) -> Steps:
    missing, broken, serving = 0, list[Object](), list[Object]()
    for one in (one for one in found if one.verdict.should_run):
        if len(one.active) != 1:
            missing += 1
        elif is_new(one.active[0], hash_):
            missing += not is_available(one.active[0])
        else:
            (serving if is_available(one.active[0]) else broken).append(one.active[0])
    room = max(0, limits.unavailable - missing)
    return Steps([], [*broken, *serving[: max(0, room - len(broken))]], [])


def _surge(found: list[Place], limits: Bounds, hash_: str, is_available: Test) -> Steps:
    doubled, broken, serving, over = 0, list[str](), list[str](), list[Object]()
    for one in (one for one in found if one.verdict.should_run):
        new = [pod for pod in one.active if is_new(pod, hash_)]
        old = [pod for pod in one.active if not is_new(pod, hash_)]
        if len(new) > 1 or len(old) > 1:
            doubled += 1
        elif old and new:
            doubled += not is_available(new[0])
            over += old if is_available(new[0]) else []
        elif old:
            (serving if is_available(old[0]) else broken).append(one.node)
    return Steps([*broken, *serving[: max(0, limits.surge - doubled)]], over, [])


def is_new(pod: Object, hash_: str) -> bool:
    """Whether the pod is of the version that is wanted."""
    return bool((pod["metadata"].get("labels") or {}).get(HASH) == hash_)


def _name(node: Object) -> str:
    name: str = node["metadata"]["name"]
    return name
