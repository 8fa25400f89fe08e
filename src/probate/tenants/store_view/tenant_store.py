"""TenantStore: the store as one tenant sees it. Implements `store.contract.Store` on top of the physical store.

Whatever uses a store works in the tenant's names without knowing it: the keys, values, guards and index entries of each call are
converted, and what does not belong to the tenant is absent, whether it exists or not. Objects that the platform shares are there
and cannot be changed.

`store` adds an index entry for each object of a tenant (`api.tenants`): lists of volumes and CRDs, and of everything, read that
index. `kinds` returns the kinds that the tenant is served, in the tenant's names; as long as there is no such catalog, the built-in
ones. The physical store is neither closed nor compacted by a tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager

import msgspec

from probate.api import object_keys
from probate.api.catalog import Catalog
from probate.api.gvk import GroupResource
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.store import argument_checks, keys
from probate.store.contract import (
    CommitResult,
    EmptyRange,
    FailedGuards,
    Limits,
    Page,
    ReadResult,
    Record,
    Revision,
    Store,
    Txn,
    UnchangedSince,
    Watch,
)
from probate.store.damaged_objects import DamagedObjects
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.ranges.range_factory import RangeFactory
from probate.tenants.store_view.ranges.tenant_range import TenantRange
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.store_view.record_reader import RecordReader
from probate.tenants.store_view.tenant_damage import DamagedObjectsOfTenant
from probate.tenants.store_view.tenant_platform import TenantPlatform
from probate.tenants.store_view.tenant_watch import TenantWatch
from probate.tenants.store_view.txn_converter import PhysicalTxn, Settled, TxnConverter
from probate.tenants.view.object_conversion import API_SERVICES, CRDS

EXTRA_KEY_BYTES = 24
"""By how much a physical key can be longer than the tenant's: the prefix in the group, in the namespace and in the name."""


