"""The Job that a CronJob creates for a scheduled time."""

from __future__ import annotations

from datetime import UTC, datetime

from probate.api.objects import Object
from probate.controllers.workloads.owner_kinds import CRON_JOB, JOB

SCHEDULED_TIMESTAMP = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def job_name(cron_job: Object, due: datetime) -> str:
    """Returns the Job's name, which is a function of the time: no time gets two Jobs. (CJ-11)"""
    return f"{cron_job['metadata']['name']}-{int(due.timestamp()) // 60}"


def new_job(cron_job: Object, due: datetime) -> Object:
    """Returns the Job for that time."""
    template = cron_job["spec"]["jobTemplate"]
    template_metadata = template.get("metadata") or {}
    scheduled_time = due.isoformat(timespec="seconds")
    meta = {
        "name": job_name(cron_job, due),
        "labels": template_metadata.get("labels") or {},
        "annotations": {
            **(template_metadata.get("annotations") or {}),
            SCHEDULED_TIMESTAMP: scheduled_time.replace("+00:00", "Z") if _is_utc(due) else scheduled_time,
        },
        "ownerReferences": [CRON_JOB.reference(cron_job)],
    }
    return {"metadata": meta, "spec": template["spec"]}


def _is_utc(moment: datetime) -> bool:
    return moment.utcoffset() == UTC.utcoffset(None)


def job_reference(job: Object) -> Object:
    """Returns the entry of the Job in the CronJob's `status.active`."""
    meta = job["metadata"]
    identity = {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion")}
    return {"apiVersion": JOB.resource.api_version, "kind": JOB.name, **identity}
