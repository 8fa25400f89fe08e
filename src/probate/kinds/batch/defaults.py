"""Jobs and cron jobs. A job inside a cron job is filled when it is made, not before; only its pod template is."""

from __future__ import annotations

from probate.kinds.core.pods.defaults import default_template
from probate.kinds.shared.object_fields import Object, below, child, fill, fill_zero, items, made

_UNLIMITED = 2**31 - 1


def default_job(job: Object) -> None:
    """Fill a Job."""
    spec = made(job, "spec")
    if spec is None:
        return
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    # Failures that are counted for each index need no limit in sum.
    fill(spec, parallelism=1, backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else _UNLIMITED)
    fill(spec, completionMode="NonIndexed", suspend=False, manualSelector=False)
    fill(spec, podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed")
    _default_failure_policy(spec)
    default_template(spec)
    _share_labels(job, spec)


def default_cron_job(cron_job: Object) -> None:
    """Fill a CronJob."""
    spec = made(cron_job, "spec")
    if spec is None:
        return
    fill_zero(spec, concurrencyPolicy="Allow")
    fill(spec, suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    template = made(spec, "jobTemplate")
    if template is None:
        return
    if (job := made(template, "spec")) is not None:
        _default_failure_policy(job)
        default_template(job)


def _default_failure_policy(spec: Object) -> None:
    for rule in items(child(spec, "podFailurePolicy"), "rules"):
        for pattern in items(rule, "onPodConditions"):
            fill_zero(pattern, status="True")


def _share_labels(job: Object, spec: Object) -> None:
    labels = below(spec, "template", "metadata", "labels")
    metadata = made(job, "metadata")
    if labels and metadata is not None and not metadata.get("labels"):
        # One map in two places, as in Kubernetes: labels that preparation adds to the template become the job's as well.
        metadata["labels"] = labels
