"""Turns a controller's action into a transaction, guarded by everything that the action was decided on.

An owner is released in a transaction guarded by EmptyRange(blocking dependents), so it never goes before a dependent that blocks
it. Every transaction is for the very revision at which the item was read: if the object has changed since, the decision may be
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from probate.api import deletion as api_deletion
from probate.api.catalog import Resource
from probate.api.deletion import DeletionRequest, PropagationPolicy
from probate.api.object_keys import Key
from probate.api.objects import Object
from probate.api.ownership import (
    Action,
    ClearBlockOwnerDeletion,
    Delete,
    Finalize,
    Item,
    OwnerReference,
    RemoveFinalizer,
    RemoveFinalizers,
    RemoveOwnerReferences,
    UpdateStatus,
)
from probate.server.codec import object_codec
from probate.server.objects import deletion as object_deletion
from probate.server.objects.deletion import DeletionPlan
from probate.server.storage import index_entries
from probate.store.contract import EmptyRange, Guard, Record, Revision, Txn, Unchanged


class PlainRemovals:
    """Fast path: plans the removal of objects that nothing holds, without reading them again. Most actions are that.

    A cascade removes families, and what their members have in common is computed for the first one only. `plan` is the general
    path; tests/property/test_deletion_machine.py checks both against one model.
    """

    def __init__(self, resource_at: Callable[[str], Resource]) -> None:
        self._resource_at = resource_at
        self._folder = ""
        self._is_plain = False
        self._owners: list[OwnerReference] | None = None
        self._ranges: list[str] = []
        self._preconditions: tuple[Item, ...] = ()
        self._guards: tuple[Guard, ...] = ()

    def plan(self, action: Action) -> Txn | None:
        """Returns the transaction; None if the action is not a plain removal, or the object has to be read for it."""
        if type(action) is RemoveFinalizer:
            return self._release(action.item)
        if type(action) is not Delete or action.policy is not PropagationPolicy.BACKGROUND:
            return None
        key, meta = action.item.key, action.item.meta
        if not self._folder or not key.startswith(self._folder) or "/" in key[len(self._folder) :]:
            self._enter_folder(key)
        if not self._is_plain or meta.deletion_timestamp is not None or meta.finalizers:
            return None
        if meta.owner_references != self._owners:
            self._owners = meta.owner_references
            self._ranges = index_entries.owner_ranges(key, meta.owner_references)
        if action.preconditions is not self._preconditions:
            self._preconditions, self._guards = action.preconditions, _precondition_guards(action)
        leave = tuple([range_ + key for range_ in self._ranges])
        return Txn(key, None, Revision(action.item.revision), (), leave, self._guards)

    def _release(self, item: Item) -> Txn | None:
        """Returns the removal of an owner that only the collector's finalizers hold."""
        meta = item.meta
        is_held = not api_deletion.COLLECTOR_FINALIZERS.issuperset(meta.finalizers)
        if is_held or not object_deletion.is_removable_by_metadata(self._resource_at(item.key)):
            return None
        leave = tuple(index_entries.entries_of(item.key, meta))
        return Txn(item.key, None, Revision(item.revision), (), leave, (_release_guard(item),))

    def _enter_folder(self, key: Key) -> None:
        self._folder = key[: key.rindex("/") + 1]
        self._is_plain = object_deletion.is_removable_by_metadata(self._resource_at(key))
        self._owners = None


def plan(action: Action, current: Record | None, resource: Resource, *, now: float, is_held: bool = False) -> DeletionPlan | None:
    """Returns the plan of an action; None if its object has changed or is gone. `is_held`: a namespace or CRD has content."""
    if current is None or current.revision != action.item.revision:
        return None
    meta = action.item.meta
    if isinstance(action, Delete):
        request, guards = DeletionRequest(action.policy), _precondition_guards(action)
        return object_deletion.plan_delete(resource, current, meta, wish=request, now=now, guards=guards, has_content=is_held)
    object_ = object_codec.loaded(current, resource)
    if isinstance(action, RemoveFinalizer):
        return _release(action.item, current, resource, object_=object_, is_held=is_held)
    if isinstance(action, RemoveFinalizers):
        return _remove_finalizers(action, current, resource, object_=object_, is_held=is_held)
    if isinstance(action, UpdateStatus):
        return object_deletion.plan_update(current, meta, {**object_, "status": action.status})
    if isinstance(action, Finalize):
        return (
            object_deletion.plan_blocked_by_content(current) if is_held else _finalize(action, current, resource, object_=object_)
        )
    references = _without(object_, action) if isinstance(action, RemoveOwnerReferences) else _unblocked(object_, action)
    metadata = {**object_["metadata"], "ownerReferences": references}
    if not references:
        del metadata["ownerReferences"]
    return object_deletion.plan_update(current, meta, {**object_, "metadata": metadata}, guards=_precondition_guards(action))


