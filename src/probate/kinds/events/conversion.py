"""Converts Events: events.k8s.io renamed most fields of the core event, and kept unused ones under deprecated names."""

from __future__ import annotations

from probate.api.objects import Object

_CORE_NAMES = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_NAMES = {old: new for new, old in _CORE_NAMES.items()}


def to_core(event: Object) -> Object:
    """Returns an Event of events.k8s.io/v1 as the core one."""
    return {_CORE_NAMES.get(name, name): value for name, value in event.items()}


def from_core(event: Object) -> Object:
    """Returns a core Event as one of events.k8s.io/v1."""
    return {_NAMES.get(name, name): value for name, value in event.items()}
