"""Selects the node of a pod, or says why no node fits. A pure function of the node cache.

Each node is filtered, and its first failed filter is its reason. Among the nodes that fit, the pod goes to the one with the highest
preference score, then to the one with the lowest utilization.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from probate.api.objects import Object
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts, HostPort
from probate.controllers.scheduler.node_cache import NodeCache, NodeInfo
from probate.controllers.scheduler.pod_affinity import NamespaceLabels, PodConstraints
from probate.kinds.core import node_selection, taints
from probate.kinds.core.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

NO_NODES = "no nodes available to schedule pods"
UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": NO_SCHEDULE}


class ScheduleResult(NamedTuple):
    """A node, or a summary of why all nodes were rejected."""

    node: str = ""
    message: str = ""


class PodRequirements(NamedTuple):
    """A pod, and what it requires of every node."""

    pod: Object
    requests: Amounts
    host_ports: frozenset[HostPort]
    pod_constraints: PodConstraints
    volume_rejection: Callable[[Object], str | None]


def select_node(
    pod: Object,
    cache: NodeCache,
    namespace_labels: NamespaceLabels,
    *,
    volume_rejection: Callable[[Object], str | None] = lambda _: None,
) -> ScheduleResult:
    """Returns the node that the pod should be bound to."""
    nodes = cache.nodes()
    if not nodes:
        return ScheduleResult(message=NO_NODES)
    requirements = pod_requirements(pod, cache, namespace_labels=namespace_labels, volume_rejection=volume_rejection)
    counts: Counter[str] = Counter()
    fitting = []
    for node in nodes:
        reasons = rejection_reasons(requirements, node)
        counts.update(reasons)
        if not reasons:
            fitting.append(node)
    if not fitting:
        return ScheduleResult(message=_summary(counts, len(nodes)))
    return ScheduleResult(min(fitting, key=lambda node: _sort_key(requirements, node)).name)


def pod_requirements(
    pod: Object,
    cache: NodeCache,
    *,
    namespace_labels: NamespaceLabels,
    volume_rejection: Callable[[Object], str | None] = lambda _: None,
) -> PodRequirements:
    """Returns the pod's requirements, given where the other pods are."""
    spec = pod["spec"]
    return PodRequirements(
        pod,
        pod_resources.of_pod(spec),
        pod_resources.host_ports(spec),
        PodConstraints(pod, cache, namespace_labels),
        volume_rejection,
    )


def rejection_reasons(requirements: PodRequirements, info: NodeInfo) -> list[str]:
    """Returns why the pod cannot run on the node. Pods that are nominated for the node count as present, unless they have a
    lower priority than the pod.
    """
    if info.nominated:
        info = info.with_nominated_pods(requirements.pod)
    node, pod = info.node, requirements.pod
    if node is None:
        return ["node(s) are gone"]
    if node["spec"].get("unschedulable") and taints.first_untolerated(pod, [UNSCHEDULABLE]):
        return ["node(s) were unschedulable"]
    taint = taints.first_untolerated(pod, taints.taints_of(node, NO_SCHEDULE, NO_EXECUTE))
    if taint is not None:
        return [f"node(s) had untolerated taint(s) {{{taint['key']}: {taint.get('value') or ''}}}"]
    if not node_selection.is_selected(pod["spec"], node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    if requirements.host_ports and _has_port_conflict(requirements.host_ports, info):
        return ["node(s) didn't have free ports for the requested pod ports"]
    if insufficient := info.insufficient_resources(requirements.requests):
        return ["Too many pods" if name == pod_resources.PODS else f"Insufficient {name}" for name in insufficient]
    reason = requirements.volume_rejection(node) or requirements.pod_constraints.rejection(info)
    return [reason] if reason else []


def _has_port_conflict(host_ports: frozenset[HostPort], info: NodeInfo) -> bool:
    used = [port for pod in info.pods.values() for port in pod.host_ports]
    return any(pod_resources.conflict(port, used_port) for port in host_ports for used_port in used)


def _sort_key(requirements: PodRequirements, info: NodeInfo) -> tuple[bool, int, float, int, str]:
    """Returns the sort key of a node, lowest first: whether the pod is nominated for it, the preference score, the utilization,
    the number of pods, the name.
    """
    node, pod = info.node or {}, requirements.pod
    soft_taints = taints.taints_of(node, PREFER_NO_SCHEDULE)
    untolerated_count = sum(taints.first_untolerated(pod, [taint]) is not None for taint in soft_taints)
    is_nominated = pod["metadata"]["uid"] in info.nominated
    score = node_selection.preference(pod["spec"], node) - untolerated_count * 100
    return not is_nominated, -score, info.utilization(requirements.requests), len(info.pods), info.name


def _summary(counts: Counter[str], node_count: int) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return f"0/{node_count} nodes are available: {reasons}."
