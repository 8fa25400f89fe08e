"""Roles and bindings as the store has them, kept at hand.

Each of the four resources is listed once and watched from there on, in the very step in which the store makes a change known,
which is before whoever made it is answered. So on SQLite no request is answered by grants that are older than itself. On etcd,
changes by other servers come by its watch, some milliseconds late. When the store cannot confirm that its watches are current
(`Store.confirmed`), requests wait, and are refused after `PATIENCE`: nothing is decided by what may have been taken back since.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson

from probate.api.rbac.grants import GROUP, RESOURCES, Grants
from probate.core import errors
from probate.store import paging
from probate.store.contract import Batch, Record, Store, Watch

PATIENCE = 5.0
"""Seconds that a request waits for grants that are not older than itself."""
RETRY_SECONDS = 1
"""After how long a request that waited in vain may come again."""
LOOK_SECONDS = 0.05
"""After how long who waits looks for themselves."""

log = logging.getLogger(__name__)


class Following:
    """Tells `grants` of all that becomes of roles and bindings."""

    def __init__(self, store: Store, grants: Grants) -> None:
        self._store = store
        self._grants = grants
        self._watches: dict[str, Watch | None] = {f"objects/{resource}.{GROUP}/": None for resource in RESOURCES}
        self._is_live = False
        self._news = asyncio.Event()
        self._keys: dict[str, set[str]] = {prefix: set() for prefix in self._watches}

    def is_current(self) -> bool:
        """Whether all changes are followed as they happen."""
        if not self._is_live:
            self._is_live = all(self._is_followed(prefix, watch) for prefix, watch in self._watches.items())
        return self._is_live and self._store.confirmed() is not None

    def _is_followed(self, prefix: str, watch: Watch | None) -> bool:
        """Whether the watch has come to the present. (From there on nothing comes between a change and its news.)"""
        if watch is None:
            return False
        calm = self._store.calm(prefix)
        reached = self._store.confirmed() if calm is None else calm.since
        return reached is not None and reached <= watch.revision

    async def catch_up(self) -> None:
        """Come back when they are. `StoreUnavailable` if that takes too long: who may do what is not known now."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not self.is_current():
                    self._news.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_SECONDS):
                            await self._news.wait()
        except TimeoutError:
            told = "roles and bindings cannot be read at the moment, so rights cannot be decided. Please try again"
            raise errors.StoreUnavailable(told, errors.Details(retry_after_seconds=RETRY_SECONDS)) from None

    async def run(self, pause: Callable[[], Awaitable[None]]) -> None:
        """Follow all of them. Never returns; after a failure it goes on once `pause` is over."""
        await asyncio.gather(*(self._follow(prefix, pause) for prefix in self._watches))

    async def _follow(self, prefix: str, pause: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await self._follow_once(prefix)
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("roles and bindings are not followed, trying again: %s", error)
            finally:
                self._watches[prefix], self._is_live = None, False
            await pause()

    async def _follow_once(self, prefix: str) -> None:
        revision = await self._store.revision()
        pages = [page async for page in paging.pages(self._store, prefix)]
        self._replace(prefix, [record for page in pages for record in page.records])
        async with self._store.watch(prefix, after=revision) as watch:  # what was listed anew comes again, which does no harm
            watch.hand_to(functools.partial(self._take, prefix))
            self._watches[prefix] = watch
            self._tell()
            async for batch in watch:
                self._take(prefix, batch)
                self._tell()

    def _tell(self) -> None:
        """Those who wait may look, once the watch has gone on to wait too."""
        asyncio.get_running_loop().call_soon(self._news.set)

    def _replace(self, prefix: str, records: list[Record]) -> None:
        there = {record.key for record in records}
        for key in self._keys[prefix] - there:
            self._put(key, None)
        for record in records:
            self._put(record.key, record.value)
        self._keys[prefix] = there

    def _take(self, prefix: str, batch: Batch) -> bool:
        for event in batch:
            self._put(event.key, event.value)
            (self._keys[prefix].discard if event.value is None else self._keys[prefix].add)(event.key)
        return True

    def _put(self, key: str, value: bytes | None) -> None:
        _, resource, namespace, name = key.split("/", 3)
        within = "" if namespace == "-" else namespace
        self._grants.put(resource.partition(".")[0], within, name, None if value is None else orjson.loads(value))
