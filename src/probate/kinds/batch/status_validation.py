"""Validates the status of a Job, which any controller may write (`managedBy`).

Most rules check what this write changes and ignore what was invalid before: a change of the spec may make a status invalid for a
moment, and the controller must be able to correct it step by step. Decisions are final: a finished Job does not continue, and its
counters do not decrease.
"""

from __future__ import annotations

from typing import Any

from probate.api import timestamps
from probate.api.field_errors import FieldPath, duplicate, invalid, required
from probate.kinds.batch import index_sets
from probate.kinds.shared.field_checks import Problems, Value, check_nonnegative, child, is_same, objects, text, texts

_STATUS = FieldPath("status")
_CONDITIONS = _STATUS / "conditions"
_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_FINAL = ("Failed", "Complete", "FailureTarget", "SuccessCriteriaMet")
_AT_ODDS = (
    ("Complete", "Failed"),
    ("Complete", "FailureTarget"),
    ("SuccessCriteriaMet", "Failed"),
    ("SuccessCriteriaMet", "FailureTarget"),
)
_BEFORE = (("Complete", "SuccessCriteriaMet"), ("Failed", "FailureTarget"))


def check_job_status(new: Value, old: Value) -> Problems:
    """Validates a Job written through `status`."""
    yield from check_nonnegative(child(new, "status"), _STATUS, *_COUNTS)
    yield from _check_uncounted(new)
    yield from _check_conditions(new, old)
    yield from _check_times(new, old)
    yield from _check_rest(new, old)
    yield from _check_counts(new, old)
    yield from _check_indexes(new, old)


def _true(job: Value) -> set[str]:
    """Returns the types of the conditions that are true."""
    return {text(one, "type") for one in objects(child(job, "status"), "conditions") if text(one, "status") == "True"}


def _is_over(job: Value) -> bool:
    return not _true(job).isdisjoint({"Complete", "Failed"})


def _is_changed(new: Value, old: Value, *fields: str) -> bool:
    return any(not is_same(child(new, "status").get(field), child(old, "status").get(field)) for field in fields)


