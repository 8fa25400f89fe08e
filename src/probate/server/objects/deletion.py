"""What a delete, or a write to an object that is being deleted, becomes in the store: which transaction, under which guards.

Nothing is written here: `plan` is asked by the verbs for one object and by the collector for thousands. Namespaces and the
definitions of custom kinds hold others, so they go in two steps: they are closed first (marked, so that nothing new gets in), and
they leave only in a transaction that finds them empty.
"""

from __future__ import annotations

from typing import Any

import msgspec

from probate.api import deletion
from probate.api.catalog import Resource
from probate.api.crds import crd_conditions
from probate.api.deletion import Habit, Wish
from probate.api.gvk import GroupResource
from probate.api.ownership import Meta
from probate.api.timestamps import timestamp
from probate.server.codec import object_codec
from probate.server.storage import index_entries, service_claims, storage_keys
from probate.store import contract
from probate.store.contract import EmptyRange, Guard, Record, Txn

Object = dict[str, Any]

PODS = GroupResource("", "pods")
_SPECIAL = frozenset({PODS, storage_keys.NAMESPACES, storage_keys.DEFINITIONS})
CONTENT = "kubernetes"
"""The finalizer in its spec that keeps a namespace for its content."""


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What is to be written, and what the object is then (or was last). `is_half`: marked, and to be removed right after.
    `is_held`: it would be removed if it held no others.

    `otherwise` is the plan if the transaction is refused because something is there that should not be.
    """

    txn: Txn | None
    left: Record
    removes: bool = False
    is_half: bool = False
    is_held: bool = False
    otherwise: Plan | None = None


def plan(
    resource: Resource, now: Record, meta: Meta, wish: Wish, moment: float, guards: tuple[Guard, ...] = (), *, is_held: bool = False
) -> Plan:
    """What deleting the object means. `is_held`: it is a namespace that cannot go yet, as `content` found."""
    habit = deletion.habit(resource.group, resource.version, resource.kind)
    if _is_plain(resource) and not deletion.finalizers_after(meta.finalizers, wish.policy, habit):
        return removal(now, meta, guards)
    made = _plan_with_care(resource, now, meta, wish, habit, moment, guards)
    if not is_held:
        return made
    return held(now) if made.removes else msgspec.structs.replace(made, is_half=False)


def held(now: Record) -> Plan:
    """Nothing is written, since the object has to stay for what it holds."""
    return Plan(None, now, is_held=True)


def removal(now: Record, meta: Meta, guards: tuple[Guard, ...] = (), otherwise: Plan | None = None) -> Plan:
    """The object leaves, with all its entries."""
    leave = [*index_entries.entries(now.key, meta), *service_claims.entries(now.key, now.value)]
    if now.key.startswith(storage_keys.ALL_NAMESPACES):
        leave.append(storage_keys.of_quotas(meta.name))
    txn = contract.delete(now.key, revision=now.revision, leave=leave, guards=guards)
    return Plan(txn, now, removes=True, otherwise=otherwise)


def change(now: Record, old: Meta, new: Object, guards: tuple[Guard, ...] = (), more: tuple[str, ...] = ()) -> Plan:
    """The object is replaced, and its entries with it. `more` are entries that are not about the object."""
    value = object_codec.stored(new)
    if value == now.value:
        return Plan(None, now)
    enter, leave = index_entries.changes(now.key, object_codec.meta(value), old)
    claimed = service_claims.changes(now.key, value, now.value)
    txn = contract.update(
        now.key,
        value,
        revision=now.revision,
        enter=(*enter, *claimed.enter, *more),
        leave=(*leave, *claimed.leave),
        guards=(*guards, *claimed.guards),
    )
    return Plan(txn, Record(now.key, value, now.revision))


def is_released(resource: Resource, object_: Object) -> bool:
    """Whether nothing holds a deleting object any more, so that it goes with the very write that makes it so."""
    meta = object_["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return resource.group_resource != storage_keys.NAMESPACES or not (object_.get("spec") or {}).get("finalizers")


def guards_of_removal(resource: Resource, object_: Object) -> tuple[Guard, ...]:
    """What must hold for the definition of a custom kind to leave: that there are no objects of the kind."""
    if resource.group_resource == storage_keys.DEFINITIONS:
        return (EmptyRange(f"objects/{object_['metadata']['name']}/"),)
    return ()


def without_content(resource: Resource, object_: Object) -> Object:
    """The namespace or definition, no longer kept for its content."""
    part, own = ("spec", CONTENT) if resource.group_resource == storage_keys.NAMESPACES else ("metadata", crd_conditions.FINALIZER)
    about = object_.get(part) or {}
    if own not in (about.get("finalizers") or []):
        return object_
    kept = [one for one in about["finalizers"] if one != own]
    if part == "spec":
        kept = sorted(set(kept))  # as Kubernetes leaves them
    others = {name: value for name, value in about.items() if name != "finalizers"}
    return {**object_, part: {**others, "finalizers": kept} if kept else others}


def is_plain(resource: Resource) -> bool:
    """Whether a delete in the background just removes an object that nothing holds: its metadata are all one has to know of it."""
    return _is_plain(resource) and not service_claims.may_have(resource)


def _is_plain(resource: Resource) -> bool:
    return (resource.group, resource.plural) not in _SPECIAL


def _plan_with_care(
    resource: Resource, now: Record, meta: Meta, wish: Wish, habit: Habit, moment: float, guards: tuple[Guard, ...]
) -> Plan:
    object_ = object_codec.loaded(now, resource)
    closed = _closed(resource, object_, wish, moment)
    if closed is not None:
        return change(now, meta, closed, guards)
    is_pod = resource.group_resource == PODS
    verdict = deletion.decide(object_["metadata"], wish, habit, moment, pod=object_ if is_pod else None)
    if verdict.metadata is not None:
        new = {**object_, "metadata": verdict.metadata}
        made = change(now, meta, new, guards)
        return msgspec.structs.replace(made, is_half=True) if verdict.removes else made
    if not verdict.removes:
        return Plan(None, now)
    content = guards_of_removal(resource, object_)
    otherwise = change(now, meta, _marked(resource, object_, [], moment), guards) if content else None
    return removal(now, meta, (*guards, *content), otherwise)


def _closed(resource: Resource, object_: Object, wish: Wish, moment: float) -> Object | None:
    """The namespace or definition, closed; as it is if it is closed already; None for all that need no closing."""
    meta = object_["metadata"]
    if resource.group_resource == storage_keys.NAMESPACES:
        if "deletionTimestamp" in meta:
            return object_ if (object_.get("spec") or {}).get("finalizers") else None
        finalizers = deletion.finalizers_after(meta.get("finalizers") or [], wish.policy, Habit.BACKGROUND)
        return _marked(resource, object_, finalizers, moment)
    if resource.group_resource == storage_keys.DEFINITIONS and "deletionTimestamp" not in meta:
        stamp = timestamp(moment)
        others = [one for one in meta.get("finalizers") or [] if one != crd_conditions.FINALIZER]
        marked = {**meta, "deletionTimestamp": stamp, "finalizers": [*others, crd_conditions.FINALIZER]}
        why = "the definition is to be deleted: its objects go first"
        status = crd_conditions.mark_terminating(object_.get("status") or {}, crd_conditions.DELETION_PENDING, why, stamp)
        return {**object_, "metadata": marked, "status": status}
    return None


def _marked(resource: Resource, object_: Object, finalizers: list[str], moment: float) -> Object:
    """The namespace or definition as it is while it is being deleted, with these finalizers."""
    meta = {"deletionTimestamp": timestamp(moment), **object_["metadata"], "finalizers": finalizers}
    if not finalizers:
        del meta["finalizers"]
    if resource.group_resource != storage_keys.NAMESPACES:
        return {**object_, "metadata": meta}
    return {**object_, "metadata": meta, "status": {**(object_.get("status") or {}), "phase": "Terminating"}}
