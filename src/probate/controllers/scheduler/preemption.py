"""Selects the pods to preempt for a pod of a higher priority, from the node cache alone.

On each node all pods of a lower priority are removed in a copy. If the pod fits then, as many of them as possible are put back:
first those whose PodDisruptionBudget allows no more disruptions, then the others, higher priorities first. The cheapest node wins:
fewest budget violations, then the lowest priority of its most important victim, then the lowest sum of priorities, then the fewest
victims, then the latest start time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.selectors import label_selectors
from probate.api.timestamps import parse_time
from probate.controllers.scheduler import decide, pod_affinity
from probate.controllers.scheduler.decide import PodRequirements
from probate.controllers.scheduler.node_cache import NodeCache, NodeInfo, PodInfo, counts_for, priority_of

REASON = "PreemptionByScheduler"
PRIORITY_OFFSET = 2**31

RequirementsOn = Callable[[NodeCache], PodRequirements]
"""Returns the pod's requirements, given this state of the nodes."""


class Candidate(NamedTuple):
    """A node for the pod, the victims on it (highest priority first), and how many budgets their eviction would violate."""

    node: str
    victims: tuple[Object, ...]
    violations: int


def find_candidate(cache: NodeCache, requirements_on: RequirementsOn, budgets: Iterable[Object]) -> Candidate | None:
    """Returns the best candidate, or None if no preemption would help."""
    requirements, budget_list = requirements_on(cache), list(budgets)
    candidates = [
        candidate
        for node in cache.nodes()
        if (candidate := _candidate_on(node, cache, requirements, requirements_on=requirements_on, budgets=budget_list)) is not None
    ]
    return min(candidates, key=_cost, default=None)


def is_preemption_in_progress(pod: Object, cache: NodeCache, node: str) -> bool:
    """Returns whether a preempted pod of a lower priority is still terminating on the node."""
    info = cache.find(node)
    if info is None:
        return False
    return any(priority_of(pod_info.pod) < priority_of(pod) and _is_preempted(pod_info.pod) for pod_info in info.pods.values())


def _is_preempted(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return "deletionTimestamp" in pod["metadata"] and any(
        condition["type"] == "DisruptionTarget" and condition["status"] == "True" and condition.get("reason") == REASON
        for condition in conditions
    )


def _candidate_on(
    info: NodeInfo, cache: NodeCache, requirements: PodRequirements, *, requirements_on: RequirementsOn, budgets: list[Object]
) -> Candidate | None:
    """Returns the candidate for this node, or None."""
    lower_priority = [pod_info for pod_info in info.pods.values() if _may_preempt(requirements.pod, pod_info.pod)]
    if not lower_priority:
        return None
    trial = info.copy()
    depends_on_pods = pod_affinity.has_pod_constraints(requirements.pod) or bool(info.pods_with_anti_affinity)
    for pod_info in lower_priority:
        trial.remove(pod_info.pod["metadata"]["uid"])

    def fits() -> bool:
        return not decide.rejection_reasons(requirements_on(cache.with_node(trial)) if depends_on_pods else requirements, trial)

    if not fits():
        return None
    violating, others = _split_by_budget(sorted(lower_priority, key=_importance_key), budgets)
    violations = [pod_info for pod_info in violating if not _can_stay(pod_info, trial, fits)]
    victims = [*violations, *(pod_info for pod_info in others if not _can_stay(pod_info, trial, fits))]
    return (
        Candidate(info.name, tuple(pod_info.pod for pod_info in sorted(victims, key=_importance_key)), len(violations))
        if victims
        else None
    )


def _may_preempt(pod: Object, victim: Object) -> bool:
    """Whether the pod has the higher priority, and it counts for the victim."""
    return priority_of(victim) < priority_of(pod) and counts_for(pod, victim)


def _can_stay(info: PodInfo, trial: NodeInfo, fits: Callable[[], bool]) -> bool:
    trial.add(info)
    if fits():
        return True
    trial.remove(info.pod["metadata"]["uid"])
    return False


def _split_by_budget(pods: list[PodInfo], budgets: list[Object]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Returns the pods whose eviction would violate a budget, and the others."""
    allowed = [(budget.get("status") or {}).get("disruptionsAllowed") or 0 for budget in budgets]
    violating, others = list[PodInfo](), list[PodInfo]()
    for info in pods:
        is_violated = False
        for index, budget in enumerate(budgets):
            if _covers(budget, info.pod):
                allowed[index] -= 1
                is_violated = is_violated or allowed[index] < 0
        (violating if is_violated else others).append(info)
    return violating, others


def _covers(budget: Object, pod: Object) -> bool:
    """Returns whether the budget covers the pod and has not counted its eviction yet."""
    meta, labels = pod["metadata"], pod["metadata"].get("labels")
    if not labels or budget["metadata"]["namespace"] != meta["namespace"]:
        return False
    selector = label_selectors.compile_object(budget["spec"].get("selector"), FieldPath("selector"))[0]
    evicted = (budget.get("status") or {}).get("disruptedPods") or {}
    return not selector.is_everything and selector.matches(labels) and meta["name"] not in evicted


def _importance_key(info: PodInfo) -> tuple[int, float]:
    return -priority_of(info.pod), _start_time(info.pod)


def _start_time(pod: Object) -> float:
    """Returns when the pod started; pods that have not started sort last."""
    start_time = (pod.get("status") or {}).get("startTime")
    return parse_time(start_time) if start_time else float("inf")


def _cost(candidate: Candidate) -> tuple[int, int, int, int, float, str]:
    priorities = [priority_of(victim) for victim in candidate.victims]
    highest = priorities[0]
    start_time = min(_start_time(victim) for victim in candidate.victims if priority_of(victim) == highest)
    return (
        candidate.violations,
        highest,
        sum(priority + PRIORITY_OFFSET for priority in priorities),
        len(priorities),
        -start_time,
        candidate.node,
    )
