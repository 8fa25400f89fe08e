"""Whether a Job is over, and how it ended.

A job that is over says so in two steps: first that it has been decided (SuccessCriteriaMet, FailureTarget), so that it stays
decided whatever happens to the pods meanwhile; and once all pods have ended and are counted, that it is over (Complete, Failed).
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.timestamps import seconds
from probate.client.objects import Object
from probate.controllers.runtime import conditions, durations
from probate.controllers.runtime.conditions import Conditions
from probate.controllers.workloads.jobs import failure_policy, job_pods
from probate.controllers.workloads.jobs.tally import Tally
from probate.controllers.workloads.pod_template import phase

CRITERIA_MET = "SuccessCriteriaMet"
FAILURE_TARGET = "FailureTarget"


class Ending(NamedTuple):
    """How a job ended."""

    is_success: bool
    reason: str
    message: str

    def interim(self) -> Object:
        """The condition that says that it has been decided."""
        return conditions.made(CRITERIA_MET if self.is_success else FAILURE_TARGET, "True", self.reason, self.message)

    def final(self) -> Object:
        """The condition that says that it is over."""
        return conditions.made("Complete" if self.is_success else "Failed", "True", self.reason, self.message)


def of(tally: Tally, now: float) -> Ending | None:
    """How the job ended, if that has been decided, or has to be now. That all went well is known only when no pod is left."""
    job = tally.job
    return _decided(job) or _refused(tally) or _given_up(tally, now) or _exhausted_indexes(tally) or _enough(tally)


def completed(tally: Tally, active: int) -> Ending | None:
    """That the job went well, if it has all successes and this many pods are still active."""
    is_reached = tally.succeeded > 0 if tally.completions is None else tally.succeeded >= tally.completions
    if not is_reached or active:
        return None
    return Ending(is_success=True, reason="CompletionsReached", message="Reached expected number of succeeded pods")


def is_decided(told: Conditions) -> bool:
    """Whether the conditions say how the job ends. Such a job has begun, even if it was suspended all the time."""
    return any(conditions.is_true(told, one) for one in (CRITERIA_MET, FAILURE_TARGET))


def deadline_in(job: Object, now: float) -> float | None:
    """In how many seconds the job will have taken too long."""
    limit, began = job["spec"].get("activeDeadlineSeconds"), (job.get("status") or {}).get("startTime")
    if limit is None or began is None or job_pods.is_suspended(job):
        return None
    return durations.until(seconds(began) + limit, now)


def _decided(job: Object) -> Ending | None:
    for one in job_pods.told(job):
        if one["type"] in {CRITERIA_MET, FAILURE_TARGET} and one["status"] == "True":
            return Ending(one["type"] == CRITERIA_MET, one.get("reason", ""), one.get("message", ""))
    return None


def _refused(tally: Tally) -> Ending | None:
    """A failure after which the job says it has no sense to go on."""
    for pod in tally.new_failed:
        action, why = failure_policy.action(tally.job, pod)
        if action == "FailJob":
            return Ending(is_success=False, reason="PodFailurePolicy", message=why)
    return None


def _given_up(tally: Tally, now: float) -> Ending | None:
    limit = tally.job["spec"]["backoffLimit"]
    if tally.failed > limit or _restarts_too_often(tally, limit):
        return Ending(is_success=False, reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
    if deadline_in(tally.job, now) == 0:
        return Ending(is_success=False, reason="DeadlineExceeded", message="Job was active longer than specified deadline")
    return None


def _restarts_too_often(tally: Tally, limit: int) -> bool:
    """Whether containers that are restarted in their pods have failed too often. (A limit of nought allows no restart.)"""
    if tally.job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    statuses = [pod.get("status") or {} for pod in tally.pods if phase(pod) in {"Running", "Pending"}]
    listed = [
        *(one for status in statuses for name in ("containerStatuses", "initContainerStatuses") for one in status.get(name) or ())
    ]
    restarts = sum(one.get("restartCount") or 0 for one in listed)
    return restarts >= max(limit, 1)


def _exhausted_indexes(tally: Tally) -> Ending | None:
    failed, most = len(tally.failed_indexes), tally.job["spec"].get("maxFailedIndexes")
    if most is not None and failed > most:
        return Ending(
            is_success=False,
            reason="MaxFailedIndexesExceeded",
            message="Job has exceeded the specified maximal number of failed indexes",
        )
    if failed and failed + tally.succeeded >= (tally.completions or 0):
        return Ending(is_success=False, reason="FailedIndexes", message="Job has failed indexes")
    return None


def _enough(tally: Tally) -> Ending | None:
    why = failure_policy.enough(tally.job, tally.succeeded_indexes) if job_pods.is_indexed(tally.job) else ""
    return Ending(is_success=True, reason="SuccessPolicy", message=why) if why else None
