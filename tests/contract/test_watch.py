"""Watches: every change once and in order, from history, live, and across the transition between the two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import NO_REVISION, Event, FailedGuards, Record, Revision, Store
from support import store_operations as steps

KEY = "objects/pods/a/x"
EVERYTHING = "objects/"
END = "the-end"


async def write_all_kinds_of_changes(store: Store) -> list[Event]:
    """Creates, updates, deletes and recreates an object; returns the expected events."""
    created = await steps.create(store, KEY, b"1")
    updated = await steps.update(store, KEY, b"", revision=created)
    deleted = await steps.delete(store, KEY, updated)
    again = await steps.create(store, KEY, b"3")
    return [
        Event(created, KEY, b"1", None),
        Event(updated, KEY, b"", Record(KEY, b"1", created)),
        Event(deleted, KEY, None, Record(KEY, b"", updated)),
        Event(again, KEY, b"3", None),
    ]


async def test_history_is_delivered_with_values_and_previous_versions(store: Store) -> None:
    start = await store.revision()
    expected = await write_all_kinds_of_changes(store)
    assert await steps.collect_events(store, EVERYTHING, after=start, last=expected[-1].revision) == expected


async def test_changes_are_delivered_as_they_happen(store: Store) -> None:
    start = await store.revision()
    async with store.watch(EVERYTHING, after=start) as watch:
        first = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        expected = await write_all_kinds_of_changes(store)
        events = await first
        assert events + await steps.take_events(watch, 4 - len(events)) == expected


@pytest.mark.parametrize("seen", [0, 1, 2, 3])
async def test_watch_starts_right_after_the_given_revision(store: Store, seen: int) -> None:
    start = await store.revision()
    expected = await write_all_kinds_of_changes(store)
    after = [start, *(event.revision for event in expected)][seen]
    assert await steps.collect_events(store, EVERYTHING, after=after, last=expected[-1].revision) == expected[seen:]


async def test_watch_after_the_newest_revision_delivers_only_later_changes(store: Store) -> None:
    newest = await steps.create(store, KEY)
    async with store.watch(EVERYTHING, after=newest) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        revision = await steps.create(store, "objects/pods/a/y")
        assert await taking == [Event(revision, "objects/pods/a/y", b"1", None)]


WRITTEN = [
    f"objects/{end}" for end in ("k/a/1", "k/ab/1", "k/b", "m/a/1", "k/a/2", "k/a", "k/a-b/1", "k/a.b/1", "k/a0/1", "k/a/1/deep")
]
NESTED = ["objects/", "objects/k/", "objects/k/a/", "objects/k/ab/", "objects/k/a/1/", "objects/k/a/"]


async def write_nested(store: Store) -> None:
    for key in WRITTEN:
        await steps.create(store, key)
    for prefix in dict.fromkeys(NESTED):
        await steps.create(store, f"{prefix}{END}")


@pytest.mark.parametrize("prefix", NESTED[:5])
async def test_history_of_a_range_is_that_of_whole_segments(store: Store, prefix: str) -> None:
    start = await store.revision()
    await write_nested(store)
    seen = [event.key for event in await collect(store, prefix, start) if not event.key.endswith(END)]
    assert seen == [key for key in WRITTEN if key.startswith(prefix)]


async def test_live_watchers_of_nested_ranges_each_get_their_share(store: Store) -> None:
    start = await store.revision()
    following = [asyncio.create_task(collect(store, prefix, start)) for prefix in NESTED]
    await asyncio.sleep(0)
    await write_nested(store)
    for prefix, task in zip(NESTED, following, strict=True):
        seen = [event.key for event in await task if not event.key.endswith(END)]
        assert seen == [key for key in WRITTEN if key.startswith(prefix)]


async def collect(store: Store, prefix: str, after: Revision) -> list[Event]:
    """Returns everything that a watch delivers until the range's end marker."""
    events: list[Event] = []
    async with store.watch(prefix, after=after) as watch:
        while not any(event.key == prefix + END for event in events):
            events += await steps.take_events(watch, 1)
    return events


async def write_some(store: Store) -> AsyncIterator[Revision]:
    """Commits singles, batches and failing transactions; yields the revision from time to time."""
    for round_number in range(12):
        revision = await steps.create(store, f"objects/k/{round_number}/single")
        yield revision
        await store.commit_many([contract.create(f"objects/k/{round_number}/{number}", b"x") for number in range(20)])
        assert isinstance(await store.commit(contract.create(f"objects/k/{round_number}/single", b"")), FailedGuards)
        await asyncio.gather(
            steps.delete(store, f"objects/k/{round_number}/single", revision),
            *(steps.create(store, f"objects/m/{round_number}/{number}") for number in range(5)),
        )
        await asyncio.sleep(0)


async def test_no_gap_and_no_repeat_between_history_and_live_events(store: Store) -> None:
    """Watches start throughout a busy period of writes, from its first revision and from the newest one at the time."""
    start = await store.revision()
    watching: list[tuple[str, Revision, asyncio.Task[list[Event]]]] = []
    async for newest in write_some(store):
        for prefix in ("objects/", "objects/k/"):
            watching += [(prefix, after, asyncio.create_task(collect(store, prefix, after))) for after in (start, newest)]
    for prefix in ("objects/k/", "objects/"):
        last = await steps.create(store, f"{prefix}{END}")
    everything = await steps.collect_events(store, EVERYTHING, after=start, last=last)
    assert len(everything) == 12 * (1 + 20 + 1 + 5) + 2
    assert [event.revision for event in everything] == sorted({event.revision for event in everything})
    for prefix, after, task in watching:
        assert await task == [event for event in everything if event.key.startswith(prefix) and event.revision > after]


