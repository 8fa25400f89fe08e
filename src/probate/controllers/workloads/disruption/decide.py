"""The arithmetic of a budget: how many pods there should be, how many must serve, and how many may therefore be given up.

A pod that was evicted but is not seen to go yet counts as gone, for two minutes: then whoever evicted it has failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.timestamps import seconds, timestamp
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions, durations
from probate.controllers.workloads import int_or_percent, pod_template

ALLOWED = "DisruptionAllowed"
DELETION_SECONDS = 120.0
"""Within which an evicted pod must be seen to go."""


class Sizes(NamedTuple):
    """How many pods there should be, and how many of them must serve."""

    expected: int
    desired: int


class Disrupted(NamedTuple):
    """Evicted pods that are not seen to go yet, those that will not, and in how many seconds there is one more of those."""

    kept: dict[str, str]
    failed: list[Object]
    again: float | None


def needs_scale(budget: Object) -> bool:
    """Whether the budget goes by how many pods there should be, and not by how many there are."""
    spec = budget["spec"]
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def sizes(budget: Object, expected: int) -> Sizes:
    """What the budget says of so many pods."""
    spec = budget["spec"]
    if spec.get("maxUnavailable") is not None:
        return Sizes(expected, max(0, expected - int_or_percent.rounded_up(spec["maxUnavailable"], expected)))
    return Sizes(expected, int_or_percent.rounded_up(spec.get("minAvailable") or 0, expected))


def disrupted(budget: Object, ours: Iterable[Object], now: float) -> Disrupted:
    """What has become of the evicted pods."""
    there = {pod["metadata"]["name"]: pod for pod in ours}
    found = Disrupted({}, [], None)
    for name, since in ((budget.get("status") or {}).get("disruptedPods") or {}).items():
        pod = there.get(name)
        if pod is None or is_deleting(pod):
            continue
        wait = durations.until(seconds(since) + DELETION_SECONDS, now)
        if not wait:
            found.failed.append(pod)
            continue
        found.kept[name] = since
        found = found._replace(again=min(wait, found.again or wait))
    return found


def healthy(ours: Iterable[Object], gone: dict[str, str]) -> int:
    """How many pods serve, and stay."""
    return sum(pod_template.is_ready(pod) and not is_deleting(pod) and pod["metadata"]["name"] not in gone for pod in ours)


def status_of(budget: Object, wanted: Sizes, current: int, kept: dict[str, str], now: float) -> Object:
    """What the budget says of itself."""
    allowed = max(0, current - wanted.desired) if wanted.expected > 0 else 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return {
        **({"disruptedPods": kept} if kept else {}),
        "disruptionsAllowed": allowed,
        "currentHealthy": current,
        "desiredHealthy": wanted.desired,
        "expectedPods": wanted.expected,
        **_common(budget, str(bool(allowed)), reason, "", now),
    }


def failed_status(budget: Object, why: str, now: float) -> Object:
    """What a budget says that cannot be reckoned: nothing may be given up."""
    before = budget.get("status") or {}
    zero = {name: before.get(name) or 0 for name in ("currentHealthy", "desiredHealthy", "expectedPods")}
    return {**before, **zero, "disruptionsAllowed": 0, **_common(budget, "False", "SyncFailed", why, now)}


def _common(budget: Object, status: str, reason: str, message: str, now: float) -> Object:
    generation = budget["metadata"]["generation"]
    before = (budget.get("status") or {}).get("conditions") or []
    old = conditions.find(before, ALLOWED)
    is_same = old is not None and old["status"] == status
    new = {**conditions.made(ALLOWED, status, reason, message), "observedGeneration": generation}
    new["lastTransitionTime"] = old["lastTransitionTime"] if is_same and old is not None else timestamp(now)
    return {"observedGeneration": generation, "conditions": [*conditions.without(before, ALLOWED), new]}
