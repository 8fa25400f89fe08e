"""Finished Jobs go when their `ttlSecondsAfterFinished` are over: at that moment, by a timer."""

from __future__ import annotations

from probate.api.timestamps import seconds
from probate.client.informers import name_of
from probate.client.objects import Kind, Object
from probate.controllers.lifecycle.expiration_timers import Expiry
from probate.controllers.runtime import durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.core import errors

TITLE = "ttl-after-finished-controller"
JOBS = Kind("batch", "v1", "jobs")
BOUNDS = tuple(0.1 * 2**power for power in range(14))


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    told = "How late finished Jobs were deleted."
    delays = means.metrics.histogram("ttl_after_finished_controller_job_deletion_duration_seconds", told, bounds=BOUNDS)

    def note(job: Object) -> None:
        delays.observe((), max(0.0, means.clock.now() - (expires_at(job) or 0.0)))

    return [Expiry(TITLE, means, means.informers.of(JOBS), left, on_deletion=note, policy="Foreground").workers]  # TTL-6


def expires_at(job: Object) -> float | None:
    """When the Job is to go; None if it is not. (TTL-1, TTL-3, TTL-4)"""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None:
        return None
    for one in (job.get("status") or {}).get("conditions") or ():
        if one["type"] in {"Complete", "Failed"} and one["status"] == "True":
            if not one.get("lastTransitionTime"):
                raise errors.Invalid(f"it is not known when {name_of(job)} has finished")
            return seconds(one["lastTransitionTime"]) + float(ttl)
    return None


def left(job: Object, now: float) -> float | None:
    """In how many seconds the Job is to go. (TTL-5)"""
    expires = expires_at(job)
    return None if expires is None else durations.until(expires, now)
