"""`managedFields` of objects that are written: the pure rules of `api.apply`, asked with the kinds that are served."""

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
from probate.api.apply.field_managers import Application, Applied, Differences
from probate.api.apply.managed_fields import Entry, Who
from probate.api.apply.ownable_part import Part
from probate.api.apply.schema_shapes import Shape
from probate.api.catalog import Resource
from probate.api.gvk import GroupVersion
from probate.core import errors
from probate.core.errors import Details
from probate.kinds import conversion
from probate.server.kind_registry import Kinds
from probate.server.kind_rules.contract import Rules
from probate.server.request import Request, Target

Object = dict[str, Any]

UNKNOWN = "unknown"
MAX_NAME = 128
MAX_KNOWN, MAX_KNOWN_BYTES, MAX_KNOWN_RULES, MAX_KNOWN_AGENTS = 30, 4_000, 100, 30


def manager(request: Request, given: str) -> str:
    """Who writes: the manager that the request names, or else what its user agent calls itself."""
    if given:
        return given
    agent = request.headers.get(b"user-agent")
    return _name_of(agent[:MAX_NAME]) if agent else UNKNOWN


@functools.lru_cache(maxsize=MAX_KNOWN_AGENTS)
def _name_of(agent: bytes) -> str:
    name = agent.partition(b"/")[0].decode("latin-1")
    return "".join(char for char in name if char.isprintable()) or UNKNOWN


def who(at: Target, name: str) -> Who:
    """Who writes what."""
    return Who(name, at.resource.api_version, at.subresource)


def creator(kinds: Kinds, at: Target, name: str) -> Callable[[Object, str], list[Entry]]:
    """Says who owns what of an object that this manager creates."""
    author, resource = who(at, name), at.resource

    def owners(object_: Object, now: str) -> list[Entry]:
        """The entries of a new object (of the stored version) whose defaults are set."""
        shown = object_ if resource.stored_as is None else _converted(object_, _stored(kinds, resource), resource)
        part, blank, shape = _part_of_new(kinds.rules(resource))
        text = orjson.dumps(part.of(shown))
        fields = (_known_fields if len(text) <= MAX_KNOWN_BYTES else _fields)(shape, blank, text)
        return [managed_fields.made(author, managed_fields.UPDATE, orjson.Fragment(fields), now)] if fields else []

    return owners


@functools.lru_cache(maxsize=MAX_KNOWN_RULES)
def _part_of_new(rules: Rules) -> tuple[Part, bytes, Shape]:
    """Which part of a new object can be owned, what is in it before anybody has written anything, and its shape."""
    part = rules.part("")
    return part, orjson.dumps(part.of(rules.blank())), rules.shape()


def _fields(shape: Shape, blank: bytes, text: bytes) -> bytes:
    """All that is in an object and not in any of its kind."""
    found = comparison.difference(orjson.loads(blank), orjson.loads(text), shape).changed
    return field_set_order.text(found) if found else b""


_known_fields = functools.lru_cache(maxsize=MAX_KNOWN)(_fields)
"""Most objects are created many times under different names."""


def of_changed(kinds: Kinds, at: Target, new: Object, old: Object, given: Any, name: str, now: str) -> list[Entry]:
    """The entries of an object (of the stored version) that was updated. `given` are those that the client sent."""
    known: list[Entry] = old["metadata"].get("managedFields") or []
    if given is not None and given != known and not at.subresource:
        if managed_fields.is_reset(given):
            return []
        known = managed_fields.read(given) or known
    if not known:
        return []  # nobody ever noted who owns what
    stored = _stored(kinds, at.resource)
    part = kinds.rules(at.resource).part("" if at.subresource == "scale" else at.subresource)
    return field_managers.updated(known, _differences(kinds, stored, old, new, part), who(at, name), now)


def updater(kinds: Kinds, at: Target, new: Object, old: Object, name: str, now: str) -> Callable[[Any], list[Entry]]:
    """Says who owns what of an object that this manager updates."""
    return lambda given: of_changed(kinds, at, new, old, given, name, now)


def apply(kinds: Kinds, at: Target, live: Object | None, document: Object, *, name: str, now: str, is_forced: bool) -> Applied:
    """The object (of the version that was asked for) after an apply, and its entries. `Conflict` if others own what it changes."""
    rules = kinds.rules(at.resource)
    part, shape, author = rules.part(at.subresource), rules.shape(), who(at, name)
    there = part.of(rules.blank() if live is None else live)
    given = part.of(document)
    if not given["metadata"]:
        del given["metadata"]
    known: list[Entry] = [] if live is None else live["metadata"].get("managedFields") or []
    if not known and live is not None:
        whole = rules.part("")
        fields = comparison.difference(whole.of(rules.blank()), whole.of(live), shape).changed
        known = field_managers.first(fields, Who(field_managers.BEFORE, author.version), now)

    def differences_to(new: Object) -> Differences:
        return _differences(kinds, at.resource, there, new, part)

    try:
        done = field_managers.applied(
            Application(given, there, shape, author, now),
            known,
            differences_to,
            is_forced=is_forced,
            may_take=lambda: (
                client_side_migration.free(part.of(live or {}), shape, author.version)
                if name == client_side_migration.MANAGER
                else {}
            ),
        )
    except extraction.Unfit as error:
        raise errors.BadRequest(f"the applied document does not fit the kind {at.resource.kind}: {error}") from None
    except field_managers.Clash as clash:
        told = conflicts.causes(clash.found)
        raise errors.Conflict(conflicts.message(told), Details(causes=tuple(told))) from None
    new = part.put(live or {"metadata": {}}, done.object)
    return Applied(client_side_migration.noted(new, document) if name == client_side_migration.MANAGER else new, done.entries)


def _differences(kinds: Kinds, form: Resource, old: Object, new: Object, part: Part) -> Differences:
    """What differs between two objects of one version, as each version has it."""
    known: dict[str, Difference | None] = {}

    def at(version: str) -> Difference | None:
        if version not in known:
            served = kinds.catalog.find_kind(*GroupVersion.parse(version), form.kind)
            known[version] = None if served is None else differ(served)
        return known[version]

    def differ(served: Resource) -> Difference:
        before, after = (part.of(_converted(one, form, served)) for one in (old, new))
        return comparison.difference(before, after, kinds.rules(served).shape())

    return at


def _stored(kinds: Kinds, resource: Resource) -> Resource:
    """The version of the resource that is stored."""
    return (kinds.catalog.find_kind(*resource.stored_as) if resource.stored_as is not None else None) or resource


def _converted(object_: Object, form: Resource, wanted: Resource) -> Object:
    if form.group_version_kind == wanted.group_version_kind or form.is_custom:
        return object_
    if form.stored_as is not None:
        object_ = conversion.stored(form.group_version_kind, object_)
    return object_ if wanted.stored_as is None else conversion.served(wanted.group_version_kind, object_)
