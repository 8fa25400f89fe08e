"""History is kept for the retention period and not much longer: a day in a millisecond."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.settings import Settings
from probate.store import retention
from probate.store.contract import Revision, Store
from probate.store.sqlite import store as sqlite
from support import store_engines
from support import store_operations as steps

KEEP, INTERVAL = 3600.0, 300.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async with store_engines.open_store(store_engines.Memory()) as store:
        yield store


@pytest.fixture
async def compacting(store: Store, clock: FakeClock) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(retention.compact_periodically(store, clock, keep_seconds=KEEP, interval_seconds=INTERVAL))
    yield task
    await tasks.stop(task)


async def is_available(store: Store, revision: Revision) -> bool:
    try:
        await store.scan("objects/", limit=1, at=revision)
    except errors.Gone:
        return False
    return True


@pytest.mark.parametrize("jumps", [(10 * KEEP,), (-10 * KEEP, 10 * KEEP)])
async def test_history_was_forgotten_when_the_clock_was_set(
    store: Store, clock: FakeClock, compacting: asyncio.Task[None], jumps: tuple[float, ...]
) -> None:
    await clock.advance(INTERVAL / 2)
    old = await steps.create(store, "objects/k/x", b"old")
    await clock.advance(INTERVAL)
    new = await steps.update(store, "objects/k/x", b"new", revision=old)
    await clock.advance(INTERVAL)
    for jump in jumps:
        clock.jump(jump)
        await clock.advance(INTERVAL)
        new = await steps.update(store, "objects/k/x", b"new", revision=new)
    await clock.advance(INTERVAL)
    assert await is_available(store, old)
    await clock.advance(KEEP)
    assert not await is_available(store, old)


async def test_history_is_kept_for_the_period_and_at_most_an_interval_more(
    store: Store, clock: FakeClock, compacting: asyncio.Task[None]
) -> None:
    await clock.advance(INTERVAL / 2)
    old = await steps.create(store, "objects/k/x", b"old")
    await clock.advance(INTERVAL)
    await steps.update(store, "objects/k/x", b"new", revision=old)
    await clock.advance(KEEP - INTERVAL)
    assert await is_available(store, old)
    await clock.advance(2 * INTERVAL)
    assert not await is_available(store, old)
    assert await steps.values(store, "objects/") == {"objects/k/x": b"new"}
    assert not compacting.done()


async def test_nothing_is_compacted_before_it_is_old_enough(store: Store, clock: FakeClock, compacting: asyncio.Task[None]) -> None:
    start = await store.revision()
    revisions = [start]
    for number in range(11):
        revisions.append(await steps.create(store, f"objects/k/{number}"))
        await clock.advance(INTERVAL)
    assert [await is_available(store, revision) for revision in revisions] == [True] * 12
    assert not compacting.done()


async def test_steady_writing_keeps_a_sliding_window_of_history(
    store: Store, clock: FakeClock, compacting: asyncio.Task[None]
) -> None:
    written: list[tuple[float, Revision]] = []
    for number in range(60):
        written.append((clock.now(), await steps.create(store, f"objects/k/{number}")))
        await clock.advance(INTERVAL)
    for time, revision in written:
        age = clock.now() - time
        if age <= KEEP:
            assert await is_available(store, revision), age
        if age > KEEP + 2 * INTERVAL:
            assert not await is_available(store, revision), age
    assert not compacting.done()


async def test_unchanged_store_still_compacts_its_old_history(
    store: Store, clock: FakeClock, compacting: asyncio.Task[None]
) -> None:
    old = await steps.create(store, "objects/k/x", b"old")
    newest = await steps.update(store, "objects/k/x", b"new", revision=old)
    await clock.advance(2 * KEEP)
    assert not await is_available(store, old)
    assert await is_available(store, newest)
    assert not compacting.done()


async def test_restart_loses_neither_the_recorded_times_nor_the_history(clock: FakeClock) -> None:
    engine = store_engines.Memory()
    async with store_engines.open_store(engine) as store:
        old = await steps.create(store, "objects/k/x", b"old")
        await retention.compact_once(store, clock, keep_seconds=KEEP)
        await steps.update(store, "objects/k/x", b"new", revision=old)
    await clock.advance(KEEP / 2)
    async with store_engines.open_store(engine) as store:
        await retention.compact_once(store, clock, keep_seconds=KEEP)
        assert await is_available(store, old)
    await clock.advance(KEEP)
    async with store_engines.open_store(engine) as store:
        await retention.compact_once(store, clock, keep_seconds=KEEP)
        assert not await is_available(store, old)


async def test_store_that_does_not_answer_is_retried(
    store: Store, clock: FakeClock, compacting: asyncio.Task[None], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await clock.advance(1.0)
        await store.close()
        await clock.advance(3 * INTERVAL)
    assert not compacting.done()
    assert [record.message for record in caplog.records] == ["history not compacted, trying again later"] * 3


async def test_two_servers_on_one_store_may_both_compact_it(store: Store, clock: FakeClock) -> None:
    both = [
        asyncio.create_task(retention.compact_periodically(store, clock, keep_seconds=KEEP, interval_seconds=INTERVAL))
        for _ in range(2)
    ]
    old = await steps.create(store, "objects/k/x", b"old")
    await clock.advance(INTERVAL)
    await steps.update(store, "objects/k/x", b"new", revision=old)
    await clock.advance(2 * KEEP)
    assert not await is_available(store, old)
    assert [task.done() for task in both] == [False, False]
    await tasks.stop(*both)


@pytest.mark.parametrize(("keep", "interval"), [(24 * 3600.0, 300.0), (300.0, 60.0), (0.0, 1.0)])
async def test_shorter_period_is_compacted_more_often(store: Store, keep: float, interval: float) -> None:
    clock = FakeClock()
    task = asyncio.create_task(retention.compact_periodically(store, clock, keep_seconds=keep))
    await asyncio.sleep(0.01)
    assert clock.next_wakeup == clock.now() + interval
    await tasks.stop(task)


async def test_store_in_memory_does_not_grow_over_time() -> None:
    keep, clock = Settings(store="memory:").history_seconds, FakeClock()
    store = await sqlite.open_memory()
    task = asyncio.create_task(retention.compact_periodically(store, clock, keep_seconds=keep))

    async def pages_after(minutes: int) -> int:
        revision = await steps.create(store, "objects/k/x", b"")
        for _ in range(minutes):
            for _ in range(20):
                revision = await steps.update(store, "objects/k/x", b"v" * 10_000, revision=revision)
            await clock.advance(60)
        await steps.delete(store, "objects/k/x", revision)
        pages: int = store.database.writer.execute("PRAGMA page_count").get
        return pages

    try:
        early = await pages_after(20)
        assert await pages_after(60) <= early * 1.1
    finally:
        await tasks.stop(task)
        await store.close()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (Settings(store="memory:"), 300.0),
        (Settings(store="memory:", history=3600.0), 3600.0),
        (Settings(), 24 * 3600.0),
        (Settings(store="etcd://h:1", history=0.0), 0.0),
    ],
)
def test_history_is_kept_as_configured_or_for_the_default_of_the_store(given: Settings, kept: float) -> None:
    assert given.history_seconds == kept
