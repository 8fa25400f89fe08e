"""Prepares objects of built-in kinds for a create, an update or a status update.

A request sets defaults, runs one of these functions, validates, and then writes. Each function changes the new object in place and
leaves the old one alone; parts of the old object may become parts of the new one. A kind without a strategy of its own gets the
general one.
"""

from __future__ import annotations

import functools

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.kinds import defaults, generation, registry
from probate.kinds.kind import Strategy
from probate.kinds.shared.object_fields import child, ensure_child, restore_fields


@functools.cache
def of(group: str, kind: str) -> Strategy:
    """Returns the strategy of a kind."""
    row = registry.find(group, kind)
    return Strategy() if row is None else row.strategy()


def can_change_new(group: str, kind: str) -> bool:
    """Reports whether `create` can change an object of this kind."""
    strategy = of(group, kind)
    creates = strategy.create or strategy.create_at or strategy.create_named
    return creates is not None or strategy.has_status or strategy.generation_fields is not None


def create(kind: GroupVersionKind, object_: Object, *, uid: str, now: str) -> None:
    """Prepares a new object that has its defaults. `uid` is the one it will have, `now` an RFC 3339 time in seconds."""
    strategy = of(kind.group, kind.kind)
    if strategy.has_status and not strategy.status_on_create:
        object_.pop("status", None)
    generation.initialize(strategy, object_)
    if strategy.create is not None:
        strategy.create(object_)
    if strategy.create_at is not None:
        strategy.create_at(object_, now=now)
    if strategy.create_named is not None:
        strategy.create_named(object_, uid=uid)
    if strategy.has_status:
        # Kubernetes reads back what it has stored, which sets the defaults of fields that this function emptied or added.
        defaults.apply(kind, object_)


def update(kind: GroupVersionKind, new: Object, old: Object) -> None:
    """Prepares a changed object that has its defaults: keeps the status, and advances the generation."""
    strategy = of(kind.group, kind.kind)
    if strategy.has_status:
        restore_fields(new, old, "status")
    if strategy.update is not None:
        strategy.update(new, old)
    generation.advance(strategy, new, old)


def update_status(kind: GroupVersionKind, new: Object, old: Object, *, now: str) -> None:
    """Prepares a status update: only the status changes, and the metadata that the kind allows."""
    strategy = of(kind.group, kind.kind)
    restore_fields(new, old, *((new.keys() | old.keys()) - {"apiVersion", "kind", "metadata", "status"}))
    generation.preserve(new, old)
    if (metadata := ensure_child(new, "metadata")) is not None:
        restore_fields(metadata, child(old, "metadata") or {}, *strategy.metadata_kept_on_status)
    if strategy.update_status is not None:
        strategy.update_status(new, old)
    if strategy.update_status_at is not None:
        strategy.update_status_at(new, old, now=now)
