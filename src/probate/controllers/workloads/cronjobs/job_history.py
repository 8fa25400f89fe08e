"""The history of a CronJob: which Jobs are finished, and which of those exceed the limits. (CJ-1, CJ-4, CJ-5)"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.objects import Object

FINISHED_TYPES = ("Complete", "Failed")


def finished_type(job: Object) -> str:
    """Returns Complete or Failed, whichever condition comes first; an empty string if the Job is not finished."""
    conditions = (job.get("status") or {}).get("conditions") or []
    return next(
        (condition["type"] for condition in conditions if condition["type"] in FINISHED_TYPES and condition["status"] == "True"), ""
    )


def jobs_to_delete(cron_job: Object, jobs: Iterable[Object]) -> list[Object]:
    """Returns the Jobs beyond the limits, earliest start first."""
    spec, result, finished = cron_job["spec"], list[Object](), [(finished_type(job), job) for job in jobs]
    for type_, limit in zip(
        FINISHED_TYPES, (spec.get("successfulJobsHistoryLimit"), spec.get("failedJobsHistoryLimit")), strict=True
    ):
        if limit is None:
            continue
        matching = sorted((job for finished_as, job in finished if finished_as == type_), key=_start_key)
        result += matching[: max(0, len(matching) - limit)]
    return result


def last_successful_time(before: str | None, jobs: Iterable[Object]) -> str | None:
    """Returns when a Job last completed."""
    completion_times = [(job.get("status") or {}).get("completionTime") for job in jobs if finished_type(job) == "Complete"]
    return max((time for time in (*completion_times, before) if time), default=None)


def _start_key(job: Object) -> tuple[bool, str, str]:
    """Sorts by start time. Jobs that never started come last."""
    start_time = (job.get("status") or {}).get("startTime") or ""
    return not start_time, start_time, job["metadata"]["name"]
