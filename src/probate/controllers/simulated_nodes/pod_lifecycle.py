"""The lifecycle of a simulated pod, computed from the pod and the time alone: its current status, and when that changes.

    bound       start delay      →  Running and Ready; or Pending, for as long as an image cannot be pulled
    Running     its duration     →  its containers terminate; they restart, or the pod has Succeeded or Failed, by its restartPolicy
    deleted     stop delay, or the end of its grace period  →  its containers are terminated, and the pod can be removed

All containers of a pod do the same at the same time. Init containers succeed at once; sidecars among them keep running.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import format_time, parse_time
from probate.client.resources import is_deleting, is_pod_finished
from probate.controllers.runtime import conditions, remaining_time
from probate.controllers.simulated_nodes.pod_behavior import PodBehavior

TERMINATED_EXIT_CODE, KILLED_EXIT_CODE = 143, 137
FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 10.0, 300.0
PULL_BACKOFF_SECONDS = 2.0
"""The time after which a node that could not pull an image retries less often and reports ImagePullBackOff."""

ExactTime = Callable[[str], float]
"""Returns the exact time of a timestamp that has a resolution of one second."""


class ContainerState(NamedTuple):
    """The state of the containers: `not_started`, `pull_failed`, `running`, `terminated`, or `backoff` until they restart. With
    it: since when, the number of restarts, the exit code of the last run, and the reason.
    """

    activity: str
    since: float | None = None
    restarts: int = 0
    exit_code: int | None = None
    reason: str = ""


class LifecycleStep(NamedTuple):
    """The current state, in how many seconds it changes (None: not by time alone), and whether the pod can be removed from the
    API.
    """

    state: ContainerState
    requeue_after: float | None = None
    is_removable: bool = False


def next_step(pod: Object, behavior: PodBehavior, exact_time: ExactTime, *, now: float) -> LifecycleStep:
    """Returns where the pod is in its lifecycle."""
    state = state_of(pod, exact_time)
    if is_deleting(pod):
        return _terminate(pod, state, behavior, exact_time=exact_time, now=now)
    if is_pod_finished(pod):
        return LifecycleStep(state)
    deadline = _deadline(pod, exact_time)
    if deadline is not None and not remaining_time.until(deadline, now):
        return LifecycleStep(ContainerState("terminated", now, state.restarts, KILLED_EXIT_CODE, "DeadlineExceeded"))
    following = _advance(pod, state, behavior, exact_time=exact_time, now=now)
    if deadline is None:
        return following
    remaining = remaining_time.until(deadline, now)
    return following._replace(
        requeue_after=remaining if following.requeue_after is None else min(remaining, following.requeue_after)
    )


def state_of(pod: Object, exact_time: ExactTime) -> ContainerState:
    """Returns the state of the containers according to the pod's status."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    if not statuses:
        return ContainerState("terminated" if is_pod_finished(pod) else "not_started")
    first = statuses[0]
    restarts, state, last_termination = (
        first.get("restartCount") or 0,
        first.get("state") or {},
        (first.get("lastState") or {}).get("terminated") or {},
    )
    if "running" in state:
        return ContainerState("running", exact_time(state["running"]["startedAt"]), restarts, last_termination.get("exitCode"))
    if "terminated" in state:
        terminated = state["terminated"]
        return ContainerState("terminated", exact_time(terminated["finishedAt"]), restarts, terminated["exitCode"])
    if last_termination:
        return ContainerState("backoff", exact_time(last_termination["finishedAt"]), restarts, last_termination["exitCode"])
    return ContainerState("not_started")


