"""The ranges of resources whose objects can have names without the tenant's prefix: volumes, CRDs, and what the platform shares.

ListedRange reads what the tenant has from its index, so it costs what the tenant has. The index has no history: a past revision is
read by looking at all objects of the resource. So is what was shared at a revision for which `PlatformObjects` cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource
from probate.core import errors
from probate.store.contract import DamagedRecord, ReadResult, Record, Revision, Store
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.ranges.tenant_range import Found, Slice, TenantRange, all_records
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.store_view.shared_objects import Visibility


class ListedRange(TenantRange):
    """The tenant's cluster-scoped objects of a resource, whatever their names are."""

    def __init__(self, store: Store, converter: RecordConverter, resource: GroupResource) -> None:
        self._store = store
        self._converter = converter
        self.physical = object_keys.namespace_range(resource, "")
        self._index = tenants.content_range(converter.tenant)

    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        entries = await self._store.scan(self._index + self.physical, limit=self._store.limits.page_size)
        if entries.has_more or (at is not None and not self._is_unchanged_since(at)):
            return await self._past_slice(after, limit, entries.revision if at is None else at)
        listed = self._in_order(entries.keys, after)
        revision = entries.revision if at is None else at
        return Slice(await self._found(listed[:limit], revision), revision, len(listed) > limit)

    def _is_unchanged_since(self, at: Revision) -> bool:
        """Whether the index, which was just read, is that of a past revision."""
        unchanged = self._store.unchanged_since(self.physical)
        return unchanged is not None and unchanged.since <= at <= unchanged.now

    def _in_order(self, entries: Iterable[str], after: str) -> list[tuple[str, str]]:
        """Returns the tenant's key and the physical key of each object, in the tenant's order."""
        physical_keys = [entry.removeprefix(self._index) for entry in entries]
        listed: dict[str, str] = {}
        for physical in physical_keys:
            key = self._converter.own_key(physical)
            if key is None:
                listed[physical] = physical
            else:
                listed.setdefault(key, physical)
        return sorted((key, physical) for key, physical in listed.items() if key > after)

    async def _found(self, listed: list[tuple[str, str]], at: Revision) -> list[Found]:
        results = await self._store.read_many([physical for _, physical in listed]) if listed else []
        found: list[Found] = []
        for (key, physical), result in zip(listed, results, strict=True):
            record = await self._as_of(physical, result, at)
            if record is not None and (key != physical or isinstance(record, DamagedRecord) or self._is_own(record)):
                found.append(Found(key, record))
        return found

    async def _as_of(self, key: str, result: ReadResult, at: Revision) -> ReadResult:
        """Returns the record as of the revision of the list, although it may have changed since."""
        if result is not None and result.revision <= at:
            return result
        try:
            return await self._store.read(key, at=at)
        except errors.DamagedObject as error:
            return DamagedRecord(key, Revision(error.revision), str(error))

    async def _past_slice(self, after: str, limit: int, at: Revision) -> Slice:
        found: dict[str, Found] = {}
        async for record in all_records(self._store, self.physical, at):
            own = self._converter.own_key(record.key)
            key = own if own is not None else record.key if self._is_own(record) else None
            if key is not None and key > after and (own is None or key not in found):
                found[key] = Found(key, record)
        in_order = sorted(found.values(), key=lambda one: one.key)
        return Slice(in_order[:limit], at, len(in_order) > limit)

    def _is_own(self, record: Record | DamagedRecord) -> bool:
        return isinstance(record, Record) and self._converter.visibility(record.key, record.value) == Visibility.OWN


class SharedRange(TenantRange):
    """The objects of a resource that the platform shares."""

    def __init__(self, store: Store, converter: RecordConverter, resource: GroupResource, *, platform: PlatformObjects) -> None:
        self._store = store
        self._converter = converter
        self._resource = resource
        self._platform = platform
        self.physical = object_keys.namespace_range(resource, "")

    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        at = await self._store.revision() if at is None else at
        known = self._platform.records(self._resource, at)
        records = await self._read(at) if known is None else list(known.values())
        found = sorted((Found(record.key, record) for record in records if record.key > after), key=lambda one: one.key)
        return Slice(found[:limit], at, len(found) > limit)

    async def _read(self, at: Revision) -> list[Record]:
        return [
            record
            async for record in all_records(self._store, self.physical, at)
            if isinstance(record, Record)
            and self._converter.own_key(record.key) is None
            and self._converter.visibility(record.key, record.value) == Visibility.SHARED
        ]
