"""Computes `managedFields` of objects that are written: the pure rules of `api.apply` with the kinds that are served."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import orjson

from probate.api.apply import (
    client_side_migration,
    comparison,
    conflicts,
    extraction,
    field_managers,
    field_set_order,
    managed_fields,
)
from probate.api.apply.comparison import Difference
from probate.api.apply.field_managers import ApplyRequest, ApplyResult, DifferencesByVersion
from probate.api.apply.managed_fields import Entry, FieldManager
from probate.api.apply.ownable_part import OwnablePart
from probate.api.apply.schema_shapes import Shape
from probate.api.catalog import Resource
from probate.api.gvk import GroupVersion
from probate.api.objects import Object
from probate.core import errors
from probate.core.errors import Details
from probate.kinds import conversion
from probate.server.kind_registry import KindRegistry
from probate.server.kind_rules.contract import KindRules
from probate.server.request import Request, Target

UNKNOWN = "unknown"
MAX_MANAGER_LENGTH = 128
MAX_CACHED, MAX_CACHED_BYTES, MAX_CACHED_RULES, MAX_CACHED_AGENTS = 30, 4_000, 100, 30


def field_manager(request: Request, requested: str) -> str:
    """Returns the field manager of a request: its `fieldManager` parameter, or the name in its user agent."""
    if requested:
        return requested
    agent = request.headers.get(b"user-agent")
    return _name_of(agent[:MAX_MANAGER_LENGTH]) if agent else UNKNOWN


@functools.lru_cache(maxsize=MAX_CACHED_AGENTS)
def _name_of(agent: bytes) -> str:
    name = agent.partition(b"/")[0].decode("latin-1")
    return "".join(char for char in name if char.isprintable()) or UNKNOWN


def field_writer(target: Target, name: str) -> FieldManager:
    """Returns the field manager together with the version and subresource that it writes."""
    return FieldManager(name, target.resource.api_version, target.subresource)


def entries_on_create(kinds: KindRegistry, target: Target, name: str) -> Callable[[Object, str], list[Entry]]:
    """Returns a function that computes the entries of an object that this manager creates."""
    writer, resource = field_writer(target, name), target.resource

    def owners(object_: Object, now: str) -> list[Entry]:
        """Returns the entries of a new object in the stored version, after defaulting."""
        shown = object_ if resource.storage_gvk is None else _converted(object_, _stored(kinds, resource), resource)
        part, empty, shape = _part_of_new(kinds.rules(resource))
        text = orjson.dumps(part.extract(shown))
        fields = (_cached_fields if len(text) <= MAX_CACHED_BYTES else _fields)(shape, empty, text)
        return [managed_fields.new_entry(writer, managed_fields.UPDATE, orjson.Fragment(fields), time=now)] if fields else []

    return owners


@functools.lru_cache(maxsize=MAX_CACHED_RULES)
def _part_of_new(rules: KindRules) -> tuple[OwnablePart, bytes, Shape]:
    """Returns the part of a new object that can be owned, that part of an empty object as JSON, and its shape."""
    part = rules.ownable_part("")
    return part, orjson.dumps(part.extract(rules.empty_object())), rules.shape()


def _fields(shape: Shape, empty: bytes, text: bytes) -> bytes:
    """Returns the field set of everything that an object has and an empty object of its kind does not."""
    field_set = comparison.compare(orjson.loads(empty), orjson.loads(text), shape).changed
    return field_set_order.serialize(field_set) if field_set else b""


_cached_fields = functools.lru_cache(maxsize=MAX_CACHED)(_fields)
"""Cached because most objects are created many times under different names."""


def updated_entries(
    kinds: KindRegistry, target: Target, name: str, *, new: Object, old: Object, sent: Any, now: str
) -> list[Entry]:
    """Returns the entries of an updated object in the stored version. `sent` are those that the client sent."""
    entries: list[Entry] = old["metadata"].get("managedFields") or []
    if sent is not None and sent != entries and not target.subresource:
        if managed_fields.is_reset(sent):
            return []
        entries = managed_fields.parse_entries(sent) or entries
    if not entries:
        return []  # the object has never had entries
    stored = _stored(kinds, target.resource)
    part = kinds.rules(target.resource).ownable_part("" if target.subresource == "scale" else target.subresource)
    return field_managers.track_update(
        entries, _differences(kinds, stored, part, old=old, new=new), field_writer(target, name), now=now
    )


def entries_on_update(
    kinds: KindRegistry, target: Target, name: str, *, new: Object, old: Object, now: str
) -> Callable[[Any], list[Entry]]:
    """Returns a function that computes the entries of an object that this manager updates."""
    return lambda sent: updated_entries(kinds, target, name, new=new, old=old, sent=sent, now=now)


def apply_document(
    kinds: KindRegistry, target: Target, document: Object, *, live: Object | None, name: str, now: str, is_forced: bool
) -> ApplyResult:
    """Returns the object after an apply, in the requested version, and its entries.

    Raises `Conflict` if others own what it changes.
    """
    rules = kinds.rules(target.resource)
    part, shape, writer = rules.ownable_part(target.subresource), rules.shape(), field_writer(target, name)
    live_part = part.extract(rules.empty_object() if live is None else live)
    applied_part = part.extract(document)
    if not applied_part["metadata"]:
        del applied_part["metadata"]
    entries: list[Entry] = [] if live is None else live["metadata"].get("managedFields") or []
    if not entries and live is not None:
        whole_part = rules.ownable_part("")
        fields = comparison.compare(whole_part.extract(rules.empty_object()), whole_part.extract(live), shape).changed
        entries = field_managers.track_create(fields, FieldManager(field_managers.BEFORE_FIRST_APPLY, writer.version), now)

    def differences_to(new: Object) -> DifferencesByVersion:
        return _differences(kinds, target.resource, part, old=live_part, new=new)

    try:
        result = field_managers.apply(
            ApplyRequest(applied_part, live_part, shape, writer, now),
            entries,
            differences_to,
            is_forced=is_forced,
            transferable=lambda: (
                client_side_migration.transferable_fields(part.extract(live or {}), shape, writer.version)
                if name == client_side_migration.KUBECTL
                else {}
            ),
        )
    except extraction.SchemaMismatch as error:
        raise errors.BadRequest(f"the applied document does not fit the kind {target.resource.kind}: {error}") from None
    except field_managers.Conflicts as clash:
        causes = conflicts.conflict_causes(clash.conflicts)
        raise errors.Conflict(conflicts.conflict_message(causes), Details(causes=tuple(causes))) from None
    new = part.replace(live or {"metadata": {}}, result.object)
    return ApplyResult(
        client_side_migration.update_last_applied(new, document) if name == client_side_migration.KUBECTL else new, result.entries
    )


def _differences(kinds: KindRegistry, source: Resource, part: OwnablePart, *, old: Object, new: Object) -> DifferencesByVersion:
    """Returns a function that computes the difference between two objects in any served version."""
    cache: dict[str, Difference | None] = {}

    def difference_in(version: str) -> Difference | None:
        if version not in cache:
            served = kinds.catalog.find_kind(*GroupVersion.parse(version), source.kind)
            cache[version] = None if served is None else differ(served)
        return cache[version]

    def differ(served: Resource) -> Difference:
        before, after = (part.extract(_converted(object_, source, served)) for object_ in (old, new))
        return comparison.compare(before, after, kinds.rules(served).shape())

    return difference_in


def _stored(kinds: KindRegistry, resource: Resource) -> Resource:
    """Returns the resource in its stored version."""
    return (kinds.catalog.find_kind(*resource.storage_gvk) if resource.storage_gvk is not None else None) or resource


def _converted(object_: Object, source: Resource, target_version: Resource) -> Object:
    if source.group_version_kind == target_version.group_version_kind or source.is_custom:
        return object_
    if source.storage_gvk is not None:
        object_ = conversion.to_stored(source.group_version_kind, object_)
    return object_ if target_version.storage_gvk is None else conversion.from_stored(target_version.group_version_kind, object_)
