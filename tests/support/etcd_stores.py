"""Helpers for tests of the etcd engine: stores that are closed afterwards, waiting for a condition, collecting events."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from probate.core.clock import Clock, SystemClock
from probate.store.contract import CommitResult, Event, FailedGuards, Revision
from probate.store.etcd.rpc.address import EtcdAddress, TlsFiles
from probate.store.etcd.store import EtcdStore, Timeouts, open_etcd

SHORT_TIMEOUTS = Timeouts(connect=5.0, read=1.5, write=3.0)
TIMEOUT_SECONDS = 30.0


@asynccontextmanager
async def open_store(
    *endpoints: str,
    root: str = "tests",
    timeouts: Timeouts = SHORT_TIMEOUTS,
    tls: TlsFiles | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[EtcdStore]:
    """Yields a store with its own process id, and closes it afterwards."""
    address = EtcdAddress(endpoints, root, tls)
    store = await open_etcd(address, clock=clock or SystemClock(), process=str(uuid.uuid4()), timeouts=timeouts)
    try:
        yield store
    finally:
        await store.close()


async def committed_revision(commit: Awaitable[CommitResult]) -> Revision:
    """Returns the revision of a commit whose guards must hold."""
    result = await commit
    assert not isinstance(result, FailedGuards), result
    return result


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits until the condition holds: a real process needs some time."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await condition():  # noqa: ASYNC110 - the condition depends on another process
            await asyncio.sleep(0.01)


async def collect_events(store: EtcdStore, *, after: Revision, upto: Revision) -> list[Event]:
    """Returns all changes of objects after revision `after`, up to `upto`."""
    collected: list[Event] = []
    async with asyncio.timeout(TIMEOUT_SECONDS), store.watch("objects/", after=after) as watch:
        async for events in watch:
            collected += events
            if collected[-1].revision >= upto:
                break
    return collected
