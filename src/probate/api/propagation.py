"""All the ways to say what becomes of an object's dependents, brought down to one: Orphan, Background, Foreground, or nothing said.

    what the options say                                                  is read as
    propagationPolicy: Orphan | Background | Foreground                   the same
    orphanDependents: true                                                Orphan
    orphanDependents: false                                               Background
    garbageCollectionPolicy: Default, or ""                               nothing said
    garbageCollectionPolicy: Orphan                                       Orphan
    garbageCollectionPolicy: AsynchronousGarbageCollection                Background
    garbageCollectionPolicy: SynchronousGarbageCollection                 Foreground
    deleteAfterDependentsDeleted: true                                    Foreground (400 with orphanDependents: true)
    synchronousGarbageCollection: true and orphanDependents: false        Foreground; without orphanDependents: false, ignored
    either of the last two: false                                         nothing said

Two that are read differently contradict each other, and are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probate.api import field_errors
from probate.api.deletion import Policy
from probate.api.field_errors import Path, Problem
from probate.core import errors

FIELDS: Mapping[str, type] = {
    "propagationPolicy": str,
    "orphanDependents": bool,
    "garbageCollectionPolicy": str,
    "deleteAfterDependentsDeleted": bool,
    "synchronousGarbageCollection": bool,
}
"""The options, and what each must be."""

_OLD_POLICIES: Mapping[str, Policy | None] = {
    "": None,
    "Default": None,
    "Orphan": Policy.ORPHAN,
    "AsynchronousGarbageCollection": Policy.BACKGROUND,
    "SynchronousGarbageCollection": Policy.FOREGROUND,
}


def check(fields: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the options. `BadRequest` for the one pair that was always refused so."""
    if fields.get("deleteAfterDependentsDeleted") and fields.get("orphanDependents"):
        raise errors.BadRequest("deleteAfterDependentsDeleted and orphanDependents cannot be both true. Give one of them")
    return [*_check_values(fields), *_check_agreement(fields)]


def policy(fields: Mapping[str, Any]) -> Policy | None:
    """What the options, which were checked, say in the end."""
    return next((said for _, said in _said(fields)), None)


def _check_values(fields: Mapping[str, Any]) -> Iterator[Problem]:
    path, given = Path("propagationPolicy"), fields.get("propagationPolicy")
    if given is not None and "orphanDependents" in fields:
        yield field_errors.invalid(path, given, "orphanDependents and propagationPolicy cannot be both set")
    elif given is not None and given not in {one.value for one in Policy}:
        yield field_errors.not_supported(path, given, tuple(sorted(one.value for one in Policy)))
    old = fields.get("garbageCollectionPolicy")
    if old is not None and old not in _OLD_POLICIES:
        yield field_errors.not_supported(Path("garbageCollectionPolicy"), old, tuple(filter(None, _OLD_POLICIES)))


def _check_agreement(fields: Mapping[str, Any]) -> Iterator[Problem]:
    said = list(_said(fields))
    for field, meaning in said[1:]:
        if meaning is not said[0][1]:
            why = f"{said[0][0]} says {said[0][1].value}, but {field} says {meaning.value}. Give one of them"
            yield field_errors.invalid(Path(field), fields[field], why)


def _said(fields: Mapping[str, Any]) -> Iterator[tuple[str, Policy]]:
    """Each option that says something, and what."""
    given = fields.get("propagationPolicy")
    if given in {one.value for one in Policy}:
        yield "propagationPolicy", Policy(given)
    orphan = fields.get("orphanDependents")
    waits = fields.get("deleteAfterDependentsDeleted"), fields.get("synchronousGarbageCollection") and orphan is False
    if orphan:
        yield "orphanDependents", Policy.ORPHAN
    elif orphan is False and not any(waits):
        yield "orphanDependents", Policy.BACKGROUND
    old = _OLD_POLICIES.get(fields.get("garbageCollectionPolicy") or "")
    if old is not None:
        yield "garbageCollectionPolicy", old
    for field, is_wanted in zip(("deleteAfterDependentsDeleted", "synchronousGarbageCollection"), waits, strict=True):
        if is_wanted:
            yield field, Policy.FOREGROUND
