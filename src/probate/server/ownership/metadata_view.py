"""Translates store records for controllers: objects to Items, changes to ChangedKeys, owner references to owner states."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import msgspec

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.api.object_keys import NO_KEY, Key
from probate.api.ownership import ChangedKeys, Item, OwnerReference, OwnerState, ResolvedOwner
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import keys
from probate.store.contract import Batch, Record

_BY_FOLDER = "changed keys by folder"


def item_of(record: Record) -> Item:
    """Returns the ownership metadata of a stored object."""
    meta = object_codec.meta(record.value)
    item = Item(Key(record.key), record.revision, meta)
    if meta.deletion_timestamp is None:
        return item
    waits_for_dependents = item.is_waiting or item.is_orphaning
    if waits_for_dependents and object_codec.is_unobserved(record.value):
        return msgspec.structs.replace(item, is_lagging=True)
    return item


async def changed_keys(watch: AsyncIterator[Batch]) -> AsyncGenerator[list[ChangedKeys], None]:
    """Yields the changed keys of each batch."""
    async for batch in watch:
        yield group_by_folder(batch)


def group_by_folder(batch: Batch) -> list[ChangedKeys]:
    """Groups the keys of a batch by resource and namespace. Cached in the batch, because several watchers need it."""
    result: list[ChangedKeys] | None = batch.cache.get(_BY_FOLDER)
    if result is None:
        result = batch.cache[_BY_FOLDER] = _group(batch)
    return result


def _group(batch: Batch) -> list[ChangedKeys]:
    folders: dict[str, list[Key]] = {}
    for event in batch:
        key = Key(event.key)
        folders.setdefault(key[: key.rindex("/")], []).append(key)
    return [_changed_key(folder, keys) for folder, keys in folders.items()]


def _changed_key(folder: str, keys: list[Key]) -> ChangedKeys:
    _, resource, namespace = folder.split("/", 2)
    return ChangedKeys(resource, "" if namespace == object_keys.NO_NAMESPACE else namespace, keys)


def owner_key(item: Item, owner: OwnerReference, kind: Resource | None) -> Key:
    """Returns the key that the owner must have. Empty if its kind is not served, or if no object can have such a key."""
    if kind is None or _is_unresolvable(item, kind):
        return NO_KEY
    key = storage_keys.object_key(kind, item.meta.namespace if kind.is_namespaced else "", owner.name)
    return key if "/" not in owner.name and keys.is_valid(key) else NO_KEY


def _is_unresolvable(item: Item, kind: Resource) -> bool:
    return kind.is_namespaced and not item.meta.namespace


def owner_state(item: Item, owner: OwnerReference, kind: Resource | None, *, found: Item | None) -> ResolvedOwner:
    """Returns the state of an owner, given the item at the key that the owner must have."""
    if kind is None:
        return ResolvedOwner(OwnerState.UNKNOWN)
    if _is_unresolvable(item, kind):
        return ResolvedOwner(OwnerState.UNRESOLVABLE)
    if found is None or found.meta.uid != owner.uid:
        return ResolvedOwner(OwnerState.DANGLING)
    return ResolvedOwner(OwnerState.WAITING if found.is_waiting else OwnerState.SOLID, found)
