"""Warns about workloads with pod templates. An update yields warnings only if the spec changed, which the generation shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from probate.api.field_errors import FieldPath
from probate.kinds.core.pods import warnings as pod_warnings
from probate.kinds.core.volumes import warnings as volume_warnings
from probate.kinds.shared.field_checks import Value, child, each, text

MANY_COMPLETIONS, MANY_AT_ONCE = 100_000, 10_000
_SPEC = FieldPath("spec")
_USE = "this is used in Pod names and hostnames"

Of = Callable[[Value], Iterator[str]]


def with_name_warnings(of: Of) -> Of:
    """Adds warnings about the object's name, because its pods' names derive from it. For new objects."""

    def both(object_: Value) -> Iterator[str]:
        yield from pod_warnings.of_name(object_, _USE)
        yield from of(object_)

    return both


def if_spec_changed(of: Of) -> Callable[[Value, Value], Iterator[str]]:
    """Makes warnings apply to a changed object: there are none if its generation is unchanged."""

    def if_changed(new: Value, old: Value) -> Iterator[str]:
        return iter(()) if new["metadata"].get("generation") == old["metadata"].get("generation") else of(new)

    return if_changed


def of_workload(object_: Value) -> Iterator[str]:
    """Yields the warnings about a Deployment, ReplicaSet, DaemonSet or ReplicationController."""
    yield from pod_warnings.of_template(child(child(object_, "spec"), "template"), _SPEC / "template")


def of_pod_template(template: Value) -> Iterator[str]:
    """Yields the warnings about a PodTemplate."""
    yield from pod_warnings.of_template(child(template, "template"), FieldPath("template"))


def of_stateful_set(set_: Value) -> Iterator[str]:
    """Yields the warnings about a StatefulSet."""
    spec = child(set_, "spec")
    yield from of_workload(set_)
    for claim, at in each(spec, _SPEC, "volumeClaimTemplates"):
        yield from volume_warnings.of_claim_spec(child(claim, "spec"), at / "spec")
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        yield f"{_SPEC / 'revisionHistoryLimit'}: a negative value retains all revisions; a value >= 0 is recommended"


def of_job(job: Value) -> Iterator[str]:
    """Yields the warnings about a Job."""
    yield from _of_job_spec(child(job, "spec"), _SPEC)


def of_cron_job(cron_job: Value) -> Iterator[str]:
    """Yields the warnings about a CronJob."""
    template = child(child(cron_job, "spec"), "jobTemplate")
    yield from _of_job_spec(child(template, "spec"), _SPEC / "jobTemplate" / "spec")


def of_changed_cron_job(new: Value, old: Value) -> Iterator[str]:
    """Yields the warnings about a CronJob that has changed. (A new one with a time zone in its schedule is rejected.)"""
    if "TZ" in text(child(new, "spec"), "schedule"):
        yield f"{_SPEC / 'schedule'}: TZ and CRON_TZ in a schedule are not supported officially: use timeZone instead"
    yield from if_spec_changed(of_cron_job)(new, old)


def _of_job_spec(spec: Value, path: FieldPath) -> Iterator[str]:
    many, at_once = spec.get("completions") or 0, spec.get("parallelism") or 0
    if spec.get("completionMode") == "Indexed" and many > MANY_COMPLETIONS and at_once > MANY_AT_ONCE:
        yield f"{path}: with over 100,000 completions and a parallelism over 10,000 completedIndexes may be lost when many fail"
    yield from pod_warnings.of_template(child(spec, "template"), path / "template")