class TenantStore:
    """The view of one tenant. `platform` is common to all tenants of the server."""

    def __init__(
        self, store: Store, tenant: str, platform: PlatformObjects, *, kinds: Callable[[], Catalog] = catalog.load
    ) -> None:
        self.tenant = tenant
        self._store = store
        self._platform = platform
        self._kinds = kinds
        self._error: errors.ProbateError | None = None
        self._watches: dict[TenantWatch, None] = {}
        self._converter = self._new_converter()
        self._damaged_objects = DamagedObjectsOfTenant(store, lambda: self._current)
        physical = store.limits
        self.limits: Limits = msgspec.structs.replace(
            physical, key_bytes=physical.key_bytes - EXTRA_KEY_BYTES, page_size=physical.page_size // 2
        )
        platform.add_listener(self._on_crds_changed)

    # Reads

    @property
    def damaged_objects(self) -> DamagedObjects:
        return self._damaged_objects

    async def revision(self) -> Revision:
        self._check_is_open()
        return await self._store.revision()

    def confirmed_revision(self) -> Revision | None:
        return None if self._error is not None else self._store.confirmed_revision()

    def unchanged_since(self, prefix: str) -> UnchangedSince | None:
        argument_checks.check_watch(prefix)
        unchanged = self._store.unchanged_since(self._range(prefix).physical)
        crds_since = self._platform.snapshot.records(CRDS).since
        if unchanged is None or unchanged.since >= crds_since:
            return unchanged
        return UnchangedSince(min(crds_since, unchanged.now), unchanged.now)

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        keys.check_key(key)
        argument_checks.check_at(key, at)
        self._check_keys([key])
        return await self._reader().read(key, at)

    async def read_many(self, requested_keys: Sequence[str]) -> list[ReadResult]:
        argument_checks.check_read_many(requested_keys, self.limits)
        self._check_keys(requested_keys)
        return await self._reader().read_many(requested_keys)

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        argument_checks.check_scan(prefix, after, limit, limits=self.limits)
        argument_checks.check_at(prefix, at)
        self._check_keys([after])
        return await self._reader().page(await self._range(prefix).slice_(after, limit, at))

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        argument_checks.check_scan_many(prefixes, limit, self.limits)
        return [await self.scan(prefix, limit=limit) for prefix in prefixes]

    async def nonempty_ranges(self, prefixes: Sequence[str]) -> set[str]:
        argument_checks.check_scan_many(prefixes, 1, self.limits)
        ranges = {prefix: self._range(prefix) for prefix in prefixes}
        exact = {prefix: range_.physical for prefix, range_ in ranges.items() if range_.is_exact}
        filled = await self._store.nonempty_ranges(list(exact.values())) if exact else set()
        others = [prefix for prefix, range_ in ranges.items() if not range_.is_exact and (await range_.slice_("", 1, None)).found]
        return {*others, *(prefix for prefix, physical in exact.items() if physical in filled)}

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        argument_checks.check_scan(prefix, after, 1, limits=self.limits)
        argument_checks.check_at(prefix, at)
        self._check_keys([after])
        return await self._range(prefix).count(after, at)

    async def child_prefixes(self, prefix: str) -> list[str]:
        keys.check_prefix(prefix)
        return await self._range(prefix).child_prefixes(prefix)

    def _reader(self) -> RecordReader:
        return RecordReader(self._store, self._current)

    # Writes

    async def commit(self, txn: Txn) -> CommitResult:
        argument_checks.check_txn(txn, self.limits)
        [ready] = await self._physical_txns([txn])
        return ready if isinstance(ready, FailedGuards) else ready.outcome(await self._store.commit(ready.txn))

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        copy = tuple(txns)
        argument_checks.check_txns(copy, self.limits)
        ready = await self._physical_txns(copy)
        outcomes = iter(await self._store.commit_many([one.txn for one in ready if isinstance(one, PhysicalTxn)]))
        return [one.outcome(next(outcomes)) if isinstance(one, PhysicalTxn) else one for one in ready]

    async def _physical_txns(self, txns: Sequence[Txn]) -> list[Settled]:
        self._check_keys([key for txn in txns for key in (txn.key, *txn.add_entries, *txn.remove_entries)])
        self._check_keys([guard.key for txn in txns for guard in txn.guards if not isinstance(guard, EmptyRange)])
        ranges = RangeFactory(self._store, self._current, self._platform)
        return await TxnConverter(self._store, self._current, ranges).convert(txns)

    # Watches

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        argument_checks.check_watch(prefix)
        opening = self._store.watch(self._range(prefix).physical, after=after)
        return TenantWatch(prefix, opening, converter=lambda: self._current, open_watches=self._watches)

    # The store as a whole

    async def compact(self, before: Revision) -> None:
        raise _refusal(f"compact the store to revision {before}")

    async def record_time(self, now: float) -> None:
        raise _refusal(f"record the time {now}")

    async def revision_at(self, time: float) -> Revision | None:
        self._check_is_open()
        return await self._store.revision_at(time)

    async def check(self) -> None:
        self._check_is_open()
        await self._store.check()

    # The life of the view

    def end(self, error: errors.ProbateError) -> None:
        """Ends all watches with this error, and makes every later call raise it: the tenant is gone, or its context was dropped."""
        if self._error is None:
            self._error = error
            self._platform.remove_listener(self._on_crds_changed)
            for watch in tuple(self._watches):
                watch.end(error)

    async def close(self) -> None:
        """Ends the view. The physical store stays open."""
        self.end(errors.StoreUnavailable("the store is closed"))

    def _check_is_open(self) -> None:
        if self._error is not None:
            raise self._error

    def _check_keys(self, checked: Sequence[str]) -> None:
        """Raises `InvalidKey` for a key whose physical form may be too long."""
        self._check_is_open()
        for key in checked:
            if len(key) * 4 > self.limits.key_bytes and len(key.encode(errors="replace")) > self.limits.key_bytes:
                raise errors.InvalidKey(
                    f"the key {key[:80]!r}... is too long: a tenant's key has at most {self.limits.key_bytes:,} bytes"
                )

    @property
    def converter(self) -> RecordConverter:
        """The conversion between the views, as of now. Raises the error that ended the view."""
        return self._current

    @property
    def _current(self) -> RecordConverter:
        """The converter of the newest snapshot and catalog. Raises the error that ended the view."""
        self._check_is_open()
        platform = self._converter.platform
        if platform.snapshot is not self._platform.snapshot or platform.catalog is not self._kinds():
            self._converter = self._new_converter()
        return self._converter

    def _new_converter(self) -> RecordConverter:
        platform = TenantPlatform(self._platform.snapshot, self._kinds())
        return RecordConverter(self.tenant, platform, self._platform.conversion_failures)

    def _range(self, prefix: str) -> TenantRange:
        if keys.is_partial(prefix):
            raise errors.InvalidKey(
                f"{prefix!r} is a range of a tenant's objects, and a tenant has no tenants: name whole segments"
            )
        self._check_keys([prefix])
        return RangeFactory(self._store, self._current, self._platform).range_of(prefix)

    def _on_crds_changed(self, resources: Collection[GroupResource]) -> None:
        """Ends the watches of ranges that now are other ranges of the physical store."""
        changed = {*map(object_keys.resource_range, (*resources, API_SERVICES)), object_keys.OBJECTS}
        for watch in tuple(self._watches):
            if "/".join(watch.prefix.split("/")[:2]) + "/" in changed or watch.prefix == object_keys.OBJECTS:
                watch.end(errors.Gone("what the platform shares has changed. List again, and watch from there"))


def _refusal(action: str) -> errors.Forbidden:
    return errors.Forbidden(f"a tenant cannot {action}: it has no store of its own. Administrators can")