def _check_uncounted(job: Value) -> Problems:
    listed, seen = child(child(job, "status"), "uncountedTerminatedPods"), set[Any]()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(texts(listed, name)):
            at = _STATUS / "uncountedTerminatedPods" / name / index
            if not uid:
                yield invalid(at, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(at, uid)
            seen.add(uid)


def _check_conditions(new: Value, old: Value) -> Problems:
    holds, held = _true(new), _true(old)
    changed = holds ^ held
    for one, other in _AT_ODDS:
        # A Job that has both succeeded and failed is rejected even if it was so before.
        if {one, other} <= holds and (one == "SuccessCriteriaMet" or changed & {one, other}):
            yield invalid(_CONDITIONS, "", f"cannot set {one}=True and {other}=True conditions")
    for end, decision in _BEFORE:
        if end in holds and decision not in holds and changed & {end, decision}:
            yield invalid(_CONDITIONS, "", f"cannot set {end}=True condition without the {decision}=True condition")
    for type_ in _FINAL:
        if type_ in held - holds:
            yield invalid(_CONDITIONS, "", f"cannot disable the {type_}=True condition")
    if "Complete" in held and "SuccessCriteriaMet" in holds - held:
        yield invalid(_CONDITIONS, "", "cannot set SuccessCriteriaMet=True for a Job that is Complete already")


def _check_times(new: Value, old: Value) -> Problems:
    status, before, spec = child(new, "status"), child(old, "status"), child(new, "spec")
    began, ended = status.get("startTime"), status.get("completionTime")
    is_complete = "Complete" in _true(new)
    is_asked = is_complete != ("Complete" in _true(old)) or _is_changed(new, old, "completionTime")
    if is_asked and ended and not is_complete:
        yield invalid(_STATUS / "completionTime", ended, "cannot set completionTime when there is no Complete=True condition")
    if is_asked and is_complete and not ended:
        yield required(_STATUS / "completionTime", "completionTime is required for Complete jobs")
    if began and ended and _is_changed(new, old, "startTime", "completionTime") and _is_before(ended, began):
        yield invalid(_STATUS / "completionTime", ended, "completionTime cannot be set before startTime")
    if ended and before.get("completionTime") and ended != before["completionTime"]:
        yield invalid(_STATUS / "completionTime", ended, "completionTime cannot be mutated")
    if before.get("startTime") and began != before["startTime"] and not spec.get("suspend") and not _is_resuming(new, old):
        yield required(_STATUS / "startTime", "startTime cannot be removed for unsuspended job")


def _is_before(one: str, other: str) -> bool:
    return timestamps.parse_time(one) < timestamps.parse_time(other)


def _is_resuming(new: Value, old: Value) -> bool:
    conditions = objects(child(new, "status"), "conditions")
    is_off = any(text(one, "type") == "Suspended" and text(one, "status") == "False" for one in conditions)
    return "Suspended" in _true(old) and is_off


def _check_rest(new: Value, old: Value) -> Problems:
    """Validates that a finished Job has a start time, and no active or uncounted pods."""
    if not _is_over(new):
        return
    status, spec, is_new = child(new, "status"), child(new, "spec"), not _is_over(old)
    for field in ("active", "terminating"):
        if (status.get(field) or 0) > 0 and (is_new or _is_changed(new, old, field)):
            yield invalid(_STATUS / field, status[field], f"{field}>0 is invalid for finished job")
    if any(child(status, "uncountedTerminatedPods").values()) and (is_new or _is_changed(new, old, "uncountedTerminatedPods")):
        yield invalid(_STATUS / "uncountedTerminatedPods", status["uncountedTerminatedPods"], "must be empty for finished job")
    has_nothing_to_do = bool(spec.get("suspend")) and spec.get("completions") == 0
    if not status.get("startTime") and (is_new or _is_changed(new, old, "startTime")) and not has_nothing_to_do:
        yield required(_STATUS / "startTime", "startTime is required for finished job")


def _check_counts(new: Value, old: Value) -> Problems:
    status, before, spec = child(new, "status"), child(old, "status"), child(new, "spec")
    ready = status.get("ready")
    if ready is not None and ready > (status.get("active") or 0) and _is_changed(new, old, "ready", "active"):
        yield invalid(_STATUS / "ready", ready, "cannot set more ready pods than active")
    is_elastic = text(spec, "completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed",) if is_elastic else ("failed", "succeeded"):
        if (status.get(field) or 0) < (before.get(field) or 0):
            yield invalid(_STATUS / field, status.get(field) or 0, f"cannot decrease the {field} counter")


def _check_indexes(new: Value, old: Value) -> Problems:
    status, spec = child(new, "status"), child(new, "spec")
    completed, failed, below = text(status, "completedIndexes"), status.get("failedIndexes"), spec.get("completions")
    if completed and _is_changed(new, old, "completedIndexes"):
        yield from _check_spelling(completed, _STATUS / "completedIndexes", below)
        if text(spec, "completionMode") != "Indexed":
            yield invalid(_STATUS / "completedIndexes", completed, "cannot be set unless the completion mode is Indexed")
    if failed is None:
        return
    if failed != child(old, "status").get("failedIndexes"):
        if spec.get("backoffLimitPerIndex") is None:
            yield invalid(_STATUS / "failedIndexes", failed, "cannot be set when backoffLimitPerIndex is not")
        else:
            yield from _check_spelling(failed, _STATUS / "failedIndexes", below)
    if below is not None and _is_changed(new, old, "failedIndexes", "completedIndexes"):
        both = index_sets.first_common_index(completed, failed, below)
        if both is not None:
            yield invalid(_STATUS / "failedIndexes", failed, f"failedIndexes and completedIndexes overlap at index: {both}")


def _check_spelling(indexes: str, path: FieldPath, below: int | None) -> Problems:
    if below is None:
        return
    try:
        index_sets.count_indexes(indexes, below)
    except index_sets.InvalidIndexes as error:
        yield invalid(path, indexes, str(error))
