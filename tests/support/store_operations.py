"""What tests of a store do again and again: commit and insist, list a range, take events from a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from probate.store import contract, paging
from probate.store.contract import Event, Guard, Record, Revision, Store, Txn, Watch

PATIENCE = 30.0
"""Seconds after which a wait has failed. Nothing waits this long unless something is broken."""


async def commit(store: Store, txn: Txn) -> Revision:
    """Commit what must not be refused."""
    outcome = await store.commit(txn)
    assert not isinstance(outcome, contract.Refused), f"refused by {outcome.failed}"
    return outcome


async def refused(store: Store, txn: Txn) -> tuple[Guard, ...]:
    """Commit what must be refused, and say by which guards."""
    outcome = await store.commit(txn)
    assert isinstance(outcome, contract.Refused), f"committed as {outcome}"
    return outcome.failed


async def create(store: Store, key: str, value: bytes = b"1") -> Revision:
    return await commit(store, contract.create(key, value))


async def update(store: Store, key: str, value: bytes, revision: Revision) -> Revision:
    return await commit(store, contract.update(key, value, revision=revision))


async def delete(store: Store, key: str, revision: Revision) -> Revision:
    return await commit(store, contract.delete(key, revision=revision))


async def records(store: Store, prefix: str, *, at: Revision | None = None, size: int = 100) -> list[Record]:
    """All of a range, page by page."""
    return [record async for page in paging.pages(store, prefix, size=size, at=at) for record in page.records]


async def names(store: Store, prefix: str) -> list[str]:
    """The keys of a range."""
    return [record.key for record in await records(store, prefix)]


async def values(store: Store, prefix: str, *, at: Revision | None = None) -> dict[str, bytes]:
    return {record.key: record.value for record in await records(store, prefix, at=at)}


async def take(watch: Watch, count: int) -> list[Event]:
    """The next events of a watch: at least `count`, and what came along with the last of them."""
    events: list[Event] = []
    if count:
        async with asyncio.timeout(PATIENCE):
            async for batch in watch:
                assert batch, "a batch holds one or more events"
                events += batch
                if len(events) >= count:
                    break
    return events


async def follow(store: Store, prefix: str, *, after: Revision, last: Revision) -> list[Event]:
    """All that a new watch hands out, up to the event with the revision `last`."""
    events: list[Event] = []
    async with store.watch(prefix, after=after) as watch:
        while not events or events[-1].revision < last:
            events += await take(watch, 1)
    return events


async def until(store: Store, condition: Callable[[], bool]) -> None:
    """Ask the store again and again until the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await store.revision()
            await asyncio.sleep(0)


def changes(events: list[Event]) -> list[tuple[str, bytes | None]]:
    """What happened, without when."""
    return [(event.key, event.value) for event in events]