def _precondition_guards(action: Delete | RemoveOwnerReferences | ClearBlockOwnerDeletion | RemoveFinalizers) -> tuple[Guard, ...]:
    return tuple(Unchanged(item.key, Revision(item.revision)) for item in action.preconditions)


def _without(object_: Object, action: RemoveOwnerReferences) -> list[Object]:
    """Returns the object's owner references without those of the action."""
    return [owner for owner in object_["metadata"].get("ownerReferences") or [] if owner.get("uid") not in action.uids]


def _unblocked(object_: Object, action: ClearBlockOwnerDeletion) -> list[Object]:
    """Returns the object's owner references, of which those of the action do not block any more."""
    return [
        {**owner, "blockOwnerDeletion": False} if owner.get("uid") in action.uids and owner.get("blockOwnerDeletion") else owner
        for owner in object_["metadata"].get("ownerReferences") or []
    ]


def _release_guard(item: Item) -> Guard:
    """Returns the guard of a release: no dependent blocks the owner or, if it orphans them, none refers to it."""
    dependents = index_entries.dependents_range if item.is_orphaning else index_entries.blocking_range
    return EmptyRange(dependents(item.meta.uid, item.meta.namespace))


def _release(item: Item, current: Record, resource: Resource, *, object_: Object, is_held: bool = False) -> DeletionPlan:
    """Removes the collector's finalizers, and the object if that were its last. A scope with content stays marked."""
    new = _without_finalizers(object_, api_deletion.COLLECTOR_FINALIZERS)
    return _update_or_remove(item, current, resource, new=new, guards=(_release_guard(item),), is_held=is_held)


def _remove_finalizers(
    action: RemoveFinalizers, current: Record, resource: Resource, *, object_: Object, is_held: bool
) -> DeletionPlan:
    """Removes finalizers of others, and the object if they were its last. A scope with content stays marked."""
    new = _without_finalizers(object_, action.names)
    return _update_or_remove(action.item, current, resource, new=new, guards=_precondition_guards(action), is_held=is_held)


def _without_finalizers(object_: Object, names: Collection[str]) -> Object:
    finalizers = [finalizer for finalizer in object_["metadata"].get("finalizers") or [] if finalizer not in names]
    metadata = {**object_["metadata"], "finalizers": finalizers}
    if not finalizers:
        del metadata["finalizers"]
    return {**object_, "metadata": metadata}


def _update_or_remove(
    item: Item, current: Record, resource: Resource, *, new: Object, guards: tuple[Guard, ...], is_held: bool
) -> DeletionPlan:
    """Removes the object if nothing holds it any more, and otherwise replaces it."""
    if is_held or not object_deletion.is_ready_for_removal(resource, new):
        return object_deletion.plan_update(current, item.meta, new, guards=guards)
    content = object_deletion.removal_guards(resource, new)
    otherwise = object_deletion.plan_update(current, item.meta, new, guards=guards) if content else None
    return object_deletion.plan_removal(current, item.meta, guards=(*guards, *content), fallback=otherwise)


def _finalize(action: Finalize, current: Record, resource: Resource, *, object_: Object) -> DeletionPlan:
    """Removes what holds the object for its content, and the object if nothing else holds it: guarded by having no content."""
    new = object_deletion.without_content_finalizer(resource, {**object_, "status": action.status})
    guards = object_deletion.removal_guards(resource, new)
    if object_deletion.is_ready_for_removal(resource, new):
        return object_deletion.plan_removal(current, action.item.meta, guards=guards)
    return object_deletion.plan_update(current, action.item.meta, new, guards=guards)
