"""What a write does to field ownership.

An update takes ownership: the manager that changes a field owns it, and no other manager does. An apply asks for it: a field that
another manager owns is not changed unless the apply is forced; a field that the manager applied before and now omits is removed,
unless another manager owns it; several managers may own a field while they set the same value. Both are computed from the objects
before and after the write, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import orjson

from probate.api.apply import apply_merge, comparison, extraction, field_sets, managed_fields, removal
from probate.api.apply.comparison import Difference
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.managed_fields import APPLY, UPDATE, Entry, FieldManager
from probate.api.apply.schema_shapes import Shape
from probate.api.objects import Object

BEFORE_FIRST_APPLY = "before-first-apply"
"""The manager of fields that were set before the object had managed fields."""


class Conflicts(Exception):
    """Conflicts of an apply: the entries of other managers, each with the fields that it owns and the apply changes."""

    def __init__(self, conflicts: list[tuple[Entry, FieldSet]]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


class ApplyResult(NamedTuple):
    """The object after an apply, and its managed fields entries."""

    object: Object
    entries: list[Entry]


DifferencesByVersion: TypeAlias = Callable[[str], Difference | None]
"""Returns the fields that a write changes, by API version; None if the version does not exist any more."""


def track_update(entries: list[Entry], differences: DifferencesByVersion, manager: FieldManager, *, now: str) -> list[Entry]:
    """Returns the entries after an update by `manager`: the same list if the update changes no field."""
    difference = differences(manager.version) or comparison.NO_DIFFERENCE
    if not difference.changed and not difference.removed:
        return entries
    remaining = [rest for entry in entries if (rest := _without_difference(entry, differences)) is not None]
    if difference.changed:
        own_entry = next((entry for entry in remaining if managed_fields.matches(entry, manager, UPDATE)), None)
        fields = difference.changed if own_entry is None else field_sets.union(own_entry["fieldsV1"], difference.changed)
        remaining = [entry for entry in remaining if entry is not own_entry] + [
            managed_fields.new_entry(manager, UPDATE, fields, time=now)
        ]
    return managed_fields.sort_entries(managed_fields.cap_update_managers(remaining))


def _without_difference(entry: Entry, differences: DifferencesByVersion) -> Entry | None:
    """Returns the entry without the fields that were changed or removed; None if no field remains."""
    difference = differences(entry["apiVersion"])
    if difference is None:
        return None
    fields = entry["fieldsV1"]
    remaining = field_sets.difference(field_sets.difference(fields, difference.changed), difference.removed)
    if remaining == fields:
        return entry
    return managed_fields.replace_fields(entry, remaining) if remaining else None


def track_create(fields: FieldSet | orjson.Fragment, manager: FieldManager, now: str) -> list[Entry]:
    """Returns the entries of a new object: its creator owns all fields that it sets."""
    return [managed_fields.new_entry(manager, UPDATE, fields, time=now)] if fields else []


class ApplyRequest(NamedTuple):
    """An apply of a document to a live object. Neither holds fields that cannot be owned."""

    document: Object
    live: Object
    shape: Shape
    manager: FieldManager
    now: str


def apply(
    request: ApplyRequest,
    entries: list[Entry],
    differences_to: Callable[[Object], DifferencesByVersion],
    *,
    is_forced: bool,
    transferable: Callable[[], FieldSet] = dict,
) -> ApplyResult:
    """Applies a document to an object and updates the entries.

    Raises `SchemaMismatch` if the document is invalid, and `Conflicts` if it changes fields that other managers own. `transferable`
    returns fields that the apply takes from other managers without force.
    """
    shape, live = request.shape, request.live
    fields = extraction.extract_fields(request.document, shape)
    own_entry = next((entry for entry in entries if managed_fields.matches(entry, request.manager, APPLY)), None)
    other_entries = [entry for entry in entries if entry is not own_entry]
    new = _merge(request, fields, own_entry, other_entries=other_entries)
    has_changed = new != live
    if has_changed:
        differences = differences_to(new)
        if not is_forced:
            _check_conflicts(other_entries, differences, transferable)
        other_entries = [remaining for entry in other_entries if (remaining := _without_difference(entry, differences)) is not None]
    if fields:
        time = request.now if has_changed else (own_entry or {}).get("time", "")
        other_entries.append(managed_fields.new_entry(request.manager, APPLY, fields, time=time))
    return ApplyResult(new, managed_fields.sort_entries(other_entries))


def _merge(request: ApplyRequest, fields: FieldSet, own_entry: Entry | None, *, other_entries: list[Entry]) -> Object:
    new = apply_merge.merge_document(request.live, request.document, request.shape)
    if own_entry is None:
        return new
    owned = fields
    for entry in other_entries:
        owned = field_sets.union(owned, entry["fieldsV1"])
    remaining = removal.remove_abandoned(new, own_entry["fieldsV1"], owned, shape=request.shape)
    return remaining if remaining.get("metadata") else {**remaining, "metadata": {}}


def _check_conflicts(other_entries: list[Entry], differences: DifferencesByVersion, transferable: Callable[[], FieldSet]) -> None:
    conflicts = []
    for entry in other_entries:
        difference = differences(entry["apiVersion"])
        if difference is not None and (shared := field_sets.intersection(entry["fieldsV1"], difference.changed)):
            conflicts.append((entry, shared))
    if conflicts and (taken_over := transferable()):
        conflicts = [(entry, remaining) for entry, shared in conflicts if (remaining := field_sets.difference(shared, taken_over))]
    if conflicts:
        raise Conflicts(conflicts)
