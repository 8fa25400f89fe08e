"""What a write does to who owns what.

An update takes: whoever changes a field owns it, and nobody else does. An apply asks: a field that somebody else owns is not
changed unless that is forced; what the manager applied before and does not any more goes, if nobody else owns it; and several may
own a field as long as they want the same. Both are decided here from the objects before and after, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import orjson

from probate.api.apply import comparison, extraction, field_sets, managed_fields, merge, removal
from probate.api.apply.comparison import Difference
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.managed_fields import APPLY, UPDATE, Entry, Who
from probate.api.apply.schema_shapes import Shape

Object: TypeAlias = dict[str, Any]

BEFORE = "before-first-apply"
"""Who owns what was there before anybody noted who owned it."""


class Clash(Exception):
    """Fields that others own, each with its owner's entry."""

    def __init__(self, found: list[tuple[Entry, FieldSet]]) -> None:
        super().__init__(found)
        self.found = found


class Applied(NamedTuple):
    """The object after an apply, and who owns what of it."""

    object: Object
    entries: list[Entry]


Differences: TypeAlias = Callable[[str], Difference | None]
"""What a write changes, as objects of this version have it; None if there is no such version any more."""


def updated(known: list[Entry], differences: Differences, who: Who, now: str) -> list[Entry]:
    """The entries after an update by this manager. The same list if nothing changes."""
    own = differences(who.version) or comparison.NONE
    if not own.changed and not own.removed:
        return known
    left = [kept for entry in known if (kept := _less(entry, differences)) is not None]
    if own.changed:
        before = next((entry for entry in left if managed_fields.is_of(entry, who, UPDATE)), None)
        fields = own.changed if before is None else field_sets.union(before["fieldsV1"], own.changed)
        left = [entry for entry in left if entry is not before] + [managed_fields.made(who, UPDATE, fields, now)]
    return managed_fields.ordered(managed_fields.capped(left))


def _less(entry: Entry, differences: Differences) -> Entry | None:
    """The entry less what was changed or removed; None if nothing is left."""
    difference = differences(entry["apiVersion"])
    if difference is None:
        return None
    fields = entry["fieldsV1"]
    left = field_sets.difference(field_sets.difference(fields, difference.changed), difference.removed)
    if left == fields:
        return entry
    return managed_fields.with_fields(entry, left) if left else None


def first(fields: FieldSet | orjson.Fragment, who: Who, now: str) -> list[Entry]:
    """The entries of an object that nobody has written before: whoever creates it owns what is in it."""
    return [managed_fields.made(who, UPDATE, fields, now)] if fields else []


class Application(NamedTuple):
    """A document that somebody applies to an object; what is never owned is in neither."""

    document: Object
    live: Object
    shape: Shape
    who: Who
    now: str


def applied(
    wish: Application,
    known: list[Entry],
    differences_to: Callable[[Object], Differences],
    *,
    is_forced: bool,
    may_take: Callable[[], FieldSet] = dict,
) -> Applied:
    """What an apply makes of the object and its entries. `Unfit` if the document is wrong, `Clash` if others own what it changes.

    `may_take` are fields that may be taken from others without force.
    """
    shape, live = wish.shape, wish.live
    fields = extraction.fields_of(wish.document, shape)
    own = next((entry for entry in known if managed_fields.is_of(entry, wish.who, APPLY)), None)
    others = [entry for entry in known if entry is not own]
    new = _merged(wish, fields, own, others)
    has_changed = new != live
    if has_changed:
        differences = differences_to(new)
        if not is_forced:
            _check(others, differences, may_take)
        others = [kept for entry in others if (kept := _less(entry, differences)) is not None]
    if fields:
        time = wish.now if has_changed else (own or {}).get("time", "")
        others.append(managed_fields.made(wish.who, APPLY, fields, time))
    return Applied(new, managed_fields.ordered(others))


def _merged(wish: Application, fields: FieldSet, own: Entry | None, others: list[Entry]) -> Object:
    new = merge.merged(wish.live, wish.document, wish.shape)
    if own is None:
        return new
    owned = fields
    for entry in others:
        owned = field_sets.union(owned, entry["fieldsV1"])
    left = removal.abandoned(new, own["fieldsV1"], owned, wish.shape)
    return left if left.get("metadata") else {**left, "metadata": {}}


def _check(others: list[Entry], differences: Differences, may_take: Callable[[], FieldSet]) -> None:
    found = []
    for entry in others:
        difference = differences(entry["apiVersion"])
        if difference is not None and (wanted := field_sets.intersection(entry["fieldsV1"], difference.changed)):
            found.append((entry, wanted))
    if found and (free := may_take()):
        found = [(entry, left) for entry, wanted in found if (left := field_sets.difference(wanted, free))]
    if found:
        raise Clash(found)
