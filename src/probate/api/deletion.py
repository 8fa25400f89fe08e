"""What a delete does to an object, decided from the object and the request alone.

An object goes at once if nothing holds it. Else it is marked: it gets a deletionTimestamp and stays until its finalizers are
taken off and, for a pod, its node has ended it. How the dependents are to be treated is itself written down as a finalizer, which
the collector serves:

    wanted                                    finalizers afterwards
    Orphan                                    orphan
    Foreground                                foregroundDeletion
    Background                                neither
    nothing said, one of them is there        the one that is there
    nothing said, neither is there            orphan where that is the kind's habit, else neither

`CollectingGarbage` and `GarbageCollectionInProgress` are older names of foregroundDeletion: an object that carries one is treated
alike, and a new one is always written by its modern name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from probate.api.timestamps import is_past, seconds, timestamp

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
FOREGROUNDS = frozenset({FOREGROUND, "CollectingGarbage", "GarbageCollectionInProgress"})
COLLECTORS = FOREGROUNDS | {ORPHAN}
"""The finalizers that the collector takes off."""

MAX_GRACE = 2**31 - 1
"""Seconds of grace that a pod gets at most. Any number can be asked for, and some end after all that can be written as a time."""


class Policy(Enum):
    """What becomes of the dependents."""

    ORPHAN = "Orphan"
    BACKGROUND = "Background"
    FOREGROUND = "Foreground"


class Habit(Enum):
    """What a kind does when nobody says what becomes of the dependents."""

    BACKGROUND = "background"
    ORPHAN = "orphan"
    UNSUPPORTED = "unsupported"  # such objects own nothing: their collection finalizers are dropped


class Wish(NamedTuple):
    """What a delete asks for."""

    policy: Policy | None = None
    grace: int | None = None


class Verdict(NamedTuple):
    """What is to be done: write this metadata (None: nothing to write), and remove the object (after that write)."""

    metadata: dict[str, Any] | None
    removes: bool


NOTHING = Verdict(None, removes=False)
REMOVE = Verdict(None, removes=True)


def habit(group: str, version: str, kind: str) -> Habit:
    """The habit of a kind, in the version by which it is addressed."""
    if (group, version, kind) in {("", "v1", "ReplicationController"), ("batch", "v1", "Job"), ("batch", "v1beta1", "CronJob")}:
        return Habit.ORPHAN
    return Habit.UNSUPPORTED if kind == "Event" and group in {"", "events.k8s.io"} else Habit.BACKGROUND


def is_foreground(finalizers: Iterable[str]) -> bool:
    """Whether the object, once deleted, waits for its blocking dependents."""
    return not FOREGROUNDS.isdisjoint(finalizers)


def finalizers_after(finalizers: Sequence[str], policy: Policy | None, habit: Habit) -> list[str]:
    """The finalizers of an object that is deleted so. A list that has the right ones already stays as it is."""
    wanted = _wanted(finalizers, policy, habit)
    kept = [one for one in finalizers if one not in COLLECTORS]
    if wanted is None:
        return kept
    if wanted is Policy.FOREGROUND and is_foreground(finalizers) and ORPHAN not in finalizers:
        return list(finalizers)
    if wanted is Policy.ORPHAN and ORPHAN in finalizers and not is_foreground(finalizers):
        return list(finalizers)
    return [*kept, ORPHAN if wanted is Policy.ORPHAN else FOREGROUND]


def _wanted(finalizers: Sequence[str], policy: Policy | None, habit: Habit) -> Policy | None:
    """Orphan or Foreground if a finalizer has to say so; None if the dependents need none."""
    if habit is Habit.UNSUPPORTED or policy is Policy.BACKGROUND:
        return None
    if policy is not None:
        return policy
    for one in finalizers:  # of both, the first decides
        if one in COLLECTORS:
            return Policy.ORPHAN if one == ORPHAN else Policy.FOREGROUND
    return Policy.ORPHAN if habit is Habit.ORPHAN else None


def decide(meta: dict[str, Any], wish: Wish, habit: Habit, now: float, *, pod: dict[str, Any] | None = None) -> Verdict:
    """What a delete does to the object of this metadata. `pod` is the whole object if it is a pod: those have a grace period."""
    finalizers = finalizers_after(meta.get("finalizers") or [], wish.policy, habit)
    if pod is not None:
        return _decide_pod(meta, finalizers, wish, now, pod)
    if not finalizers:
        return REMOVE
    marked = dict(meta)
    if not is_past(meta.get("deletionTimestamp"), now):
        marked |= {"deletionTimestamp": timestamp(now), "deletionGracePeriodSeconds": 0}
        _count_generation(marked, meta)
    marked["finalizers"] = finalizers
    return Verdict(marked, removes=False) if marked != meta else NOTHING


def _decide_pod(meta: dict[str, Any], finalizers: list[str], wish: Wish, now: float, pod: dict[str, Any]) -> Verdict:
    when = _end_of_pod(meta, wish, now, pod)
    if when is None:
        return NOTHING
    marked = {**meta, **when}
    marked.pop("finalizers", None)
    if finalizers:
        marked["finalizers"] = finalizers
    _count_generation(marked, meta)
    is_over = not finalizers and not marked.get("deletionGracePeriodSeconds")
    return Verdict(marked if marked != meta else None, removes=is_over)


def _end_of_pod(meta: dict[str, Any], wish: Wish, now: float, pod: dict[str, Any]) -> dict[str, Any] | None:
    """When the pod ends, and how long it has until then; None if it is ending as fast already."""
    before, began = meta.get("deletionGracePeriodSeconds"), meta.get("deletionTimestamp")
    if began is None:
        grace = _grace(wish, pod)
        return {"deletionTimestamp": timestamp(now + grace), "deletionGracePeriodSeconds": grace}
    if not before:  # nothing is pending: an earlier removal did not come through
        return {}
    before = max(before, 1)
    if wish.grace is None or _positive(wish.grace) >= before:
        return None
    grace = _positive(wish.grace)
    end = seconds(began) - before + grace
    if end < now:
        return {"deletionTimestamp": timestamp(now), "deletionGracePeriodSeconds": 1 if grace else 0}
    return {"deletionTimestamp": timestamp(end), "deletionGracePeriodSeconds": grace}


def _grace(wish: Wish, pod: dict[str, Any]) -> int:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in {"Failed", "Succeeded"}:
        return 0
    wanted = wish.grace if wish.grace is not None else spec.get("terminationGracePeriodSeconds")
    return _positive(wanted or 0)


def _positive(grace: int) -> int:
    return 1 if grace < 0 else min(grace, MAX_GRACE)


def _count_generation(marked: dict[str, Any], before: dict[str, Any]) -> None:
    """Beginning to be deleted is a change of what is wanted, where the kind counts those."""
    if "deletionTimestamp" not in before and before.get("generation"):
        marked["generation"] = before["generation"] + 1
