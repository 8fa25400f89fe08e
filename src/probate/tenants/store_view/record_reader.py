"""Reads single records, and turns what ranges find into pages, for one tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from probate.api import object_keys
from probate.core import errors
from probate.store import damaged_objects, keys
from probate.store.contract import DamagedRecord, Page, ReadResult, Record, Revision, Store
from probate.tenants.store_view import shared_objects
from probate.tenants.store_view.ranges.tenant_range import Slice
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.store_view.shared_objects import Visibility

SLICE_BYTES = 256 * 1024
"""Bytes of values that are converted before other tasks of the event loop run."""


class RecordReader:
    """Reads with one converter."""

    def __init__(self, store: Store, converter: RecordConverter) -> None:
        self._store = store
        self._converter = converter

    async def read(self, key: str, at: Revision | None) -> Record | None:
        """Returns the record of a key now or at a revision. Raises `DamagedObject` in the tenant's terms."""
        results = [await self._read(physical, at) for physical in self._candidates(key)]
        found = self._shown(key, results)
        if isinstance(found, DamagedRecord):
            raise damaged_objects.read_error(found)
        return found

    async def _read(self, physical: str, at: Revision | None) -> ReadResult:
        try:
            return await self._store.read(physical, at=at)
        except errors.DamagedObject as error:
            known = self._store.damaged_objects.by_key.get(physical)
            return known or DamagedRecord(physical, Revision(error.revision), damaged_objects.CHECKSUM)

    async def read_many(self, requested: Sequence[str]) -> list[ReadResult]:
        """Returns the current records of several keys, all as of one revision."""
        candidates = [self._candidates(key) for key in requested]
        results = iter(await self._store.read_many([physical for several in candidates for physical in several]))
        return [self._shown(key, [next(results) for _ in several]) for key, several in zip(requested, candidates, strict=True)]

    def _candidates(self, key: str) -> list[str]:
        return self._converter.candidates(key) if keys.is_object(key) else [self._converter.physical_key(key)]

    def _shown(self, key: str, results: Sequence[ReadResult]) -> ReadResult:
        """Returns the first of the physical records that the tenant sees, converted."""
        for record in results:
            if record is not None and self._is_visible(record):
                return self._converter.shown(key, record)
        return None

    def _is_visible(self, record: Record | DamagedRecord) -> bool:
        if self._converter.own_key(record.key) is not None:
            return True
        if not keys.is_object(record.key) or not shared_objects.is_platform_named(record.key):
            return False
        if isinstance(record, Record):
            return self._converter.visibility(record.key, record.value) != Visibility.HIDDEN
        resource, name = object_keys.parse_resource(object_keys.resource_in(record.key)), object_keys.name_in(record.key)
        return self._converter.platform.is_shared_object(resource, name)

    async def page(self, slice_: Slice) -> Page:
        """Returns a part of a range as a page. Other tasks run in between if it is large."""
        intact: list[Record] = []
        damaged: list[DamagedRecord] = []
        size = 0
        for one in slice_.found:
            if size > SLICE_BYTES:
                size = 0
                await asyncio.sleep(0)
            shown = self._converter.shown(one.key, one.record)
            if isinstance(shown, DamagedRecord):
                damaged.append(shown)
            else:
                intact.append(shown)
                size += len(shown.value)
        return Page(intact, slice_.revision, slice_.has_more, tuple(damaged))
