"""ListCache: recent list responses as bytes, each valid until something in its range changes. Fast path of `verbs.list`.

Most ranges are listed often and change rarely. The store reports since which revision a range is unchanged: a list that was read at
or after that revision equals what a new read would return, except for its resourceVersion, which is rewritten. So a cached list
is never older than a fresh one. Tested in tests/unit/server/objects/test_list_cache.py.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections import OrderedDict
from typing import NamedTuple

from probate.store.contract import Revision, UnchangedSince

MAX_BYTES = 24 * 1024 * 1024
"""The size of all cached lists together. A list that takes more than a quarter of it is not cached."""
LARGE_BYTES = 2 * 1024 * 1024
MAX_LARGE = 4
"""How many lists over LARGE_BYTES are read at the same time."""


class ListKey(NamedTuple):
    """A cache key: a kind in one version, a range of keys, and the limit of the request."""

    group: str
    version: str
    kind: str
    prefix: str
    limit: int


class CachedList(NamedTuple):
    """A list as it was at `revision`.

    `last` is the key after which the list continues, or empty; `remaining` counts what follows.
    """

    items: bytes
    revision: Revision
    last: str
    remaining: int | None
    warnings: tuple[str, ...] = ()  # names damaged objects that are not in the list


class ListCache:
    """The cached lists of one server, or of one part of it. Evicts the least recently used list of all parts."""

    def __init__(self, size: int = MAX_BYTES) -> None:
        self._lists = _Lists(size)
        self._part = 0

    def new_part(self) -> ListCache:
        """Returns an empty cache that shares the size with this one, and no list: for the lists of one tenant."""
        part = copy.copy(self)
        part._part = next(self._lists.parts)  # noqa: SLF001 same class
        return part

    def get(self, key: ListKey, unchanged: UnchangedSince | None) -> CachedList | None:
        """Returns the cached list if its range is unchanged since it was read, else None."""
        entry = self._lists.known.get((self._part, key))
        if entry is None or unchanged is None or not unchanged.since <= entry.revision <= unchanged.now:
            return None
        self._lists.known.move_to_end((self._part, key))
        return entry

    def put(self, key: ListKey, cached: CachedList) -> None:
        """Caches a list."""
        self._lists.put((self._part, key), cached)


class _Lists:
    """The lists of all parts, by part and key."""

    def __init__(self, size: int) -> None:
        self.known: OrderedDict[tuple[int, ListKey], CachedList] = OrderedDict()
        self.parts = itertools.count(1)
        self._free_bytes = size
        self._max_list_bytes = size // 4

    def put(self, key: tuple[int, ListKey], cached: CachedList) -> None:
        self._evict(key)
        if len(cached.items) > self._max_list_bytes:
            return
        self.known[key] = cached
        self._free_bytes -= _size(key[1], cached)
        while self._free_bytes < 0:
            self._evict(next(iter(self.known)))

    def _evict(self, key: tuple[int, ListKey]) -> None:
        entry = self.known.pop(key, None)
        if entry is not None:
            self._free_bytes += _size(key[1], entry)


def _size(key: ListKey, cached: CachedList) -> int:
    return len(cached.items) + len(cached.last) + len(key.prefix) + 500  # approximate overhead of an entry


class LargeListLimit:
    """Limits how many large lists are read at the same time, because each holds its items in memory."""

    def __init__(self) -> None:
        self._semaphore = asyncio.Semaphore(MAX_LARGE)

    def begin(self) -> LargeListSlot:
        """Returns the slot of one list, which is acquired once the list is large."""
        return LargeListSlot(self._semaphore)


class LargeListSlot:
    """The slot of one list that is being read."""

    def __init__(self, semaphore: asyncio.Semaphore) -> None:
        self._semaphore = semaphore
        self._size = 0
        self._is_acquired = False

    async def note(self, size: int) -> None:
        """Adds to the bytes that the list has read. Once they exceed LARGE_BYTES, blocks until a slot is free."""
        self._size += size
        if self._size > LARGE_BYTES and not self._is_acquired:
            await self._semaphore.acquire()
            self._is_acquired = True

    def end(self) -> None:
        """Releases the slot."""
        if self._is_acquired:
            self._semaphore.release()
