"""History is kept as long as promised and not much longer: a day in a millisecond."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

import store_engines
import store_steps as steps
from probate import errors
from probate.aio import tasks
from probate.clock import FakeClock
from probate.store import retention
from probate.store.contract import Revision, Store

KEEP, INTERVAL = 3600.0, 300.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async with store_engines.opened(store_engines.Memory()) as store:
        yield store


@pytest.fixture
async def keeping(store: Store, clock: FakeClock) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(retention.keep_history(store, clock, keep=KEEP, interval=INTERVAL))
    yield task
    await tasks.stop(task)


async def is_kept(store: Store, revision: Revision) -> bool:
    try:
        await store.scan("objects/", limit=1, at=revision)
    except errors.Gone:
        return False
    return True


async def test_history_is_kept_for_the_time_promised_and_at_most_an_interval_more(
    store: Store, clock: FakeClock, keeping: asyncio.Task[None]
) -> None:
    await clock.advance(INTERVAL / 2)
    old = await steps.create(store, "objects/k/x", b"old")
    await clock.advance(INTERVAL)
    await steps.update(store, "objects/k/x", b"new", old)
    await clock.advance(KEEP - INTERVAL)
    assert await is_kept(store, old)
    await clock.advance(2 * INTERVAL)
    assert not await is_kept(store, old)
    assert await steps.values(store, "objects/") == {"objects/k/x": b"new"}
    assert not keeping.done()


async def test_nothing_is_forgotten_before_anything_is_old_enough(
    store: Store, clock: FakeClock, keeping: asyncio.Task[None]
) -> None:
    start = await store.revision()
    revisions = [start]
    for number in range(11):
        revisions.append(await steps.create(store, f"objects/k/{number}"))
        await clock.advance(INTERVAL)
    assert [await is_kept(store, revision) for revision in revisions] == [True] * 12
    assert not keeping.done()


async def test_steady_writing_keeps_a_sliding_window_of_history(
    store: Store, clock: FakeClock, keeping: asyncio.Task[None]
) -> None:
    written: list[tuple[float, Revision]] = []
    for number in range(60):
        written.append((clock.now(), await steps.create(store, f"objects/k/{number}")))
        await clock.advance(INTERVAL)
    for time, revision in written:
        age = clock.now() - time
        if age <= KEEP:
            assert await is_kept(store, revision), age
        if age > KEEP + 2 * INTERVAL:
            assert not await is_kept(store, revision), age
    assert not keeping.done()


async def test_quiet_store_still_forgets_its_old_history(store: Store, clock: FakeClock, keeping: asyncio.Task[None]) -> None:
    old = await steps.create(store, "objects/k/x", b"old")
    newest = await steps.update(store, "objects/k/x", b"new", old)
    await clock.advance(2 * KEEP)
    assert not await is_kept(store, old)
    assert await is_kept(store, newest)
    assert not keeping.done()


async def test_restart_forgets_neither_the_notes_nor_the_history(clock: FakeClock) -> None:
    engine = store_engines.Memory()
    async with store_engines.opened(engine) as store:
        old = await steps.create(store, "objects/k/x", b"old")
        await retention.forget_once(store, clock, keep=KEEP)
        await steps.update(store, "objects/k/x", b"new", old)
    await clock.advance(KEEP / 2)
    async with store_engines.opened(engine) as store:
        await retention.forget_once(store, clock, keep=KEEP)
        assert await is_kept(store, old)
    await clock.advance(KEEP)
    async with store_engines.opened(engine) as store:
        await retention.forget_once(store, clock, keep=KEEP)
        assert not await is_kept(store, old)


async def test_store_that_does_not_answer_is_tried_again(
    store: Store, clock: FakeClock, keeping: asyncio.Task[None], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await clock.advance(1.0)
        await store.close()
        await clock.advance(3 * INTERVAL)
    assert not keeping.done()
    assert [record.message for record in caplog.records] == ["history not compacted, trying again later: the store is closed"] * 3


async def test_two_servers_on_one_store_may_both_keep_its_history(store: Store, clock: FakeClock) -> None:
    both = [asyncio.create_task(retention.keep_history(store, clock, keep=KEEP, interval=INTERVAL)) for _ in range(2)]
    old = await steps.create(store, "objects/k/x", b"old")
    await clock.advance(INTERVAL)
    await steps.update(store, "objects/k/x", b"new", old)
    await clock.advance(2 * KEEP)
    assert not await is_kept(store, old)
    assert [task.done() for task in both] == [False, False]
    await tasks.stop(*both)


def test_a_short_history_is_not_kept_for_minutes() -> None:
    assert retention.interval(10.0) == 10.0
    assert retention.interval(24 * 3600.0) == retention.INTERVAL
    assert retention.interval(0.0) == retention.SHORTEST_INTERVAL  # nobody looks without end
