"""EndableStore: a store of which all watches can be ended at once, while the store underneath goes on.

The watches of a tenant's clients end when the tenant is gone. Each then gets the error as its last event.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Self

from probate.core import errors
from probate.store.contract import Batch, BatchHandler, Revision, Store, Watch


class EndableStore:
    """Implements `store.contract.Store`. Everything but `watch` is the other store's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watches: set[_EndableWatch] = set()
        self._new_error: Callable[[], errors.ApiError] | None = None
        self.limits, self.damaged_objects = store.limits, store.damaged_objects
        self.revision, self.unchanged_since, self.confirmed_revision = (
            store.revision,
            store.unchanged_since,
            store.confirmed_revision,
        )
        self.read, self.read_many, self.scan, self.scan_many = store.read, store.read_many, store.scan, store.scan_many
        self.nonempty_ranges, self.count, self.child_prefixes = store.nonempty_ranges, store.count, store.child_prefixes
        self.commit, self.commit_many = store.commit, store.commit_many
        self.compact, self.record_time, self.revision_at = store.compact, store.record_time, store.revision_at
        self.check, self.close = store.check, store.close

    @asynccontextmanager
    async def watch(self, prefix: str, *, after: Revision) -> AsyncGenerator[Watch, None]:
        if self._new_error is not None:
            raise self._new_error()
        async with self._store.watch(prefix, after=after) as changes:
            watch = _EndableWatch(changes)
            self._watches.add(watch)
            try:
                yield watch
            finally:
                self._watches.discard(watch)

    def end_watches(self, new_error: Callable[[], errors.ApiError]) -> None:
        """Ends all watches, and those that are opened from now on: iterating each raises an error of its own."""
        self._new_error = new_error
        for watch in tuple(self._watches):
            watch.end(new_error())


class _EndableWatch:
    """Implements `store.contract.Watch`."""

    def __init__(self, changes: Watch) -> None:
        self._changes = changes
        self._batches = aiter(changes)
        self._error: errors.ApiError | None = None
        self.wake = changes.wake

    @property
    def revision(self) -> Revision:
        return self._changes.revision

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        batch = await anext(self._batches)
        if self._error is not None:
            raise self._error
        return batch

    def set_handler(self, handler: BatchHandler) -> None:
        self._changes.set_handler(handler)

    def end(self, error: errors.ApiError) -> None:
        self._error = error
        self._changes.set_handler(lambda _: False)  # nothing follows the error
        self._changes.wake()
