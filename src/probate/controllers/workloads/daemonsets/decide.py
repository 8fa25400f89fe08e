"""Decides the next changes to the pods of a DaemonSet, node by node, as a pure function.

A rolling update deletes an old pod and then creates the new one, while at most `maxUnavailable` nodes are without a pod; or it
creates the new pod first, while at most `maxSurge` nodes have two. A pod that is not available is replaced at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import int_or_percent, pod_template
from probate.controllers.workloads.daemonsets import placement
from probate.controllers.workloads.daemonsets.placement import REVISION_LABEL, Placement

PodPredicate = Callable[[Object], bool]
"""Returns whether the pod is available: ready for at least `minReadySeconds`."""


class NodePods(NamedTuple):
    """A node and the DaemonSet's pods on it, oldest first."""

    node: str
    placement: Placement
    pods: list[Object]

    @property
    def not_deleting(self) -> list[Object]:
        return [pod for pod in self.pods if not is_deleting(pod)]

    @property
    def active(self) -> list[Object]:
        return [pod for pod in self.pods if pod_template.is_active(pod)]


class UpdateLimits(NamedTuple):
    """On how many nodes an update may run two pods, and on how many none."""

    max_surge: int
    max_unavailable: int


class PodChanges(NamedTuple):
    """The nodes to create a pod for, the pods to delete, and the finished pods to delete."""

    creates: list[str]
    deletes: list[Object]
    finished: list[Object]


def node_pods(daemon_set: Object, nodes: Iterable[Object], pods: Iterable[Object]) -> list[NodePods]:
    """Returns all existing nodes, and the nodes that no longer exist but still have pods."""
    by_node: dict[str, list[Object]] = {}
    for pod in sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"])):
        by_node.setdefault(placement.target_node(pod), []).append(pod)
    existing = [NodePods(_name(node), placement.node_placement(daemon_set, node), by_node.pop(_name(node), [])) for node in nodes]
    gone = Placement(should_run=False, should_continue_running=True)
    return [*existing, *(NodePods(name, gone, pods_left) for name, pods_left in by_node.items())]


def update_limits(daemon_set: Object, desired_nodes: int) -> UpdateLimits:
    """Returns the limits of an update on this many nodes. At least one of them is positive, so the update always makes progress."""
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    if strategy.get("type") == "OnDelete":
        return UpdateLimits(0, 0)
    max_surge = int_or_percent.round_up(rolling.get("maxSurge") or 0, desired_nodes)
    configured = rolling.get("maxUnavailable")
    max_unavailable = int_or_percent.round_up(1 if configured is None else configured, desired_nodes)
    return UpdateLimits(max_surge, max_unavailable if max_surge or max_unavailable else 1)


def plan_placement(
    nodes: list[NodePods], existing_nodes: set[str], limits: UpdateLimits, *, update_hash: str, is_available: PodPredicate
) -> PodChanges:
    """Returns the changes that leave one pod on each node that should run one, and none elsewhere. `existing_nodes` are the names
    of the nodes that exist.
    """
    changes = PodChanges([], [], [])
    for node in nodes:
        if not node.node:
            continue  # the scheduler has not chosen a node yet
        if node.node not in existing_nodes:
            # Pod GC deletes the pods of a node that is gone. A pod that was never bound to it is deleted here.
            changes.deletes.extend(pod for pod in node.not_deleting if not pod["spec"].get("nodeName"))
        elif node.placement.should_run and not node.pods:
            changes.creates.append(node.node)
        elif not node.placement.should_continue_running:
            changes.deletes.extend(node.not_deleting)
        else:
            changes.finished.extend(pod for pod in node.not_deleting if pod_template.is_finished(pod))
            changes.deletes.extend(_surplus(node.active, limits, update_hash, is_available=is_available))
    return changes


def _surplus(active: list[Object], limits: UpdateLimits, update_hash: str, *, is_available: PodPredicate) -> list[Object]:
    """Returns the surplus pods of one node: the oldest stays. During a surge the oldest pod of each version may stay."""
    if not limits.max_surge:
        return active[1:]
    new = [pod for pod in active if is_updated(pod, update_hash)]
    old = [pod for pod in active if not is_updated(pod, update_hash)]
    if new and old and (not pod_template.is_ready(old[0]) or is_available(new[0])):
        return [*new[1:], *old]
    return [*new[1:], *old[1:]]


def plan_update(nodes: list[NodePods], limits: UpdateLimits, update_hash: str, *, is_available: PodPredicate) -> PodChanges:
    """Returns the changes that bring the next nodes to the version of this hash."""
    return (
        _surge(nodes, limits, update_hash, is_available=is_available)
        if limits.max_surge
        else _replace(nodes, limits, update_hash, is_available=is_available)
    )


def _replace(nodes: list[NodePods], limits: UpdateLimits, update_hash: str, *, is_available: PodPredicate) -> PodChanges:
    missing, unavailable, available = 0, list[Object](), list[Object]()
    for node in (node for node in nodes if node.placement.should_run):
        if len(node.active) != 1:
            missing += 1
        elif is_updated(node.active[0], update_hash):
            missing += not is_available(node.active[0])
        else:
            (available if is_available(node.active[0]) else unavailable).append(node.active[0])
    room = max(0, limits.max_unavailable - missing)
    return PodChanges([], [*unavailable, *available[: max(0, room - len(unavailable))]], [])


def _surge(nodes: list[NodePods], limits: UpdateLimits, update_hash: str, *, is_available: PodPredicate) -> PodChanges:
    surging, unavailable, available, outdated = 0, list[str](), list[str](), list[Object]()
    for node in (node for node in nodes if node.placement.should_run):
        new = [pod for pod in node.active if is_updated(pod, update_hash)]
        old = [pod for pod in node.active if not is_updated(pod, update_hash)]
        if len(new) > 1 or len(old) > 1:
            surging += 1
        elif old and new:
            surging += not is_available(new[0])
            outdated += old if is_available(new[0]) else []
        elif old:
            (available if is_available(old[0]) else unavailable).append(node.node)
    return PodChanges([*unavailable, *available[: max(0, limits.max_surge - surging)]], outdated, [])


def is_updated(pod: Object, update_hash: str) -> bool:
    """Returns whether the pod is of the desired version."""
    return bool((pod["metadata"].get("labels") or {}).get(REVISION_LABEL) == update_hash)


def _name(node: Object) -> str:
    name: str = node["metadata"]["name"]
    return name
