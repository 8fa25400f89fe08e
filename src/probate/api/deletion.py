"""Decides what a delete does to an object: removes it at once, or marks it and writes its finalizers.

The decision depends on the object and the request alone. An object that nothing holds is removed at once. Otherwise it is marked:
it gets a deletionTimestamp and stays until its finalizers are removed and, if it is a pod, its node has ended it. The policy for
the dependents is written as a finalizer, which the collector serves:

    policy of the request                     finalizers afterwards
    Orphan                                    orphan
    Foreground                                foregroundDeletion
    Background                                neither
    none, and the object has one of them      the one that it has
    none, and the object has neither          orphan if that is the kind's default, else neither

`CollectingGarbage` and `GarbageCollectionInProgress` are older names of foregroundDeletion: an object that has one is treated
alike, and a new finalizer always gets the modern name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from probate.api.timestamps import format_time, is_past, parse_time

ORPHAN_FINALIZER = "orphan"
FOREGROUND_FINALIZER = "foregroundDeletion"
FOREGROUND_FINALIZERS = frozenset({FOREGROUND_FINALIZER, "CollectingGarbage", "GarbageCollectionInProgress"})
COLLECTOR_FINALIZERS = FOREGROUND_FINALIZERS | {ORPHAN_FINALIZER}
"""The finalizers that the collector removes."""

MAX_GRACE_SECONDS = 2**31 - 1
"""The longest grace period of a pod. A request may name any number, and some would end after the last time that can be written."""


class PropagationPolicy(Enum):
    """How a delete treats the dependents."""

    ORPHAN = "Orphan"
    BACKGROUND = "Background"
    FOREGROUND = "Foreground"


class DefaultPropagation(Enum):
    """How a kind treats the dependents if neither the request nor a finalizer says so."""

    BACKGROUND = "background"
    ORPHAN = "orphan"
    UNSUPPORTED = "unsupported"  # such objects own nothing: the collector's finalizers are removed from them


class DeletionRequest(NamedTuple):
    """The part of DeleteOptions that decides about the object: the policy, and the grace period in seconds."""

    policy: PropagationPolicy | None = None
    grace: int | None = None


class DeletionDecision(NamedTuple):
    """The metadata to write (None: nothing), and whether to remove the object after that write."""

    metadata: dict[str, Any] | None
    removes: bool


NO_CHANGE = DeletionDecision(None, removes=False)
REMOVE = DeletionDecision(None, removes=True)


def default_propagation(group: str, version: str, kind: str) -> DefaultPropagation:
    """Returns the default of a kind, in the version by which the request addresses it."""
    if (group, version, kind) in {("", "v1", "ReplicationController"), ("batch", "v1", "Job"), ("batch", "v1beta1", "CronJob")}:
        return DefaultPropagation.ORPHAN
    is_event = kind == "Event" and group in {"", "events.k8s.io"}
    return DefaultPropagation.UNSUPPORTED if is_event else DefaultPropagation.BACKGROUND


def is_foreground(finalizers: Iterable[str]) -> bool:
    """Whether the object, once deleted, waits for its blocking dependents."""
    return not FOREGROUND_FINALIZERS.isdisjoint(finalizers)


def finalizers_after(finalizers: Sequence[str], policy: PropagationPolicy | None, default: DefaultPropagation) -> list[str]:
    """Returns the finalizers of an object after this delete. A list that is right already keeps its order."""
    effective = _effective_policy(finalizers, policy, default)
    remaining = [finalizer for finalizer in finalizers if finalizer not in COLLECTOR_FINALIZERS]
    if effective is None:
        return remaining
    is_orphan = ORPHAN_FINALIZER in finalizers
    if effective is PropagationPolicy.FOREGROUND and is_foreground(finalizers) and not is_orphan:
        return list(finalizers)
    if effective is PropagationPolicy.ORPHAN and is_orphan and not is_foreground(finalizers):
        return list(finalizers)
    return [*remaining, ORPHAN_FINALIZER if effective is PropagationPolicy.ORPHAN else FOREGROUND_FINALIZER]


def _effective_policy(
    finalizers: Sequence[str], policy: PropagationPolicy | None, default: DefaultPropagation
) -> PropagationPolicy | None:
    """Returns Orphan or Foreground if that must be written as a finalizer; None if it needs none."""
    if default is DefaultPropagation.UNSUPPORTED or policy is PropagationPolicy.BACKGROUND:
        return None
    if policy is not None:
        return policy
    for finalizer in finalizers:  # if there are both, the first counts
        if finalizer in COLLECTOR_FINALIZERS:
            return PropagationPolicy.ORPHAN if finalizer == ORPHAN_FINALIZER else PropagationPolicy.FOREGROUND
    return PropagationPolicy.ORPHAN if default is DefaultPropagation.ORPHAN else None


def decide(
    meta: dict[str, Any],
    request: DeletionRequest,
    default: DefaultPropagation,
    *,
    now: float,
    pod: dict[str, Any] | None = None,
) -> DeletionDecision:
    """Returns what the delete does to the object of this metadata.

    `pod` is the whole object if it is a pod: it has a grace period.
    """
    finalizers = finalizers_after(meta.get("finalizers") or [], request.policy, default)
    if pod is not None:
        return _decide_pod(meta, finalizers, request, now=now, pod=pod)
    if not finalizers:
        return REMOVE
    marked = dict(meta)
    if not is_past(meta.get("deletionTimestamp"), now):
        marked |= {"deletionTimestamp": format_time(now), "deletionGracePeriodSeconds": 0}
        _increment_generation(marked, meta)
    marked["finalizers"] = finalizers
    return DeletionDecision(marked, removes=False) if marked != meta else NO_CHANGE


def _decide_pod(
    meta: dict[str, Any], finalizers: list[str], request: DeletionRequest, *, now: float, pod: dict[str, Any]
) -> DeletionDecision:
    times = _termination_times(meta, request, now, pod=pod)
    if times is None:
        return NO_CHANGE
    marked = {**meta, **times}
    marked.pop("finalizers", None)
    if finalizers:
        marked["finalizers"] = finalizers
    _increment_generation(marked, meta)
    is_over = not finalizers and not marked.get("deletionGracePeriodSeconds")
    return DeletionDecision(marked if marked != meta else None, removes=is_over)


def _termination_times(meta: dict[str, Any], request: DeletionRequest, now: float, *, pod: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the pod's new deletionTimestamp and grace period; None if it already terminates at least as fast."""
    before, began = meta.get("deletionGracePeriodSeconds"), meta.get("deletionTimestamp")
    if began is None:
        grace = _grace(request, pod)
        return {"deletionTimestamp": format_time(now + grace), "deletionGracePeriodSeconds": grace}
    if not before:  # the grace period is over: an earlier removal did not complete
        return {}
    before = max(before, 1)
    if request.grace is None or _limit_grace(request.grace) >= before:
        return None
    grace = _limit_grace(request.grace)
    end = parse_time(began) - before + grace
    if end < now:
        return {"deletionTimestamp": format_time(now), "deletionGracePeriodSeconds": 1 if grace else 0}
    return {"deletionTimestamp": format_time(end), "deletionGracePeriodSeconds": grace}


def _grace(request: DeletionRequest, pod: dict[str, Any]) -> int:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in {"Failed", "Succeeded"}:
        return 0
    grace = request.grace if request.grace is not None else spec.get("terminationGracePeriodSeconds")
    return _limit_grace(grace or 0)


def _limit_grace(grace: int) -> int:
    """Returns the grace period within its limits: a negative one counts as one second."""
    return 1 if grace < 0 else min(grace, MAX_GRACE_SECONDS)


def _increment_generation(marked: dict[str, Any], before: dict[str, Any]) -> None:
    """Increments the generation when deletion begins, if the kind has one."""
    if "deletionTimestamp" not in before and before.get("generation"):
        marked["generation"] = before["generation"] + 1
