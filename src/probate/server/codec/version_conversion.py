"""Converts custom resources to the requested version.

An object is returned with the defaults that were added to the schema after it was written. If versions differ, a webhook converts
the object.

Each object is stored in the storage version at the time of its write, and its stored value ends with that version (`object_codec`).
A reader gets the requested version. Controllers and the collector need only the metadata, which are equal in all versions.
Therefore a failing webhook blocks only clients that read or write the content of its own kind.
"""

from __future__ import annotations

import functools
from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.api.structural import defaults
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.server.codec import object_codec
from probate.server.kind_rules.contract import ServedKinds
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.server.webhooks.conversion_review import Converter
from probate.store.contract import Batch, Event, Record, Store

AT_ONCE = 500
"""Maximum number of objects per conversion request."""


def may_differ(resource: Resource) -> bool:
    """Returns whether objects of the resource can differ from their stored form."""
    return resource.is_converted or (resource.is_custom and bool(resource.defaults_before()))


class VersionConverter:
    """Reads objects in the version that a client asks for, and writes them in the version that is stored."""

    def __init__(self, store: Store, kinds: ServedKinds, *, webhooks: Converter, offloader: Offloader) -> None:
        self._store = store
        self._kinds = kinds
        self._webhooks = webhooks
        self._offloader = offloader

    async def read(self, at: Target) -> Record | None:
        """Reads the current object in the requested version."""
        found = await self._store.read(storage_keys.object_key(at.resource, at.namespace or "", at.name))
        if found is None or not at.resource.is_custom:  # fast path: most kinds are built-in
            return found
        return (await self.served(at.resource, [found]))[0]

    async def served(self, resource: Resource, records: list[Record]) -> list[Record]:
        """Returns the records in the version of the resource, with current defaults."""
        if not resource.is_custom:
            return records
        if resource.is_converted:
            records = await self._converted(resource, records)
        before = resource.defaults_before()
        if not any(one.revision < before for one in records):
            return records
        size = sum(len(one.value) for one in records)
        return await self._offloader.offload_if_large(
            size, lambda: [_with_current_defaults(resource, one) if one.revision < before else one for one in records]
        )

    async def _converted(self, resource: Resource, records: list[Record]) -> list[Record]:
        definition = self._kinds.crd(resource)
        by_version: dict[str, list[int]] = {}
        for number, one in enumerate(records):
            by_version.setdefault(_version(one, definition), []).append(number)
        by_version.pop(str(resource.group_version), None)
        shown = [object_codec.unmarked(one) for one in records]
        for version, numbers in by_version.items():
            for first in range(0, len(numbers), AT_ONCE):
                await self._convert(resource, shown, numbers[first : first + AT_ONCE], version=version)
        return shown

    async def _convert(self, resource: Resource, records: list[Record], numbers: list[int], *, version: str) -> None:
        """Replaces the records at these indexes, which have this version, with converted ones."""
        wanted = str(resource.group_version)
        objects = [object_codec.with_type_meta(records[number].value, resource.kind, version) for number in numbers]
        converted = await self._webhooks.convert(self._kinds.crd(resource), objects, wanted)
        size = sum(len(one) for one in objects)
        values = await self._offloader.offload_if_large(size, lambda: [self._conform(resource, one) for one in converted])
        for number, value in zip(numbers, values, strict=True):
            records[number] = Record(records[number].key, value, records[number].revision)

    def _conform(self, resource: Resource, object_: Object) -> bytes:
        """Encodes a converted object after pruning and defaulting by its new version."""
        rules = self._kinds.rules(resource)
        read = rules.decode(object_).object
        rules.set_defaults(read)
        return object_codec.stored(read)

    async def stored(self, resource: Resource, value: bytes) -> bytes:
        """Converts a value from the version of the resource to its stored form."""
        definition = self._kinds.crd(resource)
        wanted = f"{resource.group}/{_storage_version(definition)}"
        if str(resource.group_version) == wanted:
            return object_codec.marked(value, wanted)
        whole = object_codec.with_type_meta(value, resource.kind, str(resource.group_version))
        [object_] = await self._webhooks.convert(definition, [whole], wanted)
        home = self._kinds.catalog.find(resource.group, _storage_version(definition), resource.plural)
        # The storage version need not be served.
        fit = object_codec.stored if home is None else functools.partial(self._conform, home)
        return await self._offloader.offload_if_large(len(value), lambda: object_codec.marked(fit(object_), wanted))

    async def between(self, object_: Object, mine: Resource, wanted: Resource) -> Object:
        """Converts an object between two versions."""
        whole = orjson.dumps({**object_, "kind": mine.kind, "apiVersion": str(mine.group_version)})
        [found] = await self._webhooks.convert(self._kinds.crd(mine), [whole], str(wanted.group_version))
        return found

    async def shown(self, resource: Resource, records: list[Record]) -> list[Record]:
        """Returns the records for the response to a completed operation; an empty list if they cannot be converted."""
        try:
            return await self.served(resource, records)
        except errors.ApiError:
            return []

    async def events(self, resource: Resource, batch: Batch) -> Batch:
        """Converts the events of a watch to the version of the resource."""
        if not may_differ(resource):
            return batch
        records = [Record(one.key, one.value, one.revision) for one in batch if one.value is not None]
        before = [one.previous for one in batch if one.previous is not None]
        found = iter(await self.served(resource, [*records, *before]))
        values = {(one.key, one.revision): next(found).value for one in records}
        old = {(one.key, one.revision): next(found) for one in before}
        return Batch(_event(one, values, old) for one in batch)


def _with_current_defaults(resource: Resource, record: Record) -> Record:
    """Applies the current defaults to a record."""
    object_ = orjson.loads(record.value)
    defaults.default(object_, resource.load_schema())
    return Record(record.key, object_codec.stored(object_), record.revision)


def _version(record: Record, definition: Object) -> str:
    """Returns the stored version of an object. An object without a version suffix is older than all objects with one."""
    stored = (definition.get("status") or {}).get("storedVersions") or [_storage_version(definition)]
    return object_codec.mark(record.value) or f"{definition['spec']['group']}/{stored[0]}"


def _storage_version(definition: Object) -> str:
    return next(str(one["name"]) for one in definition["spec"]["versions"] if one.get("storage"))


def _event(event: Event, values: dict[tuple[str, Any], bytes], old: dict[tuple[str, Any], Record]) -> Event:
    previous = None if event.previous is None else old[event.previous.key, event.previous.revision]
    return Event(event.revision, event.key, values.get((event.key, event.revision)), previous)
