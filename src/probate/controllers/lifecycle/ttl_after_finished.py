"""Deletes finished Jobs when their `ttlSecondsAfterFinished` is over: at that moment, by a timer."""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.timestamps import parse_time
from probate.client.informers import name_of
from probate.client.objects import GroupVersionResource
from probate.controllers.runtime import remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.expiration_timers import ExpirationTimers
from probate.controllers.runtime.workers import Workers
from probate.core import errors

TITLE = "ttl-after-finished-controller"
JOBS = GroupVersionResource("batch", "v1", "jobs")
BUCKETS = tuple(0.1 * 2**power for power in range(14))


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    help_ = "Delay between a finished Job's expiration and its deletion."
    delays = context.metrics.histogram("ttl_after_finished_controller_job_deletion_duration_seconds", help_, bounds=BUCKETS)

    def observe_delay(job: Object) -> None:
        delays.observe((), max(0.0, context.clock.now() - (expires_at(job) or 0.0)))

    jobs = context.informers.for_resource(JOBS)
    timers = ExpirationTimers(
        TITLE, context, jobs, seconds_left=seconds_left, on_deletion=observe_delay, policy="Foreground"
    )  # TTL-6
    return [timers.workers]


def expires_at(job: Object) -> float | None:
    """Returns when the Job expires; None if it does not. (TTL-1, TTL-3, TTL-4)"""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None:
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in {"Complete", "Failed"} and condition["status"] == "True":
            if not condition.get("lastTransitionTime"):
                raise errors.Invalid(f"the Job {name_of(job)} has finished, but does not state when")
            return parse_time(condition["lastTransitionTime"]) + float(ttl)
    return None


def seconds_left(job: Object, now: float) -> float | None:
    """Returns in how many seconds the Job expires; None if it does not. (TTL-5)"""
    expires = expires_at(job)
    return None if expires is None else remaining_time.until(expires, now)
