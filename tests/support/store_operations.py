"""Frequent operations of store tests: commits that must succeed or fail, listing a range, reading events from a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from probate.store import contract, pagination
from probate.store.contract import Event, Guard, Record, Revision, Store, Txn, Watch

TIMEOUT_SECONDS = 30.0
"""After this time a wait has failed. Nothing takes this long unless it is broken."""


async def commit(store: Store, txn: Txn) -> Revision:
    """Commits a transaction whose guards must hold."""
    result = await store.commit(txn)
    assert not isinstance(result, contract.FailedGuards), f"guards failed: {result.guards}"
    return result


async def failed_guards(store: Store, txn: Txn) -> tuple[Guard, ...]:
    """Commits a transaction that must fail, and returns the guards that failed."""
    result = await store.commit(txn)
    assert isinstance(result, contract.FailedGuards), f"committed at revision {result}"
    return result.guards


async def create(store: Store, key: str, value: bytes = b"1") -> Revision:
    return await commit(store, contract.create(key, value))


async def update(store: Store, key: str, value: bytes, *, revision: Revision) -> Revision:
    return await commit(store, contract.update(key, value, revision=revision))


async def delete(store: Store, key: str, revision: Revision) -> Revision:
    return await commit(store, contract.delete(key, revision=revision))


async def records(store: Store, prefix: str, *, at: Revision | None = None, size: int = 100) -> list[Record]:
    """Returns all records of a range, reading it page by page."""
    return [record async for page in pagination.pages(store, prefix, size=size, at=at) for record in page.records]


async def list_keys(store: Store, prefix: str) -> list[str]:
    """Returns the keys of a range."""
    return [record.key for record in await records(store, prefix)]


async def values(store: Store, prefix: str, *, at: Revision | None = None) -> dict[str, bytes]:
    return {record.key: record.value for record in await records(store, prefix, at=at)}


async def take_events(watch: Watch, count: int) -> list[Event]:
    """Returns the next events of a watch: at least `count`, plus the rest of the last batch."""
    events: list[Event] = []
    if count:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            async for batch in watch:
                assert batch, "a batch holds one or more events"
                events += batch
                if len(events) >= count:
                    break
    return events


async def collect_events(store: Store, prefix: str, *, after: Revision, last: Revision) -> list[Event]:
    """Opens a watch and returns everything it delivers, up to the event with the revision `last`."""
    events: list[Event] = []
    async with store.watch(prefix, after=after) as watch:
        while not events or events[-1].revision < last:
            events += await take_events(watch, 1)
    return events


async def wait_until(store: Store, condition: Callable[[], bool]) -> None:
    """Queries the store again and again until the condition holds."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not condition():
            await store.revision()
            await asyncio.sleep(0)


def changes(events: list[Event]) -> list[tuple[str, bytes | None]]:
    """Returns the key and the new value of each event."""
    return [(event.key, event.value) for event in events]
