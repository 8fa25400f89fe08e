"""The ranges of a tenant's keys, each as one or more ranges of the physical store.

    PlainRange      a contiguous range: all keys begin alike, and the rest is the same in both views
    FilteredRange   a range that may contain what the tenant does not see: each key is looked at
    EntryRange      the same for index entries
    ListedRange     the tenant's objects of a resource whose names do not begin alike: read through the index of what the tenant has
    SharedRange     the objects of the platform that the tenant sees
    MergedRange     several of these in the order of the tenant's keys

`slice_` reads a range in the tenant's order. What it finds has the tenant's key and the physical record: records are converted once
it is known that they are needed. All objects of a slice are of one revision.
"""

from __future__ import annotations

import abc
from collections.abc import AsyncIterator, Callable, Iterable
from typing import NamedTuple

from probate.store import keys, pagination
from probate.store.contract import DamagedRecord, Page, Record, Revision, Store

ShowKey = Callable[[str], str | None]
"""Returns the tenant's key of a physical one; None if the tenant does not see it."""


class Found(NamedTuple):
    """A key of the tenant, and the physical record."""

    key: str
    record: Record | DamagedRecord


class Slice(NamedTuple):
    """Part of a range in the order of the tenant's keys, as of a revision. `has_more` says whether the range continues."""

    found: list[Found]
    revision: Revision
    has_more: bool


class TenantRange(abc.ABC):
    """A range of a tenant's keys. `physical` is the range of the physical store that contains all of it."""

    physical: str
    is_exact = False
    """Whether the physical range contains nothing else."""
    is_guardable = False
    """Whether a transaction can require that the physical range is empty, instead of the tenant's."""

    @abc.abstractmethod
    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        """Returns what follows the tenant's key `after`: now, or for objects as of a revision."""

    async def count(self, after: str, at: Revision | None) -> int:
        """Returns how many keys follow `after`."""
        total, page = 0, await self.slice_(after, MAX_COUNTED, at)
        while page.has_more:
            total += len(page.found)
            page = await self.slice_(page.found[-1].key, MAX_COUNTED, page.revision if keys.is_object(self.physical) else None)
        return total + len(page.found)

    async def child_prefixes(self, prefix: str) -> list[str]:
        """Returns the prefixes one segment longer than `prefix` under which there are keys: with one look at each."""
        found: list[str] = []
        after = ""
        while (page := await self.slice_(after, 1, None)).found:
            key = page.found[0].key
            child = keys.child_prefix(key, prefix)
            found += [child] if child is not None else []
            after = key if child is None else child + _LAST
        return found


_LAST = "\U0010ffff" * 4
"""Comes after every segment of a key."""
MAX_COUNTED = 1_000
"""Records that are read at once when a range is counted by reading it."""
SCANNED_AT_ONCE = 500


class PlainRange(TenantRange):
    """The keys that begin with `prefix`, and with `physical` in the physical store."""

    is_exact = is_guardable = True

    def __init__(self, store: Store, prefix: str, physical: str) -> None:
        self._store = store
        self.prefix = prefix
        self.physical = physical

    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        return self.converted(await self._store.scan(self.physical, after=self._after(after), limit=limit, at=at))

    async def count(self, after: str, at: Revision | None) -> int:
        return await self._store.count(self.physical, after=self._after(after), at=at)

    async def child_prefixes(self, prefix: str) -> list[str]:
        if len(prefix) < len(self.prefix):
            return [self.prefix] if await self._store.nonempty_ranges([self.physical]) else []
        children = await self._store.child_prefixes(self.physical)
        own = dict.fromkeys(keys.child_prefix(self.prefix + child[len(self.physical) :], prefix) for child in children)
        return [child for child in own if child is not None]

    def converted(self, page: Page) -> Slice:
        """Returns a page of the physical range."""
        skip = len(self.physical)
        return Slice([Found(self.prefix + one.key[skip:], one) for one in _in_order(page)], page.revision, page.has_more)

    def _after(self, after: str) -> str:
        if after.startswith(self.prefix):
            return self.physical + after[len(self.prefix) :]
        return after_range(self.physical) if after > self.prefix else ""


class FilteredRange(TenantRange):
    """The keys of a physical range that `show` shows, in the physical order."""

    def __init__(self, store: Store, physical: str, *, prefix: str, show: ShowKey, convert: Callable[[str], str]) -> None:
        self._store = store
        self.physical = physical
        self.prefix = prefix
        self._show = show
        self._convert = convert

    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        found: list[Found] = []
        position, revision = self._after(after), at
        while True:
            page = await self._store.scan(self.physical, after=position, limit=limit + 1, at=at)
            shown = ((self._show(one.key), one) for one in _in_order(page))
            found += [Found(key, one) for key, one in shown if key is not None]
            revision = page.revision if revision is None else revision
            if len(found) > limit or not page.has_more:
                return Slice(found[:limit], revision, len(found) > limit)
            position, at = page.last_key, page.revision if keys.is_object(self.physical) else None

    def _after(self, after: str) -> str:
        if after.startswith(self.prefix):
            return self._convert(after)
        return after_range(self.physical) if after > self.prefix else ""


class MergedRange(TenantRange):
    """Several ranges of objects. Of two with the same key, the one of the later range is shown."""

    def __init__(self, store: Store, physical: str, parts: Iterable[TenantRange]) -> None:
        self._store = store
        self.physical = physical
        self._parts = tuple(parts)

    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        found: dict[str, Found] = {}
        has_more = False
        for part in self._parts:
            page = await part.slice_(after, limit, at)
            at, has_more = page.revision, has_more or page.has_more
            found.update((one.key, one) for one in page.found)
        in_order = sorted(found.values(), key=lambda one: one.key)
        return Slice(in_order[:limit], at or await self._store.revision(), has_more or len(in_order) > limit)


def after_range(physical: str) -> str:
    """Returns a key after which nothing of a range comes."""
    return f"{keys.range_end(physical)}/-"


def _in_order(page: Page) -> list[Record | DamagedRecord]:
    if not page.damaged_records:
        return page.records  # type: ignore[return-value]
    return sorted([*page.records, *page.damaged_records], key=lambda one: one.key)


async def all_records(store: Store, physical: str, at: Revision) -> AsyncIterator[Record | DamagedRecord]:
    """Yields all objects of a physical range as of a revision."""
    async for page in pagination.pages(store, physical, size=SCANNED_AT_ONCE, at=at):
        for record in _in_order(page):
            yield record
