"""Reads the propagation policy from DeleteOptions, from its current field or an earlier one.

    options                                                               are read as
    propagationPolicy: Orphan | Background | Foreground                   the same
    orphanDependents: true                                                Orphan
    orphanDependents: false                                               Background
    garbageCollectionPolicy: Default, or ""                               no policy
    garbageCollectionPolicy: Orphan                                       Orphan
    garbageCollectionPolicy: AsynchronousGarbageCollection                Background
    garbageCollectionPolicy: SynchronousGarbageCollection                 Foreground
    deleteAfterDependentsDeleted: true                                    Foreground (400 with orphanDependents: true)
    synchronousGarbageCollection: true and orphanDependents: false        Foreground; without orphanDependents: false, ignored
    either of the last two: false                                         no policy

Two options that mean different policies contradict each other: the request is refused, and the message names both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probate.api import field_errors
from probate.api.deletion import PropagationPolicy
from probate.api.field_errors import FieldError, FieldPath
from probate.core import errors

FIELDS: Mapping[str, type] = {
    "propagationPolicy": str,
    "orphanDependents": bool,
    "garbageCollectionPolicy": str,
    "deleteAfterDependentsDeleted": bool,
    "synchronousGarbageCollection": bool,
}
"""The options, and the type of each."""

_GARBAGE_COLLECTION_POLICIES: Mapping[str, PropagationPolicy | None] = {
    "": None,
    "Default": None,
    "Orphan": PropagationPolicy.ORPHAN,
    "AsynchronousGarbageCollection": PropagationPolicy.BACKGROUND,
    "SynchronousGarbageCollection": PropagationPolicy.FOREGROUND,
}


def validate(options: Mapping[str, Any]) -> list[FieldError]:
    """Returns what is wrong with the options. Raises `BadRequest` for the one pair that Kubernetes refuses with 400."""
    if options.get("deleteAfterDependentsDeleted") and options.get("orphanDependents"):
        raise errors.BadRequest("deleteAfterDependentsDeleted and orphanDependents cannot be both true. Give one of them")
    return [*_validate_values(options), *_validate_agreement(options)]


def policy_of(options: Mapping[str, Any]) -> PropagationPolicy | None:
    """Returns the policy that validated options mean; None if they name none."""
    return next((effective for _, effective in _policies(options)), None)


def _validate_values(options: Mapping[str, Any]) -> Iterator[FieldError]:
    path, value = FieldPath("propagationPolicy"), options.get("propagationPolicy")
    if value is not None and "orphanDependents" in options:
        yield field_errors.invalid(path, value, "orphanDependents and propagationPolicy cannot be both set")
    elif value is not None and value not in {choice.value for choice in PropagationPolicy}:
        yield field_errors.not_supported(path, value, tuple(sorted(choice.value for choice in PropagationPolicy)))
    old = options.get("garbageCollectionPolicy")
    if old is not None and old not in _GARBAGE_COLLECTION_POLICIES:
        yield field_errors.not_supported(
            FieldPath("garbageCollectionPolicy"), old, tuple(filter(None, _GARBAGE_COLLECTION_POLICIES))
        )


def _validate_agreement(options: Mapping[str, Any]) -> Iterator[FieldError]:
    policies = list(_policies(options))
    for field, meaning in policies[1:]:
        first_field, first_meaning = policies[0]
        if meaning is not first_meaning:
            detail = f"{first_field} says {first_meaning.value}, but {field} says {meaning.value}. Give one of them"
            yield field_errors.invalid(FieldPath(field), options[field], detail)


def _policies(options: Mapping[str, Any]) -> Iterator[tuple[str, PropagationPolicy]]:
    """Yields each option that names a policy, and the policy."""
    current = options.get("propagationPolicy")
    if current in {choice.value for choice in PropagationPolicy}:
        yield "propagationPolicy", PropagationPolicy(current)
    orphan = options.get("orphanDependents")
    waits = options.get("deleteAfterDependentsDeleted"), options.get("synchronousGarbageCollection") and orphan is False
    if orphan:
        yield "orphanDependents", PropagationPolicy.ORPHAN
    elif orphan is False and not any(waits):
        yield "orphanDependents", PropagationPolicy.BACKGROUND
    old = _GARBAGE_COLLECTION_POLICIES.get(options.get("garbageCollectionPolicy") or "")
    if old is not None:
        yield "garbageCollectionPolicy", old
    for field, is_set in zip(("deleteAfterDependentsDeleted", "synchronousGarbageCollection"), waits, strict=True):
        if is_set:
            yield field, PropagationPolicy.FOREGROUND
