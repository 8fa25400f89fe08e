"""Validates Jobs and CronJobs."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, not_supported, required, too_long
from probate.kinds.batch import job_policies
from probate.kinds.core.pods.validation.spec import check_template
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_nonnegative,
    check_optional_name,
    check_unchanged,
    child,
    objects,
    text,
    without,
)
from probate.kinds.shared.selector_validation import check_label_selector, is_match
from probate.lib import cron

_SPEC = FieldPath("spec")
_NUMBERS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_MAX_MANAGER = 63
_MAX_CRONJOB_NAME = 52  # a Job's name adds eleven characters and must be a label value
_GENERATED = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
_PLACEMENT = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
_CONTAINERS = ("containers", "initContainers")


def check_job(job: Value) -> Problems:
    """Validates a Job. The server generates its selector, unless it has `manualSelector`."""
    spec = child(job, "spec")
    yield from _check_job_spec(spec, _SPEC)
    selector = spec.get("selector")
    yield from check_label_selector(selector, _SPEC / "selector")
    labels = child(child(child(spec, "template"), "metadata"), "labels")
    is_missing = selector is None and bool(spec.get("manualSelector"))
    if is_missing:
        yield required(_SPEC / "selector")
    if is_missing or (selector is not None and not is_match(selector, labels)):
        yield invalid(_SPEC / "template" / "metadata" / "labels", labels, "`selector` does not match template `labels`")
    if selector is not None and not spec.get("manualSelector") and not is_match(selector, _generated(labels)):
        yield invalid(_SPEC / "selector", selector, "`selector` not auto-generated")
    if _is_indexed(spec) and spec.get("completions"):
        yield from _check_indexed_name(text(child(job, "metadata"), "name"), spec["completions"])


def create_cron_job(cron_job: Value) -> Problems:
    """Validates a new CronJob: its name must leave room for the suffix of Job names."""
    name = text(child(cron_job, "metadata"), "name")
    if len(name) > _MAX_CRONJOB_NAME:
        yield invalid(FieldPath("metadata") / "name", name, f"must be no more than {_MAX_CRONJOB_NAME} characters")
    yield from _check_lengths(child(cron_job, "spec"))
    yield from check_cron_job(cron_job)


def update_cron_job(new: Value, old: Value) -> Problems:
    """Validates a changed CronJob. One that was stored before the limits existed may keep its values, so that it can be deleted."""
    spec, before = child(new, "spec"), child(old, "spec")
    changed = {field: value for field, value in spec.items() if before.get(field) != value}
    yield from _check_lengths(changed)


def _check_lengths(spec: Value) -> Problems:
    """Validates the length of texts that are parsed. Kubernetes has no such limits."""
    if len(text(spec, "schedule")) > cron.MAX_LENGTH:
        yield too_long(_SPEC / "schedule", cron.MAX_LENGTH)
    if len(text(spec, "timeZone")) > cron.MAX_ZONE_LENGTH:
        yield too_long(_SPEC / "timeZone", cron.MAX_ZONE_LENGTH)


def check_cron_job(cron_job: Value) -> Problems:
    """Validates a CronJob."""
    spec = child(cron_job, "spec")
    yield from _check_schedule(spec, _SPEC)
    yield from check_nonnegative(spec, _SPEC, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    yield from check_choice(spec, _SPEC, "concurrencyPolicy", supported=("Allow", "Forbid", "Replace"))
    job, path = child(child(spec, "jobTemplate"), "spec"), _SPEC / "jobTemplate" / "spec"
    yield from _check_job_spec(job, path)
    if job.get("selector") is not None:
        yield invalid(path / "selector", job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        yield not_supported(path / "manualSelector", True, ["nil", "false"])


def update_job(new: Value, old: Value) -> Problems:
    """Validates that a Job keeps its template and selector.

    Scheduling fields and resources of a suspended Job without pods may change.
    """
    spec, before = child(new, "spec"), child(old, "spec")
    for field in ("selector", "podFailurePolicy", "completionMode", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        yield from check_unchanged(spec.get(field), before.get(field), _SPEC / field)
    yield from _check_completions(spec, before)
    yield from check_unchanged(_fixed(spec, old), _fixed(before, old), _SPEC / "template")


def _generated(labels: Value) -> Value:
    return {key: value for key, value in labels.items() if key in _GENERATED}


def _is_indexed(spec: Value) -> bool:
    return text(spec, "completionMode") == "Indexed"


def _check_job_spec(spec: Value, path: FieldPath) -> Problems:
    yield from check_nonnegative(spec, path, *_NUMBERS, "backoffLimitPerIndex", "maxFailedIndexes")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(path / "backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from _check_completion_mode(spec, path)
    yield from job_policies.check_replacement_policy(spec, path)
    yield from check_optional_name(spec, path, "managedBy", rule=names.validate_domain_path)
    if len(text(spec, "managedBy")) > _MAX_MANAGER:
        yield too_long(path / "managedBy", _MAX_MANAGER)
    yield from check_template(child(spec, "template"), path / "template")
    yield from _check_restart(spec, path)
    if spec.get("podFailurePolicy") is not None:
        yield from job_policies.check_failure_policy(spec, path)
    if spec.get("successPolicy") is not None:
        yield from job_policies.check_success_policy(spec, path)


def _check_completion_mode(spec: Value, path: FieldPath) -> Problems:
    yield from check_choice(spec, path, "completionMode", supported=("NonIndexed", "Indexed"))
    if _is_indexed(spec):
        yield from job_policies.check_index_limits(spec, path)
        return
    for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(field) is not None:
            yield invalid(path / field, spec[field], "requires indexed completion mode")


def _check_restart(spec: Value, path: FieldPath) -> Problems:
    policy = text(child(child(spec, "template"), "spec"), "restartPolicy") or "Always"
    at = path / "template" / "spec" / "restartPolicy"
    if policy == "Always":
        yield required(at, "valid values: OnFailure, Never")
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(at, policy, "only Never is supported when podFailurePolicy is specified")


def _check_indexed_name(name: str, completions: int) -> Problems:
    last = f"{name}-{completions - 1}"
    for problem in names.validate_dns_label(last):
        yield invalid(FieldPath("metadata") / "name", name, f"the name {last!r} of its last pod would be invalid: {problem}")


def _check_schedule(spec: Value, path: FieldPath) -> Problems:
    schedule, zone = text(spec, "schedule"), spec.get("timeZone")
    if not schedule:
        yield required(path / "schedule")
    elif cron.has_zone(schedule):
        yield invalid(path / "schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif len(schedule) <= cron.MAX_LENGTH:
        yield from _check_parses(schedule, path / "schedule")
    if zone is not None:
        yield from _check_zone(zone, path / "timeZone")


def _check_parses(schedule: str, path: FieldPath) -> Problems:
    try:
        cron.parse(schedule)
    except cron.BadSchedule as error:
        yield invalid(path, schedule, str(error))


def _check_zone(zone: str, path: FieldPath) -> Problems:
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        yield invalid(path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
    elif len(zone) <= cron.MAX_ZONE_LENGTH:
        try:
            cron.find_zone(zone)
        except cron.BadSchedule as error:
            yield invalid(path, zone, str(error))


def _check_completions(spec: Value, before: Value) -> Problems:
    """Validates `completions`: an indexed Job may change it together with its parallelism, if both stay equal."""
    new, old = spec.get("completions"), before.get("completions")
    is_elastic = _is_indexed(spec) and new is not None and new == spec.get("parallelism")
    if new != old and not is_elastic:
        yield invalid(_SPEC / "completions", new, "field is immutable")


def _fixed(spec: Value, old: Value) -> Value:
    """Returns the part of the template that may not change, given the old Job."""
    template = child(spec, "template")
    if _can_change_scheduling(old):
        template = _without_scheduling(template)
    return _without_resources(template) if _has_no_pods(old) else template


def _can_change_scheduling(job: Value) -> bool:
    has_begun = bool(child(job, "status").get("startTime"))
    return bool(child(job, "spec").get("suspend")) and (not has_begun or _has_no_pods(job))


def _has_no_pods(job: Value) -> bool:
    """Reports whether the Job is suspended and has no pods: it has not started yet, or its pods are gone."""
    status = child(job, "status")
    is_suspended = any(text(one, "type") == "Suspended" and text(one, "status") == "True" for one in objects(status, "conditions"))
    return bool(child(job, "spec").get("suspend")) and not status.get("active") and (is_suspended or not status.get("startTime"))


def _without_scheduling(template: Value) -> Value:
    """Returns the template without its scheduling fields. Of the affinity, only the node affinity is removed."""
    pod = child(template, "spec")
    others = without(child(pod, "affinity"), "nodeAffinity")
    meta = without(child(template, "metadata"), "labels", "annotations")
    return {"metadata": meta, "spec": {**without(pod, *_PLACEMENT), "affinity": others}}


def _without_resources(template: Value) -> Value:
    """Returns the template without the resources of its containers."""
    pod = child(template, "spec")
    bare = {field: [without(one, "resources") for one in objects(pod, field)] for field in _CONTAINERS}
    return {**template, "spec": {**pod, **bare}}
