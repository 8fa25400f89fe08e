"""What a controller's action becomes in the store: a plan, made of the action and of the object as it is.

An action was decided on an item. If the object has changed since, the decision may be wrong, so every plan is for the very revision
that the item was found at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate.api import deletion as api_deletion
from probate.api.catalog import Resource
from probate.api.deletion import Policy, Wish
from probate.api.ownership import Action, Conclude, Delete, Describe, Drop, Item, Owner, Release, Unblock
from probate.server.codec import object_codec
from probate.server.objects import deletion as object_deletion
from probate.server.objects.deletion import Plan
from probate.server.storage import index_entries
from probate.store.contract import EmptyRange, Guard, Record, Revision, Txn, Unchanged

Object = dict[str, Any]


class Removals:
    """What most actions are, the plain removal of an object that nothing holds: without reading it again.

    A cascade removes families: what its members have in common is worked out for the first of them.
    """

    def __init__(self, resource_at: Callable[[str], Resource]) -> None:
        self._resource_at = resource_at
        self._folder = ""
        self._is_plain = False
        self._owners: list[Owner] | None = None
        self._ranges: list[str] = []
        self._given: tuple[Item, ...] = ()
        self._guards: tuple[Guard, ...] = ()

    def plan(self, action: Action) -> Txn | None:
        """The removal; None if the action is something else, or the object has to be read for it."""
        if type(action) is Release:
            return self._release(action.item)
        if type(action) is not Delete or action.policy is not Policy.BACKGROUND:
            return None
        where, meta = action.item.where, action.item.meta
        if not self._folder or not where.startswith(self._folder) or "/" in where[len(self._folder) :]:
            self._enter(where)
        if not self._is_plain or meta.deletion_timestamp is not None or meta.finalizers:
            return None
        if meta.owner_references != self._owners:
            self._owners = meta.owner_references
            self._ranges = index_entries.ranges(where, meta.owner_references)
        if action.given is not self._given:
            self._given, self._guards = action.given, _given(action)
        leave = tuple([range_ + where for range_ in self._ranges])
        return Txn(where, None, Revision(action.item.revision), (), leave, self._guards)

    def _release(self, item: Item) -> Txn | None:
        """The removal of an owner that only the collector's finalizers hold."""
        meta = item.meta
        if not api_deletion.COLLECTORS.issuperset(meta.finalizers) or not object_deletion.is_plain(self._resource_at(item.where)):
            return None
        return Txn(
            item.where, None, Revision(item.revision), (), tuple(index_entries.entries(item.where, meta)), (_released(item),)
        )

    def _enter(self, where: str) -> None:
        self._folder = where[: where.rindex("/") + 1]
        self._is_plain = object_deletion.is_plain(self._resource_at(where))
        self._owners = None


def plan(action: Action, now: Record | None, resource: Resource, moment: float, *, is_held: bool = False) -> Plan | None:
    """The plan of an action; None if its object is not the one it was decided on. `is_held` is as in `deletions.plan`."""
    if now is None or now.revision != action.item.revision:
        return None
    meta = action.item.meta
    if isinstance(action, Delete):
        return object_deletion.plan(resource, now, meta, Wish(action.policy), moment, _given(action), is_held=is_held)
    object_ = object_codec.loaded(now, resource)
    if isinstance(action, Release):
        return _release(action.item, now, resource, object_, is_held=is_held)
    if isinstance(action, Describe):
        return object_deletion.change(now, meta, {**object_, "status": action.status})
    if isinstance(action, Conclude):
        return object_deletion.held(now) if is_held else _conclude(action, now, resource, object_)
    references = _without(object_, action) if isinstance(action, Drop) else _unblocked(object_, action)
    about = {**object_["metadata"], "ownerReferences": references}
    if not references:
        del about["ownerReferences"]
    return object_deletion.change(now, meta, {**object_, "metadata": about}, _given(action))


def _given(action: Delete | Drop | Unblock) -> tuple[Guard, ...]:
    return tuple(Unchanged(one.where, Revision(one.revision)) for one in action.given)


def _without(object_: Object, action: Drop) -> list[Object]:
    return [one for one in object_["metadata"].get("ownerReferences") or [] if one.get("uid") not in action.uids]


def _unblocked(object_: Object, action: Unblock) -> list[Object]:
    return [
        {**one, "blockOwnerDeletion": False} if one.get("uid") in action.uids and one.get("blockOwnerDeletion") else one
        for one in object_["metadata"].get("ownerReferences") or []
    ]


def _released(item: Item) -> Guard:
    """What must hold for an owner to leave: that nobody blocks it, or refers to it if it leaves its dependents behind."""
    dependents = index_entries.dependents if item.is_orphaning else index_entries.blockers
    return EmptyRange(dependents(item.meta.uid, item.meta.namespace))


def _release(item: Item, now: Record, resource: Resource, object_: Object, *, is_held: bool = False) -> Plan:
    """The collector's finalizer goes, and with the last finalizer the object. A scope that still holds others stays for them."""
    meta, guard = item.meta, _released(item)
    finalizers = [one for one in meta.finalizers if one not in api_deletion.COLLECTORS]
    about = {**object_["metadata"], "finalizers": finalizers}
    if not finalizers:
        del about["finalizers"]
    new = {**object_, "metadata": about}
    if is_held or not object_deletion.is_released(resource, new):
        return object_deletion.change(now, meta, new, (guard,))
    content = object_deletion.guards_of_removal(resource, new)
    otherwise = object_deletion.change(now, meta, new, (guard,)) if content else None
    return object_deletion.removal(now, meta, (guard, *content), otherwise)


def _conclude(action: Conclude, now: Record, resource: Resource, object_: Object) -> Plan:
    """What holds an object for its content goes, and with the last of all that holds it the object: if it has no content."""
    new = object_deletion.without_content(resource, {**object_, "status": action.status})
    guards = object_deletion.guards_of_removal(resource, new)
    if object_deletion.is_released(resource, new):
        return object_deletion.removal(now, action.item.meta, guards)
    return object_deletion.change(now, action.item.meta, new, guards)
