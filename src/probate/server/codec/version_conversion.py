"""Objects of custom kinds, as the version that is asked for has them.

A field that has got a default since an object was written is shown with it. And where versions differ, a webhook makes one of the
other.

Each object is stored in the version that was the storage version when it was written, and says so at its end (`wire`). Who reads it
is shown the version that was asked for. Controllers and the collector need metadata alone, which are the same in all versions:
so a webhook that does not work holds back those who read or write the content of its own kind, and nobody else.
"""

from __future__ import annotations

import functools
from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.api.structural import defaults
from probate.core import errors
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Batch, Event, Record

Object = dict[str, Any]

AT_ONCE = 500
"""Objects that are converted together."""


def may_differ(resource: Resource) -> bool:
    """Whether its objects may have to be shown otherwise than they are stored."""
    return resource.is_converted or (resource.is_custom and bool(resource.defaults_before()))


async def read(api: Api, at: Target) -> Record | None:
    """The object as it is now, in the version that was asked for."""
    found = await api.store.read(storage_keys.of(at.resource, at.namespace or "", at.name))
    if found is None or not at.resource.is_custom:  # nearly always
        return found
    return (await served(api, at.resource, [found]))[0]


async def served(api: Api, resource: Resource, records: list[Record]) -> list[Record]:
    """Records as if they were stored in the resource's version, and now."""
    if not resource.is_custom:
        return records
    if resource.is_converted:
        records = await _converted(api, resource, records)
    before = resource.defaults_before()
    if not any(one.revision < before for one in records):
        return records
    size = sum(len(one.value) for one in records)
    return await api.apart(size, lambda: [_completed(resource, one) if one.revision < before else one for one in records])


def _completed(resource: Resource, record: Record) -> Record:
    """The record with the defaults that its kind has now."""
    object_ = orjson.loads(record.value)
    defaults.default(object_, resource.load_schema())
    return Record(record.key, object_codec.stored(object_), record.revision)


async def _converted(api: Api, resource: Resource, records: list[Record]) -> list[Record]:
    definition = api.kinds.definition(resource)
    by_version: dict[str, list[int]] = {}
    for number, one in enumerate(records):
        by_version.setdefault(_version(one, definition), []).append(number)
    by_version.pop(str(resource.group_version), None)
    shown = [object_codec.unmarked(one) for one in records]
    for version, numbers in by_version.items():
        for first in range(0, len(numbers), AT_ONCE):
            await _convert(api, resource, shown, numbers[first : first + AT_ONCE], version)
    return shown


async def _convert(api: Api, resource: Resource, records: list[Record], numbers: list[int], version: str) -> None:
    """Put converted ones in the places of these records, which are of that version."""
    wanted = str(resource.group_version)
    objects = [object_codec.whole(records[number].value, resource.kind, version) for number in numbers]
    converted = await api.converter.convert(api.kinds.definition(resource), objects, wanted)
    size = sum(len(one) for one in objects)
    values = await api.apart(size, lambda: [_fitted(api, resource, one) for one in converted])
    for number, value in zip(numbers, values, strict=True):
        records[number] = Record(records[number].key, value, records[number].revision)


def _fitted(api: Api, resource: Resource, object_: Object) -> bytes:
    """A converted object, less what its version does not know, with its defaults."""
    rules = api.kinds.rules(resource)
    read = rules.read(object_).object
    rules.set_defaults(read)
    return object_codec.stored(read)


def _version(record: Record, definition: Object) -> str:
    """The version in which the object is stored. One that does not say so is older than all that do."""
    stored = (definition.get("status") or {}).get("storedVersions") or [_storage_version(definition)]
    return object_codec.mark(record.value) or f"{definition['spec']['group']}/{stored[0]}"


def _storage_version(definition: Object) -> str:
    return next(str(one["name"]) for one in definition["spec"]["versions"] if one.get("storage"))


async def stored(api: Api, resource: Resource, value: bytes) -> bytes:
    """A value of the resource's version, as it is stored."""
    definition = api.kinds.definition(resource)
    wanted = f"{resource.group}/{_storage_version(definition)}"
    if str(resource.group_version) == wanted:
        return object_codec.marked(value, wanted)
    whole = object_codec.whole(value, resource.kind, str(resource.group_version))
    [object_] = await api.converter.convert(definition, [whole], wanted)
    home = api.catalog.find(resource.group, _storage_version(definition), resource.plural)
    fit = object_codec.stored if home is None else functools.partial(_fitted, api, home)  # what is stored need not be served
    return await api.apart(len(value), lambda: object_codec.marked(fit(object_), wanted))


async def between(api: Api, object_: Object, mine: Resource, wanted: Resource) -> Object:
    """An object of one version in another."""
    whole = orjson.dumps({**object_, "kind": mine.kind, "apiVersion": str(mine.group_version)})
    [found] = await api.converter.convert(api.kinds.definition(mine), [whole], str(wanted.group_version))
    return found


async def shown(api: Api, resource: Resource, records: list[Record]) -> list[Record]:
    """The records for an answer to what has been done already; none if they cannot be shown."""
    try:
        return await served(api, resource, records)
    except errors.ApiError:
        return []


async def events(api: Api, resource: Resource, batch: Batch) -> Batch:
    """What a watcher of this version is told."""
    if not may_differ(resource):
        return batch
    records = [Record(one.key, one.value, one.revision) for one in batch if one.value is not None]
    before = [one.previous for one in batch if one.previous is not None]
    found = iter(await served(api, resource, [*records, *before]))
    values = {(one.key, one.revision): next(found).value for one in records}
    old = {(one.key, one.revision): next(found) for one in before}
    return Batch(_event(one, values, old) for one in batch)


def _event(event: Event, values: dict[tuple[str, Any], bytes], old: dict[tuple[str, Any], Record]) -> Event:
    previous = None if event.previous is None else old[event.previous.key, event.previous.revision]
    return Event(event.revision, event.key, values.get((event.key, event.revision)), previous)
