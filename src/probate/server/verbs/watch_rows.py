"""WatchEventEncoder: the events of a watch, as JSON lines or protobuf frames, of whole objects, metadata or tables.

Fast path: many watchers with the same selector and form receive the same bytes, so the encoding of a batch is cached in the batch.
Tables are not cached: their first event differs (it names the columns), and they show ages.
"""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.kinds.protobuf import encode
from probate.server.codec import object_codec, responses
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects.selector_filter import SelectorFilter
from probate.store.contract import Batch, Event, Record, Revision

_INITIAL_EVENTS_END = {"annotations": {"k8s.io/initial-events-end": "true"}}


def event(kind: bytes, object_: bytes, form: Form) -> bytes:
    """Encodes an event as a line of JSON or a frame of protobuf."""
    written = encode.encode(orjson.loads(object_)) if form.is_protobuf else None
    return object_codec.event(kind, object_) if written is None else encode.event(kind, written)


def encoding_cost(events: Batch, form: Form) -> int:
    """Returns the number of bytes to transcode for these changes: 0 for JSON, which is copied as it is stored."""
    return events.value_bytes if form.is_protobuf else 0


class WatchEventEncoder:
    """Encodes the events of one watcher."""

    def __init__(self, context: ServerContext, resource: Resource, form: Form, *, selector: SelectorFilter) -> None:
        self._resource = resource
        self._form = form
        self._responses = context.responses
        self._selector = selector
        self._is_table = form.shape == "Table"
        self._has_columns = False  # only the first table of a watch names the columns
        # A single string, because Python caches its hash: thousands of watchers may look it up in the same batch.
        self._key = repr((resource.group, resource.version, resource.kind, form, selector.text))

    def batch(self, events: Batch) -> bytes:
        """Encodes the changes of a batch that concern this watcher. May be empty."""
        if self._is_table:
            return b"".join([self._change(event) for event in events])
        encoded = events.cache.get(self._key)
        if encoded is None:
            is_all = self._selector.is_everything and not self._form.shape and not self._form.is_protobuf
            lines = object_codec.changes(events, self._resource) if is_all else [self._change(event) for event in events]
            encoded = events.cache[self._key] = b"".join(lines)
        return encoded

    def _change(self, event: Event) -> bytes:
        """Encodes one change. Empty if the object matches neither before nor after it."""
        selector = self._selector
        if selector.is_everything:
            if event.value is not None:
                return self.line(b"ADDED" if event.previous is None else b"MODIFIED", event.value, event.revision)
            return b"" if event.previous is None else self.line(b"DELETED", event.previous.value, event.revision)
        matches_after = event.value is not None and selector.matches(event.value)
        matches_before = event.previous is not None and selector.matches(event.previous.value)
        if matches_after and event.value is not None:
            return self.line(b"MODIFIED" if matches_before else b"ADDED", event.value, event.revision)
        if matches_before and event.previous is not None:
            return self.line(b"DELETED", event.previous.value, event.revision)
        return b""

    def line(self, kind: bytes, value: bytes, revision: Revision) -> bytes:
        """Encodes one event."""
        if not self._form.shape:
            shown = object_codec.answered(value, revision, self._resource)
            return event(kind, shown, self._form) if self._form.is_protobuf else b'{"type":"%b","object":%b}\n' % (kind, shown)
        record = Record("", value, revision)
        if self._form.shape == "Table":
            return object_codec.event(kind, orjson.dumps(self._table(record, revision)))
        return event(kind, orjson.dumps(responses.partial(object_codec.loaded(record, self._resource), self._form)), self._form)

    def bookmark(self, revision: Revision, *, is_end_of_initial_events: bool = False) -> bytes:
        """Encodes a bookmark: the client has received all events up to this revision."""
        kind, version = self._resource.kind, str(self._resource.group_version)
        if self._form.shape:
            kind, version = "PartialObjectMetadata", f"meta.k8s.io/{self._form.version}"
        meta: dict[str, Any] = {"resourceVersion": str(revision), **(_INITIAL_EVENTS_END if is_end_of_initial_events else {})}
        bookmark_object: dict[str, Any] = {"kind": kind, "apiVersion": version, "metadata": meta}
        if self._form.shape == "Table":
            row = {"cells": None, "object": bookmark_object}
            bookmark_object = {
                "kind": "Table",
                "apiVersion": version,
                "metadata": {"resourceVersion": str(revision)},
                "rows": [row],
            }
            bookmark_object["columnDefinitions"] = None
        return event(b"BOOKMARK", orjson.dumps(bookmark_object), self._form)

    def _table(self, record: Record, revision: Revision) -> dict[str, Any]:
        table = self._responses.table_of([record], self._resource, self._form, revision=revision)
        if self._has_columns:
            table["columnDefinitions"] = None
        self._has_columns = True
        return table
