"""A range of index entries, which contains those of all tenants and of the platform.

Entries are in the order of the keys that they contain, and between a resource of the tenant and one of the platform with the same
plural this order differs: `jobs.111111-z.com` comes before `jobs.batch`, and `jobs.z.com` after it. So entries are read in runs in
which only this can differ, and each run is sorted.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.store.contract import Record, Revision, Store
from probate.tenants.store_view.ranges.tenant_range import Found, Slice, TenantRange, after_range
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.view import key_conversion


class EntryRange(TenantRange):
    """The tenant's entries of a family, or a part of one. `is_guardable` if the entries are about one uid."""

    def __init__(self, store: Store, prefix: str, converter: RecordConverter) -> None:
        self._store = store
        self._converter = converter
        self._prefix = prefix
        self.physical = converter.physical_key(prefix)
        family, _, about = prefix.partition("/")
        self.is_guardable = bool(about) and family in key_conversion.BY_UID

    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        found: list[Found] = []
        run: list[Record] = []
        position, revision = self._start(after), at
        while True:
            page = await self._store.scan(self.physical, after=position, limit=limit + 1)
            revision = revision or page.revision
            for record in page.records:
                if run and key_conversion.run_of(record.key) != key_conversion.run_of(run[-1].key):
                    found += self._shown(run, after)
                    run = []
                run.append(record)
            if len(found) > limit or not page.has_more:
                found += [] if page.has_more else self._shown(run, after)
                return Slice(found[:limit], revision, len(found) > limit)
            position = page.last_key

    def _shown(self, run: Iterable[Record], after: str) -> list[Found]:
        shown = ((self._converter.own_key(record.key), record) for record in run)
        found = (Found(key, record) for key, record in shown if key is not None and key > after)
        return sorted(found, key=lambda one: one.key)

    def _start(self, after: str) -> str:
        """Returns after which physical key the run of the tenant's key `after` begins."""
        if after.startswith(self._prefix):
            return key_conversion.run_of(self._converter.physical_key(after))
        return after_range(self.physical) if after > self._prefix else ""
