"""Finished Jobs go when their `ttlSecondsAfterFinished` are over: at that moment, by a timer."""

from __future__ import annotations

from probate import errors
from probate.client.objects import Kind, Object
from probate.control import times
from probate.control.informers import Name, name_of
from probate.control.kinds import is_deleting
from probate.control.means import Means
from probate.control.workers import Workers
from probate.machinery.deletion import seconds

TITLE = "ttl-after-finished-controller"
JOBS = Kind("batch", "v1", "jobs")
BOUNDS = tuple(0.1 * 2**power for power in range(14))


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [FinishedJobs(means).workers]


def expires_at(job: Object) -> float | None:
    """When the Job is to go; None if it is not, or is going already. (TTL-1, TTL-3, TTL-4)"""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None or is_deleting(job):
        return None
    for one in (job.get("status") or {}).get("conditions") or ():
        if one["type"] in {"Complete", "Failed"} and one["status"] == "True":
            if not one.get("lastTransitionTime"):
                raise errors.Invalid(f"it is not known when {name_of(job)} has finished")
            return seconds(one["lastTransitionTime"]) + float(ttl)
    return None


class FinishedJobs:
    """Deletes them."""

    def __init__(self, means: Means) -> None:
        self._client, self._clock = means.client, means.clock
        self._jobs = means.informers.of(JOBS)
        self.workers = Workers(TITLE, self._sync, means.clock)
        self._jobs.listen(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)
        self._delays = means.metrics.histogram(
            "ttl_after_finished_controller_job_deletion_duration_seconds", "How late finished Jobs were deleted.", bounds=BOUNDS
        )

    async def _sync(self, name: Name) -> float | None:
        """Look at the Job as it is known, and once more as it is before it is deleted. (TTL-5)"""
        left = self._left(self._jobs.get(name))
        if left is None or left > 0:
            return left
        job = await self._client.get(JOBS, name.namespace, name.name)
        left = self._left(job)
        if job is None or left is None or left > 0:
            return left
        await self._jobs.delete(job, policy="Foreground")  # TTL-6
        self._delays.observe((), max(0.0, self._clock.now() - (expires_at(job) or 0.0)))
        return None

    def _left(self, job: Object | None) -> float | None:
        expires = expires_at(job) if job is not None else None
        return times.until(expires, self._clock.now()) if expires is not None else None
