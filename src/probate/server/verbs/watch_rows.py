"""The lines of a watch, in the form that was asked for.

Many watch the same and are told the same, so what one of them is told of a batch is kept with the batch for the others. (Not so
tables: their first line is another one, and they tell ages.)
"""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.kinds.protobuf import encode
from probate.server.codec import object_codec, responses
from probate.server.codec.negotiation import Form
from probate.server.context import Api
from probate.server.objects.selector_filter import Filter
from probate.store.contract import Batch, Event, Record, Revision

_INITIAL_EVENTS_END = {"annotations": {"k8s.io/initial-events-end": "true"}}


def event(kind: bytes, object_: bytes, form: Form) -> bytes:
    """An event: a line of JSON, or a frame of protobuf."""
    written = encode.encode(orjson.loads(object_)) if form.is_protobuf else None
    return object_codec.event(kind, object_) if written is None else encode.event(kind, written)


def weight(events: Batch, form: Form) -> int:
    """How much there is to read and write to tell these changes in this form; lines of JSON need neither."""
    return events.size if form.is_protobuf else 0


class Lines:
    """Writes the events of one watcher."""

    def __init__(self, api: Api, resource: Resource, form: Form, wanted: Filter) -> None:
        self._resource = resource
        self._form = form
        self._api = api
        self._wanted = wanted
        self._is_table = form.shape == "Table"
        self._has_columns = False  # a table names its columns once
        # In one text, of which Python remembers the hash: a batch may be asked for it by thousands.
        self._key = repr((resource.group, resource.version, resource.kind, form, wanted.text))

    def batch(self, events: Batch) -> bytes:
        """What the watcher is told of a batch of changes; empty if nothing."""
        if self._is_table:
            return b"".join([self._change(event) for event in events])
        made = events.made.get(self._key)
        if made is None:
            is_all = self._wanted.is_everything and not self._form.shape and not self._form.is_protobuf
            lines = object_codec.changes(events, self._resource) if is_all else [self._change(event) for event in events]
            made = events.made[self._key] = b"".join(lines)
        return made

    def _change(self, event: Event) -> bytes:
        """One change, as it is for the watcher; empty if neither what was nor what is matches."""
        wanted = self._wanted
        if wanted.is_everything:
            if event.value is not None:
                return self.line(b"ADDED" if event.previous is None else b"MODIFIED", event.value, event.revision)
            return b"" if event.previous is None else self.line(b"DELETED", event.previous.value, event.revision)
        is_in = event.value is not None and wanted.matches(event.value)
        was_in = event.previous is not None and wanted.matches(event.previous.value)
        if is_in and event.value is not None:
            return self.line(b"MODIFIED" if was_in else b"ADDED", event.value, event.revision)
        if was_in and event.previous is not None:
            return self.line(b"DELETED", event.previous.value, event.revision)
        return b""

    def line(self, kind: bytes, value: bytes, revision: Revision) -> bytes:
        """One event."""
        if not self._form.shape:
            shown = object_codec.answered(value, revision, self._resource)
            return event(kind, shown, self._form) if self._form.is_protobuf else b'{"type":"%b","object":%b}\n' % (kind, shown)
        record = Record("", value, revision)
        if self._form.shape == "Table":
            return object_codec.event(kind, orjson.dumps(self._table(record, revision)))
        return event(kind, orjson.dumps(responses.partial(object_codec.loaded(record, self._resource), self._form)), self._form)

    def bookmark(self, revision: Revision, *, is_end_of_initial_events: bool = False) -> bytes:
        """Everything up to this revision has been told."""
        kind, version = self._resource.kind, str(self._resource.group_version)
        if self._form.shape:
            kind, version = "PartialObjectMetadata", f"meta.k8s.io/{self._form.version}"
        meta: dict[str, Any] = {"resourceVersion": str(revision), **(_INITIAL_EVENTS_END if is_end_of_initial_events else {})}
        about: dict[str, Any] = {"kind": kind, "apiVersion": version, "metadata": meta}
        if self._form.shape == "Table":
            row = {"cells": None, "object": about}
            about = {"kind": "Table", "apiVersion": version, "metadata": {"resourceVersion": str(revision)}, "rows": [row]}
            about["columnDefinitions"] = None
        return event(b"BOOKMARK", orjson.dumps(about), self._form)

    def _table(self, record: Record, revision: Revision) -> dict[str, Any]:
        found = responses.table_of(self._api, [record], self._resource, self._form, revision=revision)
        if self._has_columns:
            found["columnDefinitions"] = None
        self._has_columns = True
        return found
