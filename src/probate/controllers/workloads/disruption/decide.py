"""The arithmetic of a PodDisruptionBudget: how many pods are expected, how many must be healthy, and how many may be evicted.

A pod whose eviction was granted but whose deletion is not visible yet counts as gone for two minutes; after that the eviction is
considered failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import format_time, parse_time
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions, remaining_time
from probate.controllers.workloads import int_or_percent, pod_template

ALLOWED = "DisruptionAllowed"
DELETION_TIMEOUT_SECONDS = 120.0
"""How long the deletion of an evicted pod may take to become visible."""


class PodCounts(NamedTuple):
    """How many pods are expected, and how many of them must be healthy."""

    expected: int
    desired_healthy: int


class DisruptedPods(NamedTuple):
    """Evicted pods whose deletion is pending (name and eviction time), pods whose eviction failed, and in how many seconds the
    next one fails.
    """

    pending: dict[str, str]
    failed: list[Object]
    requeue_after: float | None


def needs_scale(budget: Object) -> bool:
    """Returns whether the budget depends on the desired number of pods rather than on the number that exists."""
    spec = budget["spec"]
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def pod_counts(budget: Object, expected: int) -> PodCounts:
    """Returns the counts for this many expected pods."""
    spec = budget["spec"]
    if spec.get("maxUnavailable") is not None:
        return PodCounts(expected, max(0, expected - int_or_percent.round_up(spec["maxUnavailable"], expected)))
    return PodCounts(expected, int_or_percent.round_up(spec.get("minAvailable") or 0, expected))


def check_disrupted_pods(budget: Object, pods: Iterable[Object], now: float) -> DisruptedPods:
    """Returns the state of the evicted pods."""
    existing = {pod["metadata"]["name"]: pod for pod in pods}
    result = DisruptedPods({}, [], None)
    for name, evicted_at in ((budget.get("status") or {}).get("disruptedPods") or {}).items():
        pod = existing.get(name)
        if pod is None or is_deleting(pod):
            continue
        wait = remaining_time.until(parse_time(evicted_at) + DELETION_TIMEOUT_SECONDS, now)
        if not wait:
            result.failed.append(pod)
            continue
        result.pending[name] = evicted_at
        result = result._replace(requeue_after=min(wait, result.requeue_after or wait))
    return result


def count_healthy(pods: Iterable[Object], evicted: dict[str, str]) -> int:
    """Returns how many pods are ready, not being deleted and not evicted."""
    return sum(pod_template.is_ready(pod) and not is_deleting(pod) and pod["metadata"]["name"] not in evicted for pod in pods)


def status_of(budget: Object, counts: PodCounts, current_healthy: int, *, pending: dict[str, str], now: float) -> Object:
    """Returns the status of the budget."""
    allowed = max(0, current_healthy - counts.desired_healthy) if counts.expected > 0 else 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return {
        **({"disruptedPods": pending} if pending else {}),
        "disruptionsAllowed": allowed,
        "currentHealthy": current_healthy,
        "desiredHealthy": counts.desired_healthy,
        "expectedPods": counts.expected,
        **_common(budget, str(bool(allowed)), reason=reason, message="", now=now),
    }


def failed_status(budget: Object, message: str, now: float) -> Object:
    """Returns the status of a budget whose counts are unknown: no pod may be evicted."""
    before = budget.get("status") or {}
    counts = {name: before.get(name) or 0 for name in ("currentHealthy", "desiredHealthy", "expectedPods")}
    return {**before, **counts, "disruptionsAllowed": 0, **_common(budget, "False", reason="SyncFailed", message=message, now=now)}


def _common(budget: Object, status: str, *, reason: str, message: str, now: float) -> Object:
    generation = budget["metadata"]["generation"]
    before = (budget.get("status") or {}).get("conditions") or []
    old = conditions.find(before, ALLOWED)
    is_same = old is not None and old["status"] == status
    new = {**conditions.new_condition(ALLOWED, status, reason=reason, message=message), "observedGeneration": generation}
    new["lastTransitionTime"] = old["lastTransitionTime"] if is_same and old is not None else format_time(now)
    return {"observedGeneration": generation, "conditions": [*conditions.without(before, ALLOWED), new]}
