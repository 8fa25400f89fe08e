"""Decides whether a Job is finished, and with which outcome.

A Job finishes in two steps. First an interim condition (SuccessCriteriaMet or FailureTarget) fixes the outcome, whatever happens to
the pods in the meantime. Once all pods have ended and are counted, the final condition (Complete or Failed) follows.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import parse_time
from probate.controllers.runtime import conditions, remaining_time
from probate.controllers.runtime.conditions import Conditions
from probate.controllers.workloads.jobs import failure_policy, job_pods
from probate.controllers.workloads.jobs.job_state import JobState
from probate.controllers.workloads.pod_template import phase

CRITERIA_MET = "SuccessCriteriaMet"
FAILURE_TARGET = "FailureTarget"


class JobOutcome(NamedTuple):
    """The outcome of a Job."""

    is_success: bool
    reason: str
    message: str

    def target_condition(self) -> Object:
        """Returns the condition that fixes the outcome."""
        return conditions.new_condition(
            CRITERIA_MET if self.is_success else FAILURE_TARGET, "True", reason=self.reason, message=self.message
        )

    def finished_condition(self) -> Object:
        """Returns the condition that marks the Job as finished."""
        return conditions.new_condition(
            "Complete" if self.is_success else "Failed", "True", reason=self.reason, message=self.message
        )


def decide_outcome(state: JobState, now: float) -> JobOutcome | None:
    """Returns the outcome, if it is fixed already or has to be fixed now. Success by completions is decided elsewhere, because
    it requires that no pod is active (`completions_reached`).
    """
    job = state.job
    return (
        _outcome_of_condition(job)
        or _pod_failure_policy(state)
        or _limit_exceeded(state, now)
        or _exhausted_indexes(state)
        or _success_policy(state)
    )


def completions_reached(state: JobState, active: int) -> JobOutcome | None:
    """Returns success if all completions are reached and no pod is active."""
    is_reached = state.succeeded > 0 if state.completions is None else state.succeeded >= state.completions
    if not is_reached or active:
        return None
    return JobOutcome(is_success=True, reason="CompletionsReached", message="Reached expected number of succeeded pods")


def is_decided(job_conditions: Conditions) -> bool:
    """Returns whether the conditions fix the outcome. Such a Job has started, even if it was suspended all the time."""
    return any(conditions.is_true(job_conditions, type_) for type_ in (CRITERIA_MET, FAILURE_TARGET))


def seconds_until_deadline(job: Object, now: float) -> float | None:
    """Returns in how many seconds the Job exceeds activeDeadlineSeconds."""
    limit, start_time = job["spec"].get("activeDeadlineSeconds"), (job.get("status") or {}).get("startTime")
    if limit is None or start_time is None or job_pods.is_suspended(job):
        return None
    return remaining_time.until(parse_time(start_time) + limit, now)


def _outcome_of_condition(job: Object) -> JobOutcome | None:
    for condition in job_pods.conditions_of(job):
        if condition["type"] in {CRITERIA_MET, FAILURE_TARGET} and condition["status"] == "True":
            return JobOutcome(condition["type"] == CRITERIA_MET, condition.get("reason", ""), condition.get("message", ""))
    return None


def _pod_failure_policy(state: JobState) -> JobOutcome | None:
    """Returns failure if a pod failed with an exit code or condition for which the pod failure policy says FailJob."""
    for pod in state.new_failed:
        action, message = failure_policy.failure_action(state.job, pod)
        if action == "FailJob":
            return JobOutcome(is_success=False, reason="PodFailurePolicy", message=message)
    return None


def _limit_exceeded(state: JobState, now: float) -> JobOutcome | None:
    limit = state.job["spec"]["backoffLimit"]
    if state.failed > limit or _restart_limit_reached(state, limit):
        return JobOutcome(is_success=False, reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
    if seconds_until_deadline(state.job, now) == 0:
        return JobOutcome(is_success=False, reason="DeadlineExceeded", message="Job was active longer than specified deadline")
    return None


def _restart_limit_reached(state: JobState, limit: int) -> bool:
    """Returns whether containers that restart within their pods have reached the backoff limit. (A limit of 0 allows no
    restart.)
    """
    if state.job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    statuses = [pod.get("status") or {} for pod in state.pods if phase(pod) in {"Running", "Pending"}]
    container_statuses = [
        *(
            container_status
            for status in statuses
            for name in ("containerStatuses", "initContainerStatuses")
            for container_status in status.get(name) or ()
        )
    ]
    restarts = sum(container_status.get("restartCount") or 0 for container_status in container_statuses)
    return restarts >= max(limit, 1)


def _exhausted_indexes(state: JobState) -> JobOutcome | None:
    failed, max_failed = len(state.failed_indexes), state.job["spec"].get("maxFailedIndexes")
    if max_failed is not None and failed > max_failed:
        return JobOutcome(
            is_success=False,
            reason="MaxFailedIndexesExceeded",
            message="Job has exceeded the specified maximal number of failed indexes",
        )
    if failed and failed + state.succeeded >= (state.completions or 0):
        return JobOutcome(is_success=False, reason="FailedIndexes", message="Job has failed indexes")
    return None


def _success_policy(state: JobState) -> JobOutcome | None:
    message = failure_policy.matching_success_rule(state.job, state.succeeded_indexes) if job_pods.is_indexed(state.job) else ""
    return JobOutcome(is_success=True, reason="SuccessPolicy", message=message) if message else None
