"""The life of a simulated pod, decided from the pod and the time alone: what its status is now, and when that changes.

    bound       start delay      →  Running and Ready; or Pending, for as long as an image cannot be pulled
    Running     its duration     →  its containers end; they start again, or the pod has Succeeded or Failed, as its policy says
    deleted     stop delay, or the end of its grace period  →  its containers are ended, and the pod can go

All containers of a pod do the same at the same time. Init containers end well at once, those that are sidecars run on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.api.timestamps import seconds, timestamp
from probate.client.objects import Object
from probate.client.resources import is_deleting, is_finished
from probate.controllers.runtime import conditions, durations
from probate.controllers.simulated_nodes.pod_script import Script

TERMINATED, KILLED = 143, 137
FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 10.0, 300.0
PULL_SECONDS = 2.0
"""After which a node that could not pull an image tries less often, and says so."""

Exactly = Callable[[str], float]
"""When it was that an object tells by a time in whole seconds."""


class State(NamedTuple):
    """What the containers do: `nothing` yet, `pull` in vain, `run`, have `ended`, or `rest` until they run again. Since when; how a
    run ended; why they do that."""

    doing: str
    since: float | None = None
    runs: int = 0
    code: int | None = None
    reason: str = ""


class Step(NamedTuple):
    """How the containers are now, in how many seconds that changes (None: not by itself), and whether the pod can go."""

    state: State
    wait: float | None = None
    is_over: bool = False


def step(pod: Object, script: Script, exactly: Exactly, now: float) -> Step:
    """Where the pod is in its life."""
    state = state_of(pod, exactly)
    if is_deleting(pod):
        return _end(pod, state, script, exactly, now)
    if is_finished(pod):
        return Step(state)
    deadline = _deadline(pod, exactly)
    if deadline is not None and not durations.until(deadline, now):
        return Step(State("ended", now, state.runs, KILLED, "DeadlineExceeded"))
    following = _go_on(pod, state, script, exactly, now)
    if deadline is None:
        return following
    left = durations.until(deadline, now)
    return following._replace(wait=left if following.wait is None else min(left, following.wait))


def state_of(pod: Object, exactly: Exactly) -> State:
    """What the containers do, as the pod's status tells it."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    if not statuses:
        return State("ended" if is_finished(pod) else "nothing")
    one = statuses[0]
    runs, now, last = one.get("restartCount") or 0, one.get("state") or {}, (one.get("lastState") or {}).get("terminated") or {}
    if "running" in now:
        return State("run", exactly(now["running"]["startedAt"]), runs, last.get("exitCode"))
    if "terminated" in now:
        ended = now["terminated"]
        return State("ended", exactly(ended["finishedAt"]), runs, ended["exitCode"])
    if last:
        return State("rest", exactly(last["finishedAt"]), runs, last["exitCode"])
    return State("nothing")


def _go_on(pod: Object, state: State, script: Script, exactly: Exactly, now: float) -> Step:
    match state.doing:
        case "run":
            if script.duration is None or state.since is None:
                return Step(state)
            left = durations.until(state.since + script.duration, now)
            return Step(state, left) if left else _ended(pod, state.runs, script, now)
        case "rest":
            left = durations.until((state.since or now) + backoff(state.runs), now)
            return Step(state, left) if left else _run(State("run", now, state.runs + 1, state.code), script)
        case _:
            begins = bound_at(pod, exactly) + script.start
            left = durations.until(begins, now)
            if left:
                return Step(state, left)
            return _pull(begins, now) if _lacks(pod, script) else _run(State("run", now), script)


def _lacks(pod: Object, script: Script) -> bool:
    """Whether the pod cannot run for lack of an image."""
    spec = pod["spec"]
    return bool(script.lacking) and any(
        one.get("image") in script.lacking for one in (*(spec.get("initContainers") or ()), *spec["containers"])
    )


def _pull(since: float, now: float) -> Step:
    """An image cannot be pulled."""
    left = durations.until(since + PULL_SECONDS, now)
    return (
        Step(State("pull", since, reason="ErrImagePull"), left) if left else Step(State("pull", since, reason="ImagePullBackOff"))
    )


def _run(state: State, script: Script) -> Step:
    return Step(state, script.duration)


def _ended(pod: Object, runs: int, script: Script, now: float) -> Step:
    """The containers have ended by themselves."""
    code, policy = script.code(runs), pod["spec"].get("restartPolicy") or "Always"
    if policy == "Never" or (policy == "OnFailure" and code == 0):
        return Step(State("ended", now, runs, code))
    rest = backoff(runs)
    return Step(State("rest", now, runs, code), rest) if rest else _run(State("run", now, runs + 1, code), script)


def _end(pod: Object, state: State, script: Script, exactly: Exactly, now: float) -> Step:
    """The pod is being deleted."""
    if is_finished(pod):
        return Step(state, is_over=True)
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    told = exactly(timestamp(seconds(pod["metadata"]["deletionTimestamp"]) - grace))
    stop = script.stop if state.doing == "run" else 0.0
    left = durations.until(told + min(stop, grace), now)
    if left:
        return Step(state, left)
    code = KILLED if stop > grace else TERMINATED
    return Step(State("ended", now, state.runs, code if state.doing == "run" else state.code or KILLED), is_over=True)


def bound_at(pod: Object, exactly: Exactly) -> float:
    """Since when the pod has its node."""
    scheduled = conditions.find((pod.get("status") or {}).get("conditions") or [], "PodScheduled") or {}
    return exactly(scheduled.get("lastTransitionTime") or pod["metadata"]["creationTimestamp"])


def backoff(runs: int) -> float:
    """How long containers rest after so many restarts. The first time they do not."""
    return min(FIRST_BACKOFF_SECONDS * 2.0 ** min(runs - 1, 10), LONGEST_BACKOFF_SECONDS) if runs else 0.0


def _deadline(pod: Object, exactly: Exactly) -> float | None:
    limit, began = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
    return exactly(began) + limit if limit is not None and began else None
