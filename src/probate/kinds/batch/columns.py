"""Table columns of Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, CONTAINERS, IMAGES, NAME, SELECTOR, Printer, boolean, integer, text


def _job(job: Object, now: float) -> list[Any]:
    return [
        object_fields.name(job),
        _status(job),
        _completions(job),
        _duration(job, now),
        ages.object_age(job, now),
        *cell_text.container_cells(object_fields.at(job, "spec", "template", "spec")),
        cell_text.format_selector_or_none(object_fields.at(job, "spec", "selector")),
    ]


def _status(job: Object) -> str:
    if object_fields.is_true(job, "Complete"):
        return "Complete"
    if object_fields.is_true(job, "Failed"):
        return "Failed"
    if object_fields.is_deleting(job):
        return "Terminating"
    under_way = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((one for one in under_way if object_fields.is_true(job, one)), "Running")


def _completions(job: Object) -> str:
    succeeded = object_fields.number(job, "status", "succeeded")
    completions = object_fields.at(job, "spec", "completions")
    if isinstance(completions, int):
        return f"{succeeded}/{completions}"
    parallelism = object_fields.number(job, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Object, now: float) -> str:
    started = ages.parse_timestamp(object_fields.at(job, "status", "startTime"))
    if started is None:
        return ""
    completed = ages.parse_timestamp(object_fields.at(job, "status", "completionTime"))
    return ages.format_duration((now if completed is None else completed) - started)


def _cron_job(cron_job: Object, now: float) -> list[Any]:
    job = object_fields.mapping(cron_job, "spec", "jobTemplate", "spec")
    return [
        object_fields.name(cron_job),
        object_fields.text(cron_job, "spec", "schedule"),
        object_fields.text(cron_job, "spec", "timeZone", default=cell_text.NONE),
        _suspend(object_fields.at(cron_job, "spec", "suspend")),
        object_fields.count(cron_job, "status", "active"),
        _last_schedule(cron_job, now),
        ages.object_age(cron_job, now),
        *cell_text.container_cells(object_fields.at(job, "template", "spec")),
        cell_text.format_selector_or_none(object_fields.at(job, "selector")),
    ]


def _suspend(suspend: Any) -> str:
    return str(suspend) if isinstance(suspend, bool) else cell_text.UNSET


def _last_schedule(cron_job: Object, now: float) -> str:
    scheduled = object_fields.at(cron_job, "status", "lastScheduleTime")
    return cell_text.NONE if scheduled is None else ages.age_since(scheduled, now)


PRINTERS = {
    ("batch", "jobs"): Printer(
        (
            NAME,
            text("Status", "The state of the Job."),
            text("Completions", "The number of pods that have succeeded, and the required number."),
            text("Duration", "How long the Job has run."),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _job,
    ),
    ("batch", "cronjobs"): Printer(
        (
            NAME,
            text("Schedule", "The schedule in cron syntax."),
            text("Timezone", "The time zone of the schedule; without one, the controller's."),
            boolean("Suspend", "Whether the controller starts no further Jobs."),
            integer("Active", "The number of active Jobs."),
            text("Last Schedule", "The time since the last Job was scheduled."),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _cron_job,
    ),
}
