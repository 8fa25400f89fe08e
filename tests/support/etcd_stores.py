"""What the tests of the etcd engine share: stores that are closed again, and waiting for what has to come."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from probate.core.clock import Clock, SystemClock
from probate.store.contract import Event, Outcome, Refused, Revision
from probate.store.etcd.rpc.address import Address, Tls
from probate.store.etcd.store import EtcdStore, Timeouts, open_etcd

QUICK = Timeouts(connect=5.0, read=1.5, write=3.0)
PATIENCE = 30.0


@asynccontextmanager
async def opened(
    *endpoints: str, root: str = "tests", timeouts: Timeouts = QUICK, tls: Tls | None = None, clock: Clock | None = None
) -> AsyncIterator[EtcdStore]:
    """A store of a process of its own, closed afterwards."""
    where = Address(endpoints, root, tls)
    store = await open_etcd(where, clock=clock or SystemClock(), process=str(uuid.uuid4()), timeouts=timeouts)
    try:
        yield store
    finally:
        await store.close()


async def committed(commit: Awaitable[Outcome]) -> Revision:
    """The revision of a commit that must not be refused."""
    outcome = await commit
    assert not isinstance(outcome, Refused), outcome
    return outcome


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Come back once the condition holds: a real process needs a moment."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 - what is waited for is another process
            await asyncio.sleep(0.01)


async def collect(store: EtcdStore, *, after: Revision, upto: Revision) -> list[Event]:
    """All changes of objects after one revision, up to another."""
    found: list[Event] = []
    async with asyncio.timeout(PATIENCE), store.watch("objects/", after=after) as watch:
        async for events in watch:
            found += events
            if found[-1].revision >= upto:
                break
    return found
