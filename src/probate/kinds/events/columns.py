"""Table columns of Events, for both API groups: they show the stored event, which is the core one."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, object_fields
from probate.api.printers.columns import NAME, Column, Printer, text, wide


def _event(event: Object, now: float) -> list[Any]:
    first = event.get("firstTimestamp") or event.get("eventTime")
    series = event.get("series")
    if isinstance(series, dict):
        last, count = series.get("lastObservedTime"), object_fields.number(series, "count")
    else:
        last, count = event.get("lastTimestamp") or first, object_fields.number(event, "count") or 1
    return [
        ages.age_since(last, now),
        object_fields.text(event, "type"),
        object_fields.text(event, "reason"),
        _target(object_fields.mapping(event, "involvedObject")),
        object_fields.text(event, "involvedObject", "fieldPath"),
        _source(event),
        object_fields.text(event, "message").strip(),
        ages.age_since(first, now),
        count,
        object_fields.name(event),
    ]


def _target(reference: Object) -> str:
    kind, name = object_fields.text(reference, "kind").lower(), object_fields.text(reference, "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Object) -> str:
    component = object_fields.text(event, "source", "component") or object_fields.text(event, "reportingComponent")
    host = object_fields.text(event, "source", "host") or object_fields.text(event, "reportingInstance")
    return f"{component}, {host}" if host else component


_COLUMNS = (
    text("Last Seen", "The time since the event was last seen."),
    text("Type", "Normal or Warning."),
    text("Reason", "The reason, in one word."),
    text("Object", "The object that the event is about."),
    wide("Subobject", "The part of the object that the event is about."),
    wide("Source", "The component that reported the event, and its host."),
    text("Message", "The description of the event."),
    wide("First Seen", "The time since the event was first seen."),
    wide("Count", "How often the event was seen."),
    Column(name="Name", format="name", description=NAME.description, priority=1),
)

_EVENTS = Printer(_COLUMNS, _event)
PRINTERS = {("", "events"): _EVENTS, ("events.k8s.io", "events"): _EVENTS}
