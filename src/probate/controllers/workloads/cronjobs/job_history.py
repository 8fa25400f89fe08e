"""Which of a CronJob's Jobs are over, and which of those are kept. (CJ-1, CJ-4, CJ-5)"""

from __future__ import annotations

from collections.abc import Iterable

from probate.client.objects import Object

ENDS = ("Complete", "Failed")


def end_of(job: Object) -> str:
    """Complete or Failed, whichever the job says first; empty if it is not over."""
    told = (job.get("status") or {}).get("conditions") or []
    return next((one["type"] for one in told if one["type"] in ENDS and one["status"] == "True"), "")


def outdated(cron_job: Object, jobs: Iterable[Object]) -> list[Object]:
    """The jobs beyond the limits, those that began first first."""
    spec, doomed, over = cron_job["spec"], list[Object](), [(end_of(job), job) for job in jobs]
    for end, limit in zip(ENDS, (spec.get("successfulJobsHistoryLimit"), spec.get("failedJobsHistoryLimit")), strict=True):
        if limit is None:
            continue
        ended = sorted((job for how, job in over if how == end), key=_by_start)
        doomed += ended[: max(0, len(ended) - limit)]
    return doomed


def last_success(before: str | None, jobs: Iterable[Object]) -> str | None:
    """When a job last ended well."""
    ends = [(job.get("status") or {}).get("completionTime") for job in jobs if end_of(job) == "Complete"]
    return max((end for end in (*ends, before) if end), default=None)


def _by_start(job: Object) -> tuple[bool, str, str]:
    """Sorts those that began first first; those that never began last."""
    began = (job.get("status") or {}).get("startTime") or ""
    return not began, began, job["metadata"]["name"]