def _advance(pod: Object, state: ContainerState, behavior: PodBehavior, *, exact_time: ExactTime, now: float) -> LifecycleStep:
    match state.activity:
        case "running":
            if behavior.duration is None or state.since is None:
                return LifecycleStep(state)
            remaining = remaining_time.until(state.since + behavior.duration, now)
            return LifecycleStep(state, remaining) if remaining else _after_run(pod, state.restarts, behavior, now=now)
        case "backoff":
            remaining = remaining_time.until((state.since or now) + backoff(state.restarts), now)
            return (
                LifecycleStep(state, remaining)
                if remaining
                else _run(ContainerState("running", now, state.restarts + 1, state.exit_code), behavior)
            )
        case _:
            starts_at = bound_at(pod, exact_time) + behavior.start
            remaining = remaining_time.until(starts_at, now)
            if remaining:
                return LifecycleStep(state, remaining)
            return (
                _pull_failed(starts_at, now) if _needs_unpullable(pod, behavior) else _run(ContainerState("running", now), behavior)
            )


def _needs_unpullable(pod: Object, behavior: PodBehavior) -> bool:
    """Returns whether an image that the pod needs cannot be pulled."""
    spec = pod["spec"]
    return bool(behavior.unpullable) and any(
        container.get("image") in behavior.unpullable for container in (*(spec.get("initContainers") or ()), *spec["containers"])
    )


def _pull_failed(since: float, now: float) -> LifecycleStep:
    """Returns the step of a pod whose image cannot be pulled."""
    remaining = remaining_time.until(since + PULL_BACKOFF_SECONDS, now)
    return (
        LifecycleStep(ContainerState("pull_failed", since, reason="ErrImagePull"), remaining)
        if remaining
        else LifecycleStep(ContainerState("pull_failed", since, reason="ImagePullBackOff"))
    )


def _run(state: ContainerState, behavior: PodBehavior) -> LifecycleStep:
    return LifecycleStep(state, behavior.duration)


def _after_run(pod: Object, restarts: int, behavior: PodBehavior, *, now: float) -> LifecycleStep:
    """Returns the step after the containers have terminated by themselves."""
    exit_code, policy = behavior.exit_code(restarts), pod["spec"].get("restartPolicy") or "Always"
    if policy == "Never" or (policy == "OnFailure" and exit_code == 0):
        return LifecycleStep(ContainerState("terminated", now, restarts, exit_code))
    requeue_after = backoff(restarts)
    return (
        LifecycleStep(ContainerState("backoff", now, restarts, exit_code), requeue_after)
        if requeue_after
        else _run(ContainerState("running", now, restarts + 1, exit_code), behavior)
    )


def _terminate(pod: Object, state: ContainerState, behavior: PodBehavior, *, exact_time: ExactTime, now: float) -> LifecycleStep:
    """Returns the step of a pod that is being deleted."""
    if is_pod_finished(pod):
        return LifecycleStep(state, is_removable=True)
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    deleted_at = exact_time(format_time(parse_time(pod["metadata"]["deletionTimestamp"]) - grace))
    stop_delay = behavior.stop if state.activity == "running" else 0.0
    remaining = remaining_time.until(deleted_at + min(stop_delay, grace), now)
    if remaining:
        return LifecycleStep(state, remaining)
    exit_code = KILLED_EXIT_CODE if stop_delay > grace else TERMINATED_EXIT_CODE
    return LifecycleStep(
        ContainerState(
            "terminated", now, state.restarts, exit_code if state.activity == "running" else state.exit_code or KILLED_EXIT_CODE
        ),
        is_removable=True,
    )


def bound_at(pod: Object, exact_time: ExactTime) -> float:
    """Returns since when the pod is bound to its node."""
    scheduled = conditions.find((pod.get("status") or {}).get("conditions") or [], "PodScheduled") or {}
    return exact_time(scheduled.get("lastTransitionTime") or pod["metadata"]["creationTimestamp"])


def backoff(restarts: int) -> float:
    """Returns how long containers wait before this restart. The first restart does not wait."""
    return min(FIRST_BACKOFF_SECONDS * 2.0 ** min(restarts - 1, 10), MAX_BACKOFF_SECONDS) if restarts else 0.0


def _deadline(pod: Object, exact_time: ExactTime) -> float | None:
    limit, start_time = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
    return exact_time(start_time) + limit if limit is not None and start_time else None
