"""What is to happen next to the pods of a StatefulSet: a pure decision, from the pods there are.

In order, a pod is made only when all before it serve, and deleted only when all after it are gone: one thing at a time. In parallel
nobody waits. Once all wanted pods are as they should be, those of the old version are replaced, the highest number first.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import int_or_percent, pod_template
from probate.controllers.workloads.statefulsets import ordinals
from probate.controllers.workloads.statefulsets.ordinals import is_available, ordinal


class Crowd(NamedTuple):
    """The pods of a set: those that are wanted, by their numbers, and those that are too many, the highest number first."""

    set: Object
    wanted: dict[int, Object]
    surplus: list[Object]


class Steps(NamedTuple):
    """What to make, by number, and what to delete. `kept` are the pods that are looked after meanwhile."""

    makes: list[int]
    deletes: list[Object]
    kept: list[Object]


def crowd(set_: Object, ours: list[Object]) -> Crowd:
    """The pods, told apart."""
    numbers, wanted = ordinals.ordinals(set_), dict[int, Object]()
    surplus: list[tuple[int, Object]] = []
    for pod in ours:
        number = ordinal(pod, set_)
        if number is not None and number in numbers:
            wanted[number] = pod
        elif number is not None:
            surplus.append((number, pod))
    surplus.sort(key=lambda one: one[0], reverse=True)
    return Crowd(set_, wanted, [pod for _, pod in surplus])


def plan(those: Crowd, updated: str, now: float) -> Steps:
    """The next steps towards what is wanted. `updated` is the name of the revision that pods should have."""
    steps, is_ordered = Steps([], [], []), ordinals.is_ordered(those.set)
    for number in ordinals.ordinals(those.set):
        if not _look_at(those, number, steps, now) and is_ordered:
            return steps
    steps.kept.extend(those.surplus)
    if _reduce(those, steps, now, is_ordered=is_ordered):
        steps.deletes.extend(outdated(those, updated, now))
    return steps


def _look_at(those: Crowd, number: int, steps: Steps, now: float) -> bool:
    """See to one pod that is wanted. Returns whether those after it need not wait."""
    pod = those.wanted.get(number)
    if pod is None:
        steps.makes.append(number)
        return False
    if pod_template.is_finished(pod):
        steps.deletes.extend([] if is_deleting(pod) else [pod])  # another one comes when it is gone (SS-3)
        return False
    steps.kept.append(pod)
    return is_available(pod, those.set, now)


def _reduce(those: Crowd, steps: Steps, now: float, *, is_ordered: bool) -> bool:
    """Delete those that are too many. Returns whether nothing of that is left to do, or nobody waits for it."""
    if not is_ordered:
        steps.deletes.extend(pod for pod in those.surplus if not is_deleting(pod))
        return True
    if not those.surplus:
        return True
    last, before = those.surplus[0], those.surplus[1:]
    # One that does not serve is not deleted while one before it does not serve either: that one is to be seen to first.
    is_blocked = not is_available(last, those.set, now) and not all(is_available(one, those.set, now) for one in before)
    if not is_deleting(last) and not is_blocked:
        steps.deletes.append(last)
    return False


def outdated(those: Crowd, updated: str, now: float) -> list[Object]:
    """The pods to delete so that they come back in the version that is wanted.

    At most so many may be missing at once. A pod that does not serve anyway costs nothing: else it could not be replaced by one
    that does.
    """
    strategy = those.set["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return []
    numbers = ordinals.ordinals(those.set)
    missing = sum(number not in those.wanted or not is_available(those.wanted[number], those.set, now) for number in numbers)
    old = [those.wanted[number] for number in sorted(those.wanted, reverse=True) if number >= numbers.start + partition(those.set)]
    old = [pod for pod in old if ordinals.revision(pod) != updated and not is_deleting(pod) and not pod_template.is_finished(pod)]
    broken = sum(not is_available(pod, those.set, now) for pod in old)
    stuck, most, doomed = missing - broken, max_unavailable(those.set), list[Object]()
    for pod in old:
        if is_available(pod, those.set, now):
            if missing < most:
                doomed.append(pod)
                missing, stuck = missing + 1, stuck + 1
        elif stuck < most:
            doomed.append(pod)
            stuck += 1
    return doomed


def partition(set_: Object) -> int:
    """How many pods stay in the old version."""
    rolling = (set_["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def max_unavailable(set_: Object) -> int:
    """How many pods may be missing during an update: at least one, else it would never end."""
    rolling = (set_["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return max(1, int_or_percent.rounded_down(rolling.get("maxUnavailable", 1), set_["spec"]["replicas"]))


def is_old_version(set_: Object, number: int) -> bool:
    """Whether a pod of this number is made in the version that is being left."""
    strategy = set_["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return False
    first = ordinals.ordinals(set_).start
    if strategy.get("rollingUpdate") is None:
        return number < first + int((set_.get("status") or {}).get("currentReplicas") or 0)
    return number < first + partition(set_)