async def test_watch_closed_midway_and_resumed_misses_nothing(store: Store) -> None:
    start = await store.revision()
    revisions = [await steps.create(store, f"objects/k/{number:02}") for number in range(30)]
    seen: list[Revision] = []
    after = start
    while after < revisions[-1]:
        async with store.watch(EVERYTHING, after=after) as watch:
            seen += [event.revision for event in await steps.take_events(watch, 1)]
            assert watch.revision >= seen[-1]
            after = seen[-1]
    assert seen == revisions


async def test_revision_of_a_watch_advances_while_its_range_is_unchanged(store: Store) -> None:
    start = await store.revision()
    async with store.watch("objects/quiet/", after=start) as watch:
        assert watch.revision >= start
        taking = asyncio.create_task(steps.take_events(watch, 1))
        busy = [await steps.create(store, f"objects/busy/{number}") for number in range(10)][-1]
        await steps.wait_until(store, lambda: watch.revision >= busy)
        assert not taking.done()
        revision = await steps.create(store, "objects/quiet/x")
        assert [event.revision for event in await taking] == [revision]
        assert watch.revision >= revision


async def test_watch_can_continue_after_the_revision_that_another_one_had_reached(store: Store) -> None:
    """No change of the range up to the watch's revision may be delivered later."""
    start = await store.revision()
    async with store.watch("objects/quiet/", after=start) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 1))
        busy = await steps.create(store, "objects/busy/x")
        await steps.wait_until(store, lambda: watch.revision >= busy)
        reached = watch.revision
        taking.cancel()
        await asyncio.wait([taking])
    revision = await steps.create(store, "objects/quiet/x")
    assert [event.revision for event in await steps.collect_events(store, "objects/quiet/", after=reached, last=revision)] == [
        revision
    ]


async def test_watch_after_a_future_revision_is_rejected(store: Store) -> None:
    with pytest.raises(errors.FutureRevision):
        await steps.collect_events(store, EVERYTHING, after=Revision(await store.revision() + 1), last=contract.NO_REVISION)


async def test_failed_transactions_and_index_entries_produce_no_events(store: Store) -> None:
    start = await steps.create(store, KEY)
    await steps.failed_guards(store, contract.create(KEY, b"", add_entries=["owned/u/x"]))
    revision = await steps.commit(store, contract.update(KEY, b"2", revision=start, add_entries=["owned/u/x"]))
    events = await steps.collect_events(store, EVERYTHING, after=start, last=revision)
    assert events == [Event(revision, KEY, b"2", Record(KEY, b"1", start))]


async def test_committed_change_is_seen_by_a_reader_before_or_when_its_event_arrives(store: Store) -> None:
    start = await store.revision()
    async with store.watch(EVERYTHING, after=start) as watch:
        for number in range(20):
            taking = asyncio.create_task(steps.take_events(watch, 1))
            writing = asyncio.create_task(steps.create(store, f"objects/k/{number}"))
            (event,) = await taking
            assert await store.revision() >= event.revision
            assert await store.read(event.key, at=event.revision) == Record(event.key, b"1", event.revision)
            assert await writing == event.revision


async def test_hundred_watchers_of_one_range_all_get_every_change(store: Store) -> None:
    start = await store.revision()
    watching = [asyncio.create_task(collect(store, EVERYTHING, start)) for _ in range(100)]
    await asyncio.sleep(0)
    await store.commit_many([contract.create(f"objects/k/{number}", b"") for number in range(30)])
    last = await steps.create(store, EVERYTHING + END)
    expected = await steps.collect_events(store, EVERYTHING, after=start, last=last)
    assert len(expected) == 31
    assert all(events == expected for events in await asyncio.gather(*watching))


async def test_watch_after_revision_zero_delivers_the_whole_history_or_is_gone(store: Store) -> None:
    expected = await write_all_kinds_of_changes(store)
    try:
        assert await steps.collect_events(store, EVERYTHING, after=NO_REVISION, last=expected[-1].revision) == expected
    except errors.Gone:
        with pytest.raises(errors.Gone):
            await store.read(KEY, at=NO_REVISION)


async def test_wake_yields_an_empty_batch_and_loses_no_event(store: Store) -> None:
    after = await store.revision()
    async with store.watch("objects/", after=after) as watch:
        taking = asyncio.ensure_future(anext(aiter(watch)))
        await asyncio.sleep(0)
        watch.wake()
        assert await asyncio.wait_for(taking, steps.TIMEOUT_SECONDS) == []
        created = await steps.create(store, "objects/k/x")
        assert [event.revision for event in await steps.take_events(watch, 1)] == [created]


async def test_wake_before_the_iteration_waits_is_not_lost(store: Store) -> None:
    async with store.watch("objects/", after=await store.revision()) as watch:
        watch.wake()
        assert await asyncio.wait_for(anext(aiter(watch)), steps.TIMEOUT_SECONDS) == []
