"""Events, in both groups that serve them.

events.k8s.io renamed most fields of the core event and kept the old ones as deprecated: the same cells are read from either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probate.machinery.tables import ages, fields
from probate.machinery.tables.columns import NAME, Column, Object, Printer, text, wide

_CORE = {
    "object": "involvedObject",
    "message": "message",
    "source": "source",
    "first": "firstTimestamp",
    "last": "lastTimestamp",
    "count": "count",
    "controller": "reportingComponent",
}
_EVENTS = {
    "object": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "first": "deprecatedFirstTimestamp",
    "last": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "controller": "reportingController",
}


def _core_event(event: Object, now: float) -> list[Any]:
    return _cells(event, _CORE, now)


def _event(event: Object, now: float) -> list[Any]:
    return _cells(event, _EVENTS, now)


def _cells(event: Object, spelling: Mapping[str, str], now: float) -> list[Any]:
    first = event.get(spelling["first"]) or event.get("eventTime")
    series = event.get("series")
    if isinstance(series, dict):
        last, count = series.get("lastObservedTime"), fields.number(series, "count")
    else:
        last, count = event.get(spelling["last"]) or first, fields.number(event, spelling["count"]) or 1
    return [
        ages.since(last, now),
        fields.text(event, "type"),
        fields.text(event, "reason"),
        _target(fields.mapping(event, spelling["object"])),
        fields.text(event, spelling["object"], "fieldPath"),
        _source(event, spelling),
        fields.text(event, spelling["message"]).strip(),
        ages.since(first, now),
        count,
        fields.name(event),
    ]


def _target(reference: Object) -> str:
    kind, name = fields.text(reference, "kind").lower(), fields.text(reference, "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Object, spelling: Mapping[str, str]) -> str:
    component = fields.text(event, spelling["source"], "component") or fields.text(event, spelling["controller"])
    host = fields.text(event, spelling["source"], "host") or fields.text(event, "reportingInstance")
    return f"{component}, {host}" if host else component


_COLUMNS = (
    text("Last Seen", "How long ago it last happened."),
    text("Type", "Normal or Warning."),
    text("Reason", "What happened, in one word."),
    text("Object", "What it happened to."),
    wide("Subobject", "Which part of it."),
    wide("Source", "Who says so, and where it runs."),
    text("Message", "What happened, in a sentence."),
    wide("First Seen", "How long ago it first happened."),
    wide("Count", "How often it happened."),
    Column(name="Name", format="name", description=NAME.description, priority=1),
)

PRINTERS = {("", "events"): Printer(_COLUMNS, _core_event), ("events.k8s.io", "events"): Printer(_COLUMNS, _event)}
