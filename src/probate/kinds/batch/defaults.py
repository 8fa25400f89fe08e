"""Sets the defaults of Jobs and CronJobs.

The Job template of a CronJob gets the defaults of a Job only when a Job is created from it; its pod template gets them at once.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.core.pods.defaults import default_template
from probate.kinds.shared.object_fields import below, child, ensure_child, fill, fill_zero, items

_UNLIMITED = 2**31 - 1


def default_job(job: Object) -> None:
    """Sets the defaults of a Job."""
    spec = ensure_child(job, "spec")
    if spec is None:
        return
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    # Failures that are limited per index need no overall limit.
    fill(spec, parallelism=1, backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else _UNLIMITED)
    fill(spec, completionMode="NonIndexed", suspend=False, manualSelector=False)
    fill(spec, podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed")
    _default_failure_policy(spec)
    default_template(spec)
    _share_labels(job, spec)


def default_cron_job(cron_job: Object) -> None:
    """Sets the defaults of a CronJob."""
    spec = ensure_child(cron_job, "spec")
    if spec is None:
        return
    fill_zero(spec, concurrencyPolicy="Allow")
    fill(spec, suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    template = ensure_child(spec, "jobTemplate")
    if template is None:
        return
    if (job := ensure_child(template, "spec")) is not None:
        _default_failure_policy(job)
        default_template(job)


def _default_failure_policy(spec: Object) -> None:
    for rule in items(child(spec, "podFailurePolicy"), "rules"):
        for pattern in items(rule, "onPodConditions"):
            fill_zero(pattern, status="True")


def _share_labels(job: Object, spec: Object) -> None:
    labels = below(spec, "template", "metadata", "labels")
    metadata = ensure_child(job, "metadata")
    if labels and metadata is not None and not metadata.get("labels"):
        # One map in two places, as in Kubernetes: labels that the strategy adds to the template also become the Job's.
        metadata["labels"] = labels
