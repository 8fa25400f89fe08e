"""`close`: all methods raise, watches end, and writes in progress are finished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import FailedGuards, Revision, Store
from support import store_engines
from support import store_operations as steps
from support.store_engines import open_store

KEY = "objects/k/x"

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "revision": lambda store: store.revision(),
    "read": lambda store: store.read(KEY),
    "read at": lambda store: store.read(KEY, at=Revision(1)),
    "read_many": lambda store: store.read_many([KEY]),
    "scan": lambda store: store.scan("objects/", limit=1),
    "scan at": lambda store: store.scan("objects/", limit=1, at=Revision(1)),
    "count": lambda store: store.count("objects/"),
    "folders": lambda store: store.child_prefixes("objects/"),
    "filled": lambda store: store.nonempty_ranges(["objects/"]),
    "commit": lambda store: store.commit(contract.create(KEY, b"")),
    "commit_many": lambda store: store.commit_many([contract.create(KEY, b"")]),
    "watch": lambda store: steps.collect_events(store, "objects/", after=Revision(1), last=contract.NO_REVISION),
    "compact": lambda store: store.compact(Revision(1)),
    "note_time": lambda store: store.record_time(0.0),
    "revision_at": lambda store: store.revision_at(0.0),
    "check": lambda store: store.check(),
}


@pytest.mark.parametrize("call", CALLS)
async def test_closed_store_raises(store: Store, call: str) -> None:
    await store.close()
    with pytest.raises(errors.StoreUnavailable):
        await CALLS[call](store)


async def test_open_store_passes_its_check(store: Store) -> None:
    await store.check()


async def test_closing_again_does_nothing(store: Store) -> None:
    await asyncio.gather(store.close(), store.close())
    await store.close()


async def test_live_watch_ends_when_the_store_is_closed(store: Store) -> None:
    start = await store.revision()
    async with store.watch("objects/", after=start) as watch:
        await steps.create(store, KEY)
        assert len(await steps.take_events(watch, 1)) == 1
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(errors.StoreUnavailable):
            await taking


async def test_watch_not_read_yet_ends_when_the_store_is_closed(store: Store) -> None:
    start = await store.revision()
    await steps.create(store, KEY)
    async with store.watch("objects/", after=start) as watch:
        await store.close()
        with pytest.raises(errors.StoreUnavailable):
            await steps.take_events(watch, 2)


async def test_writes_in_progress_are_finished_and_later_ones_never_happen(engine: store_engines.Engine) -> None:
    keys = [f"objects/k/{number:03}" for number in range(100)]
    async with open_store(engine) as store:
        committing = [asyncio.create_task(store.commit(contract.create(key, b""))) for key in keys]
        for _ in range(2):
            await asyncio.sleep(0)
        await store.close()
        outcomes = await asyncio.gather(*committing, return_exceptions=True)
    acknowledged = {key: outcome for key, outcome in zip(keys, outcomes, strict=True) if not isinstance(outcome, BaseException)}
    assert not any(isinstance(outcome, FailedGuards) for outcome in outcomes)
    for outcome in outcomes:
        assert not isinstance(outcome, BaseException) or isinstance(outcome, errors.StoreUnavailable)
    async with open_store(engine) as store:
        assert {record.key: record.revision for record in await steps.records(store, "objects/")} == acknowledged


async def test_no_task_is_left_behind(engine: store_engines.Engine) -> None:
    before = asyncio.all_tasks()
    async with open_store(engine) as store:
        start = await store.revision()
        await steps.create(store, KEY)
        async with store.watch("objects/", after=start) as watch:
            await steps.take_events(watch, 1)
        await store.compact(await store.revision())
    left = {task for task in asyncio.all_tasks() - before if not task.done()}
    assert not left
