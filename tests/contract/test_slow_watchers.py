"""A watcher that does not read gets `TooSlow` and can resume; other watchers and writers are not affected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from probate.core import errors
from probate.store import watch_hub
from probate.store.contract import Event, Revision, Store, Watch
from support import store_engines
from support import store_operations as steps

RANGE = "objects/k/"
FEW_EVENTS = watch_hub.WatchBuffer(events=10, value_bytes=1_000_000)
FEW_BYTES = watch_hub.WatchBuffer(events=1_000_000, value_bytes=10_000)


async def write(store: Store, count: int, *, value: bytes = b"") -> list[Revision]:
    start = await store.revision()
    return [await steps.create(store, f"{RANGE}{start}-{number:04}", value) for number in range(count)]


async def begin(store: Store, watch: Watch) -> list[Event]:
    """Reads a watch up to the present, so that it is live from here on."""
    taking = asyncio.create_task(steps.take_events(watch, 1))
    await asyncio.sleep(0)
    await write(store, 1)
    return await taking


async def drain(watch: Watch) -> tuple[list[Event], errors.TooSlow]:
    """Returns the events that are still delivered, and the error that ends the watch."""
    events: list[Event] = []
    try:
        while True:
            events += await steps.take_events(watch, 1)
    except errors.TooSlow as cut:
        return events, cut


async def wait_for_delivery(store: Store, revision: Revision) -> None:
    """Waits until this revision has been delivered to the watchers."""
    async with store.watch("objects/other/", after=revision) as other:
        taking = asyncio.create_task(steps.take_events(other, 1))
        await asyncio.sleep(0)
        await steps.create(store, f"objects/other/{revision}")
        await taking


@pytest.mark.parametrize(("buffer", "value"), [(FEW_EVENTS, b""), (FEW_BYTES, b"x" * 1000)])
async def test_watcher_that_never_reads_is_cut_off_and_resumes_without_a_gap(
    engine: store_engines.Engine, buffer: watch_hub.WatchBuffer, value: bytes
) -> None:
    async with store_engines.open_store(engine, buffer=buffer) as store:
        start = await store.revision()
        async with store.watch(RANGE, after=start) as watch:
            seen = await begin(store, watch)
            revisions = await write(store, 40, value=value)
            await wait_for_delivery(store, revisions[-1])
            more, cut = await drain(watch)
            seen += more
            assert cut.revision == watch.revision == seen[-1].revision
            assert cut.revision < revisions[-1]
        seen += await steps.collect_events(store, RANGE, after=Revision(cut.revision), last=revisions[-1])
        assert [event.revision for event in seen[1:]] == revisions


@pytest.fixture
async def small(engine: store_engines.Engine) -> AsyncIterator[Store]:
    """A store whose watchers may fall ten events behind."""
    async with store_engines.open_store(engine, buffer=FEW_EVENTS) as store:
        yield store


async def test_watcher_that_is_exactly_as_far_behind_as_allowed_is_not_cut_off(small: Store) -> None:
    async with small.watch(RANGE, after=await small.revision()) as watch:
        await begin(small, watch)
        revisions = await write(small, 10)
        await wait_for_delivery(small, revisions[-1])
        assert [event.revision for event in await steps.take_events(watch, 10)] == revisions


async def test_watcher_that_reads_again_and_again_may_read_more_than_its_buffer(small: Store) -> None:
    async with small.watch(RANGE, after=await small.revision()) as watch:
        await begin(small, watch)
        for _ in range(6):
            revisions = await write(small, 10)
            await wait_for_delivery(small, revisions[-1])
            assert [event.revision for event in await steps.take_events(watch, 10)] == revisions


async def test_history_longer_than_the_buffer_does_not_cut_the_watch_off(small: Store) -> None:
    start = await small.revision()
    revisions = await write(small, 50)
    await wait_for_delivery(small, revisions[-1])
    async with small.watch(RANGE, after=start) as watch:
        assert [event.revision for event in await steps.take_events(watch, 50)] == revisions


async def test_slow_watcher_slows_neither_writers_nor_other_watchers(small: Store) -> None:
    start = await small.revision()
    async with small.watch(RANGE, after=start) as slow, small.watch(RANGE, after=start) as quick:
        await begin(small, slow)
        seen = await steps.take_events(quick, 1)
        for _ in range(6):
            revisions = await write(small, 10)
            seen += await steps.take_events(quick, 10)
            assert seen[-1].revision == revisions[-1]
        assert len(seen) == 61
        _, cut = await drain(slow)
        assert cut.revision < seen[-1].revision


async def test_changes_of_other_ranges_do_not_fill_a_watchers_buffer(small: Store) -> None:
    async with small.watch(RANGE, after=await small.revision()) as watch:
        await begin(small, watch)
        others = [await steps.create(small, f"objects/others/{number}") for number in range(40)]
        await wait_for_delivery(small, others[-1])
        (revision,) = await write(small, 1)
        assert [event.revision for event in await steps.take_events(watch, 1)] == [revision]
