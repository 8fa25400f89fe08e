"""How controllers see what is stored: an object by its metadata, changes by where they were, an owner by how it stands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import msgspec

from probate.api.catalog import Resource
from probate.api.ownership import Item, Owner, Seen, Standing, Touch
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import keys
from probate.store.contract import Batch, Record

_BY_FOLDER = "touches by folder"


def item_of(record: Record) -> Item:
    """The object as controllers see it."""
    meta = object_codec.meta(record.value)
    item = Item(record.key, record.revision, meta)
    if meta.deletion_timestamp is None:
        return item
    is_leaving = item.is_waiting or item.is_orphaning
    return msgspec.structs.replace(item, is_lagging=True) if is_leaving and object_codec.is_unobserved(record.value) else item


async def touches(watch: AsyncIterator[Batch]) -> AsyncGenerator[list[Touch], None]:
    """Where changes happened."""
    async for happened in watch:
        yield by_folder(happened)


def by_folder(happened: Batch) -> list[Touch]:
    """The changes by where they were. Several follow the same ones, so what one of them finds out is kept for the others."""
    found: list[Touch] | None = happened.made.get(_BY_FOLDER)
    if found is None:
        found = happened.made[_BY_FOLDER] = _sorted(happened)
    return found


def _sorted(happened: Batch) -> list[Touch]:
    folders: dict[str, list[str]] = {}
    for event in happened:
        key = event.key
        folders.setdefault(key[: key.rindex("/")], []).append(key)
    return [_touch(folder, wheres) for folder, wheres in folders.items()]


def _touch(folder: str, wheres: list[str]) -> Touch:
    _, resource, namespace = folder.split("/", 2)
    return Touch(resource, "" if namespace == storage_keys.NO_NAMESPACE else namespace, wheres)


def place(item: Item, owner: Owner, kind: Resource | None) -> str:
    """Where the owner has to be; nothing if that cannot be said, or nothing can be there: references can have any name."""
    if kind is None or _is_out_of_reach(item, kind):
        return ""
    key = storage_keys.of(kind, item.meta.namespace if kind.is_namespaced else "", owner.name)
    return key if "/" not in owner.name and keys.is_sound(key) else ""


def _is_out_of_reach(item: Item, kind: Resource) -> bool:
    return kind.is_namespaced and not item.meta.namespace


def standing(item: Item, owner: Owner, kind: Resource | None, found: Item | None) -> Seen:
    """How the owner stands, if this was found where it has to be."""
    if kind is None:
        return Seen(Standing.UNKNOWN)
    if _is_out_of_reach(item, kind):
        return Seen(Standing.OUT_OF_REACH)
    if found is None or found.meta.uid != owner.uid:
        return Seen(Standing.DANGLING)
    return Seen(Standing.WAITING if found.is_waiting else Standing.SOLID, found)
