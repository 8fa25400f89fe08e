"""Reads ownership metadata in bulk: items, the states of owners, dependents, and the content of namespaces, kinds and tenants.

The collector's store backend and the ownership API share it. Items are decoded from the metadata alone (`metadata_view`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.api.gvk import GroupResource, GroupVersion
from probate.api.object_keys import Key
from probate.api.ownership import (
    Item,
    KeyPage,
    OwnerReference,
    OwnerState,
    ResolvedOwner,
    Uid,
)
from probate.api.timestamps import format_time
from probate.core.aio import time_slices
from probate.core.clock import Clock
from probate.core.generational_cache import GenerationalCache
from probate.server.kind_registry import KindRegistry
from probate.server.ownership import metadata_view, namespace_content, owner_lookup, tenant_content
from probate.server.storage import index_entries
from probate.store import keys
from probate.store.contract import DamagedRecord, Page, Record, Store

SLICE, SMALL_SLICE = 100, 12
"""Objects that are read before the event loop gets control; few while requests wait."""
MAX_CACHED_ITEMS = 4_000
MAX_CACHED_KINDS = 1_000
"""Kinds named by owner references whose resource is cached. It is bounded since a reference can name anything."""
_RESOURCE = len(keys.OBJECTS)
"""Where the name of the resource begins in a key."""
HIDDEN_KEYS = ("objects/positions.probate.dev/", "objects/events/")
"""Not visible to controllers: the saved position, and Events, which are never collected."""
_NO_ITEMS: Mapping[Key, Item] = {}


class OwnershipReader:
    """Answers questions about ownership from the store's index. `gc.backend.Backend` says what each method promises."""

    def __init__(self, store: Store, kinds: KindRegistry, clock: Clock) -> None:
        self._store = store
        self._served = kinds
        self._clock = clock
        self._catalog = kinds.catalog  # that the next two are of
        self._resources: dict[str, Resource] = {}  # by their name in keys
        self._kinds: dict[tuple[str, str], Resource | None] = {}  # by apiVersion and kind
        self._items: GenerationalCache[Item] = GenerationalCache(MAX_CACHED_ITEMS)  # an item that was read is often deleted next

    def resource_of(self, key: str) -> GroupResource:
        return object_keys.parse_resource(object_keys.resource_in(key))

    async def get_items(self, keys: Sequence[Key]) -> list[Item | None]:
        return (await self._read_items(keys))[0]

    async def _read_items(self, keys: Sequence[Key]) -> tuple[list[Item | None], set[Key]]:
        """Returns the items, and the keys of those that are None because they are damaged.

        Both come from one read: an item that changes between two reads could look absent in the first and sound in the second.
        """
        found: list[Item | None] = []
        damaged: set[Key] = set()
        slice_ = time_slices.slice_size(SLICE, SMALL_SLICE)
        for start in range(0, len(keys), slice_):
            records = await self._store.read_many(keys[start : start + slice_])
            items = [metadata_view.item_of(record) if type(record) is Record else None for record in records]
            found += items
            if self._store.damaged_objects.by_key:
                damaged.update(Key(record.key) for record in records if type(record) is DamagedRecord)
            # An item that is not part of the change feed would never be evicted.
            self._items.update({item.key: item for item in items if item is not None and not item.key.startswith(HIDDEN_KEYS)})
            await time_slices.wait_turn()
        return found, damaged

    async def resolve_owners(
        self, references: Sequence[tuple[Item, OwnerReference]], *, known: Mapping[Key, Item] = _NO_ITEMS
    ) -> list[ResolvedOwner]:
        kinds = [self._resource_of_kind(owner) for _, owner in references]
        keys_ = [metadata_view.owner_key(item, owner, kind) for (item, owner), kind in zip(references, kinds, strict=True)]
        items: dict[Key, Item | None] = {key: known.get(key) for key in keys_ if key}
        for (_, owner), key in zip(references, keys_, strict=True):
            item = items.get(key)
            if item is not None and item.meta.uid != owner.uid:  # the known one may be gone, and another have its name: read it
                items[key] = None
        unread = [key for key, item in items.items() if item is None]
        damaged: set[Key] = set()
        if unread:
            read, damaged = await self._read_items(unread)
            items.update(zip(unread, read, strict=True))
        return [
            metadata_view.owner_state(item, owner, kind, found=items.get(key))
            if key not in damaged
            else ResolvedOwner(OwnerState.UNKNOWN)
            for (item, owner), kind, key in zip(references, kinds, keys_, strict=True)
        ]

    async def find_damaged(self, keys: Sequence[Key]) -> set[Key]:
        if not keys or not self._store.damaged_objects.by_key:  # reading a damaged object makes it known
            return set()
        slices = [keys[start : start + SLICE] for start in range(0, len(keys), SLICE)]
        results = [await self._store.read_many(slice_) for slice_ in slices]
        return {Key(record.key) for records in results for record in records if isinstance(record, DamagedRecord)}

    async def exist_in_other_namespaces(self, references: Sequence[tuple[Item, OwnerReference]]) -> list[bool]:
        return await owner_lookup.are_in_other_namespaces(self._store, self._resource_of_kind, references)

    async def find_waiting(self, uids: Sequence[Uid]) -> list[Item]:
        pages = await self._scan([index_entries.waiting_range(uid) for uid in uids], limit=1)
        return [item for item in await self.get_items([key for page in pages for key in page.keys]) if item is not None]

    async def first_dependents(self, owners: Sequence[Item], *, limit: int) -> list[KeyPage]:
        ranges = [index_entries.dependents_range(owner.meta.uid, owner.meta.namespace) for owner in owners]
        return await self._scan(ranges, limit=limit)

    async def first_cluster_scoped_dependents(self, owner: Item, *, limit: int) -> KeyPage:
        if not owner.meta.namespace:  # they are among its dependents
            return KeyPage([], "")
        return _key_page(await self._store.scan(index_entries.cluster_scoped_dependents_range(owner.meta.uid), limit=limit))

    async def have_dependents(self, owners: Sequence[Item]) -> list[bool]:
        ranges = [index_entries.dependents_range(owner.meta.uid, owner.meta.namespace) for owner in owners]
        filled = await self._filled(ranges)
        return [range_ in filled for range_ in ranges]

    async def _scan(self, ranges: Sequence[str], *, limit: int) -> list[KeyPage]:
        pages: list[KeyPage] = []
        slice_ = time_slices.slice_size(SLICE, SMALL_SLICE)
        for start in range(0, len(ranges), slice_):
            pages += [_key_page(page) for page in await self._store.scan_many(ranges[start : start + slice_], limit=limit)]
            await time_slices.wait_turn()
        return pages

    async def _filled(self, ranges: Sequence[str]) -> set[str]:
        """Returns the ranges that are not empty."""
        filled: set[str] = set()
        slice_ = time_slices.slice_size(SLICE, SMALL_SLICE)
        for start in range(0, len(ranges), slice_):
            filled |= await self._store.nonempty_ranges(ranges[start : start + slice_])
            await time_slices.wait_turn()
        return filled

    async def next_dependents(self, owner: Item, continue_token: str, *, limit: int, are_blocking: bool) -> KeyPage:
        range_ = index_entries.blocking_range if are_blocking else index_entries.dependents_range
        return _key_page(await self._store.scan(range_(owner.meta.uid, owner.meta.namespace), after=continue_token, limit=limit))

    async def have_blocking_dependents(self, owners: Sequence[Item]) -> list[bool]:
        ranges = [index_entries.blocking_range(owner.meta.uid, owner.meta.namespace) for owner in owners]
        filled = await self._filled(ranges)
        return [range_ in filled for range_ in ranges]

    async def list_namespace(self, namespace: str, continue_token: str, *, limit: int, resource: str = "") -> KeyPage:
        return await namespace_content.list_keys(self._store, namespace, continue_token, limit=limit, resource=resource)

    async def list_tenant(
        self, tenant: str, continue_token: str, *, limit: int, resources: Collection[str] = (), but: Collection[str] = ()
    ) -> KeyPage:
        return await tenant_content.list_keys(self._store, tenant, continue_token, limit=limit, resources=resources, but=but)

    async def count_tenant(self, tenant: str) -> Counter[GroupResource]:
        return await tenant_content.count(self._store, tenant)

    async def list_resource(self, resource: str, continue_token: str, *, limit: int) -> KeyPage:
        return await self._page(object_keys.resource_range(resource), continue_token, limit)

    async def list_dependents_of_kind(self, crd: Key) -> list[Key]:
        [record] = await self._store.read_many([crd])
        if not isinstance(record, Record):  # if it is damaged, its kind is unknown: objects that refer to it are left alone
            return []
        await self._served.ensure_served(record, now=format_time(self._clock.now()))
        spec: dict[str, Any] = orjson.loads(record.value)["spec"]
        prefix = index_entries.custom_kind_range(spec["names"]["kind"], spec["group"])
        dependents: list[Key] = []
        continue_token = ""
        while True:
            page = _key_page(await self._store.scan(prefix, after=continue_token, limit=SLICE))
            dependents += page.keys
            continue_token = page.continue_token
            if not continue_token:
                return dependents

    async def list_all(self, continue_token: str, *, limit: int) -> KeyPage:
        page = await self._page("objects/", continue_token, limit)
        return page._replace(keys=[key for key in page.keys if not key.startswith(HIDDEN_KEYS)])

    async def _page(self, prefix: str, continue_token: str, limit: int) -> KeyPage:
        page = await self._store.scan(prefix, after=continue_token, limit=limit)
        return KeyPage([Key(key) for key in page.keys], page.last_key if page.has_more else "")

    def kind_at(self, key: str) -> Resource:
        """Returns the resource of an object, in any served version. A kind that is not served any more gets a generic resource."""
        self._drop_outdated_kinds()
        name = key[_RESOURCE : key.index("/", _RESOURCE)]
        resource = self._resources.get(name)
        if resource is None:
            resource = self._resources[name] = self._find_resource(name, key)
        return resource

    def _find_resource(self, name: str, key: str) -> Resource:
        plural, _, group = name.partition(".")
        for version in self._served.catalog.versions(group):
            resource = self._served.catalog.find(group, version, plural)
            if resource is not None:
                return resource
        return Resource(group, "v1", plural, plural, plural, is_namespaced="/-/" not in key, verbs=())

    def _resource_of_kind(self, owner: OwnerReference) -> Resource | None:
        """Returns the resource that an owner reference names; None if its kind is not served."""
        self._drop_outdated_kinds()
        kind = owner.api_version, owner.kind
        if kind not in self._kinds:
            if len(self._kinds) >= MAX_CACHED_KINDS:
                self._kinds.clear()
            version = GroupVersion.parse(owner.api_version)
            self._kinds[kind] = self._served.catalog.find_kind(version.group, version.version, owner.kind)
        return self._kinds[kind]

    def _drop_outdated_kinds(self) -> None:
        """Clears the caches of kinds when other kinds are served."""
        if self._catalog is not self._served.catalog:
            self._catalog, self._resources, self._kinds = self._served.catalog, {}, {}


_NO_KEYS = KeyPage([])


def _key_page(page: Page) -> KeyPage:
    if not page.records:
        return _NO_KEYS
    return KeyPage(
        index_entries.distinct_object_keys(record.key for record in page.records), page.records[-1].key if page.has_more else ""
    )
