"""Validates Events in the stored form: the core group accepts nearly everything, events.k8s.io requires its new fields.

An event with `eventTime` is a new-style event, whichever group it is written through.
"""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, required
from probate.kinds.shared.field_checks import Problems, Value, check_rule, child, is_same, text

_NAMES = {"reportingComponent": "reportingController"}  # the one field that is reported under its name in events.k8s.io
_MAX_NOTE = 1024
_MAX_WORD = 128
_OLD = ("firstTimestamp", "lastTimestamp", "count")
_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime", "action"),
    *("related", "reportingComponent", "reportingInstance"),
)


def check_event(event: Value, reporter: str = "reportingComponent") -> Problems:
    """Validates an Event: its namespace is that of the object it is about, and a new-style event has its required fields."""
    namespace = text(child(event, "metadata"), "namespace")
    about = text(child(event, "involvedObject"), "namespace")
    is_new = bool(event.get("eventTime"))
    if about:
        is_elsewhere = namespace != about and not is_new
    else:
        is_elsewhere = namespace not in ({"default", "kube-system"} if is_new else {"", "default"})
    if is_elsewhere:
        yield invalid(FieldPath("involvedObject") / "namespace", about, "does not match event.namespace")
    if is_new:
        yield from _check_report(event, FieldPath(reporter))


def check_again(event: Value) -> Problems:
    """Validates an Event through events.k8s.io, new or changed."""
    return check_event(event, _NAMES["reportingComponent"])


def create_strict(event: Value) -> Problems:
    """Validates a new Event through events.k8s.io: it has all new-style fields and no deprecated ones."""
    yield from check_again(event)
    yield from _check_series(event)
    if not event.get("eventTime"):
        yield required(FieldPath("eventTime"))
    if text(event, "type") not in {"Normal", "Warning"}:
        yield invalid(FieldPath("type"), text(event, "type"), "must be Normal or Warning")
    yield from (invalid(FieldPath(field), event[field], "needs to be unset") for field in _OLD if event.get(field))
    source = child(event, "source")
    if source.get("component") or source.get("host"):
        yield invalid(FieldPath("source"), source, "needs to be unset")


def update_strict(new: Value, old: Value) -> Problems:
    """Validates a changed Event through events.k8s.io: only its series may change."""
    if not is_same(new.get("series"), old.get("series")):
        yield from _check_series(new)
    for field in _FIXED:
        if not is_same(new.get(field), old.get(field)):
            yield invalid(FieldPath(_NAMES.get(field, field)), new.get(field), "field is immutable")


def _check_report(event: Value, path: FieldPath) -> Problems:
    reporter = text(event, "reportingComponent")
    if not reporter:
        yield required(path)
    yield from check_rule(reporter, path, names.validate_qualified_name)
    for field in ("reportingInstance", "action", "reason"):
        if not text(event, field):
            yield required(FieldPath(field))
        yield from _check_length(event, field, _MAX_WORD)
    yield from _check_length(event, "message", _MAX_NOTE)


def _check_length(event: Value, field: str, most: int) -> Problems:
    if len(text(event, field).encode()) > most:
        yield invalid(FieldPath(field), text(event, field), f"can have at most {most} characters")


def _check_series(event: Value) -> Problems:
    series, path = child(event, "series"), FieldPath("series")
    if event.get("series") is None:
        return
    if (series.get("count") or 0) < 2:
        yield invalid(path / "count", series.get("count") or 0, "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required(path / "lastObservedTime")
