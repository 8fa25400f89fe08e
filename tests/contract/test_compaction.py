"""Compaction: what is removed, what stays, and the exact boundary between them."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import NO_REVISION, Event, Record, Revision, Store
from support import store_operations as steps

KEY = "objects/k/changing"
UNCHANGED = "objects/k/still"
DELETED = "objects/k/dead"


class History(NamedTuple):
    """A small history: one object that never changes, one that is deleted early, one that changes repeatedly."""

    still: Revision
    dead: Revision
    versions: list[Revision]


async def write_history(store: Store, *, versions: int = 6) -> History:
    still = await steps.commit(store, contract.create(UNCHANGED, b"still", add_entries=["owned/u/still"]))
    dead = await steps.delete(store, DELETED, await steps.create(store, DELETED, b"dead"))
    found = [await steps.create(store, KEY, b"0")]
    for number in range(1, versions):
        found.append(await steps.update(store, KEY, b"%d" % number, revision=found[-1]))
    return History(still, dead, found)


async def assert_gone(store: Store, revision: Revision) -> None:
    with pytest.raises(errors.Gone):
        await store.read(KEY, at=revision)
    with pytest.raises(errors.Gone):
        await store.scan("objects/", limit=10, at=revision)
    with pytest.raises(errors.Gone):
        await store.count("objects/", at=revision)
    with pytest.raises(errors.Gone):
        await steps.collect_events(store, "objects/", after=revision, last=NO_REVISION)


async def test_everything_before_the_compacted_revision_is_gone(store: Store) -> None:
    start = await store.revision()
    past = await write_history(store)
    await store.compact(past.versions[3])
    for revision in (start, past.still, past.dead, *past.versions[:3], Revision(past.versions[3] - 1)):
        await assert_gone(store, revision)


async def test_compacted_revision_itself_and_all_later_ones_can_be_read(store: Store) -> None:
    past = await write_history(store)
    await store.compact(past.versions[3])
    for number, revision in list(enumerate(past.versions))[3:]:
        expected = {KEY: b"%d" % number, UNCHANGED: b"still"}
        assert await steps.values(store, "objects/", at=revision) == expected
        assert await store.count("objects/", at=revision) == 2
        assert await store.read(KEY, at=revision) == Record(KEY, b"%d" % number, revision)
        assert await store.read(UNCHANGED, at=revision) == Record(UNCHANGED, b"still", past.still)
        assert await store.read(DELETED, at=revision) is None


async def test_watch_after_the_compacted_revision_delivers_all_later_changes(store: Store) -> None:
    past = await write_history(store)
    await store.compact(past.versions[3])
    events = await steps.collect_events(store, "objects/", after=past.versions[3], last=past.versions[-1])
    assert events == [
        Event(past.versions[number], KEY, b"%d" % number, Record(KEY, b"%d" % (number - 1), past.versions[number - 1]))
        for number in (4, 5)
    ]


async def test_change_after_compaction_has_a_previous_version_from_long_before_it(store: Store) -> None:
    past = await write_history(store)
    await store.compact(past.versions[-1])
    updated = await steps.update(store, UNCHANGED, b"moved", revision=past.still)
    deleted = await steps.delete(store, UNCHANGED, updated)
    assert await steps.collect_events(store, "objects/", after=past.versions[-1], last=deleted) == [
        Event(updated, UNCHANGED, b"moved", Record(UNCHANGED, b"still", past.still)),
        Event(deleted, UNCHANGED, None, Record(UNCHANGED, b"moved", updated)),
    ]


async def test_live_objects_and_entries_survive_with_their_revisions(store: Store) -> None:
    past = await write_history(store)
    newest = await store.revision()
    await store.compact(newest)
    assert await steps.records(store, "objects/") == [Record(KEY, b"5", past.versions[-1]), Record(UNCHANGED, b"still", past.still)]
    assert await steps.records(store, "owned/") == [Record("owned/u/still", b"", past.still)]
    assert await steps.values(store, "objects/", at=newest) == {KEY: b"5", UNCHANGED: b"still"}
    assert await steps.failed_guards(store, contract.create(UNCHANGED, b"")) == (contract.Absent(UNCHANGED),)
    assert await store.revision() >= newest


async def test_object_deleted_after_the_compacted_revision_is_still_there_at_it(store: Store) -> None:
    past = await write_history(store)
    edge = past.versions[-1]
    deleted = await steps.delete(store, UNCHANGED, past.still)
    await store.compact(edge)
    assert await store.read(UNCHANGED, at=edge) == Record(UNCHANGED, b"still", past.still)
    assert await store.read(UNCHANGED, at=deleted) is None
    assert (await steps.collect_events(store, "objects/", after=edge, last=deleted))[0].previous == Record(
        UNCHANGED, b"still", past.still
    )


async def test_compacting_at_a_delete_removes_all_versions_of_the_object(store: Store) -> None:
    past = await write_history(store)
    deleted = await steps.delete(store, KEY, past.versions[-1])
    await store.compact(deleted)
    assert await store.read(KEY, at=deleted) is None
    again = await steps.create(store, KEY, b"again")
    assert await steps.collect_events(store, "objects/", after=deleted, last=again) == [Event(again, KEY, b"again", None)]


@pytest.mark.parametrize("second", [3, 2, 0])
async def test_compacting_again_to_the_same_or_an_earlier_revision_does_nothing(store: Store, second: int) -> None:
    past = await write_history(store)
    await store.compact(past.versions[3])
    await store.compact(past.versions[second])
    await assert_gone(store, past.versions[2])
    assert await store.read(KEY, at=past.versions[3]) == Record(KEY, b"3", past.versions[3])


async def test_compacting_further_removes_more(store: Store) -> None:
    past = await write_history(store)
    for number in (1, 2, 4):
        await store.compact(past.versions[number])
        await assert_gone(store, past.versions[number - 1])
        assert await steps.values(store, "objects/", at=past.versions[number]) == {KEY: b"%d" % number, UNCHANGED: b"still"}


async def test_compacting_to_a_future_revision_is_rejected_and_removes_nothing(store: Store) -> None:
    past = await write_history(store)
    with pytest.raises(errors.FutureRevision):
        await store.compact(Revision(await store.revision() + 1))
    assert await store.read(KEY, at=past.versions[0]) == Record(KEY, b"0", past.versions[0])


async def test_concurrent_compactions_end_at_the_furthest(store: Store) -> None:
    past = await write_history(store)
    await asyncio.gather(*(store.compact(past.versions[number]) for number in (2, 4, 1, 3)))
    await assert_gone(store, past.versions[3])
    assert await store.read(KEY, at=past.versions[4]) == Record(KEY, b"4", past.versions[4])


async def test_live_watch_goes_on_over_a_compaction(store: Store) -> None:
    past = await write_history(store)
    async with store.watch("objects/", after=past.versions[-1]) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        updated = await steps.update(store, KEY, b"6", revision=past.versions[-1])
        assert await taking == [Event(updated, KEY, b"6", Record(KEY, b"5", past.versions[-1]))]
        await store.compact(updated)
        last = await steps.update(store, KEY, b"7", revision=updated)
        assert await steps.take_events(watch, 1) == [Event(last, KEY, b"7", Record(KEY, b"6", updated))]


async def test_watch_opened_before_and_read_after_a_compaction_is_gone_or_complete(store: Store) -> None:
    """History may have been read already; there must not be a gap."""
    start = await store.revision()
    past = await write_history(store)
    async with store.watch("objects/", after=start) as watch:
        await store.compact(past.versions[3])
        try:
            events = await steps.take_events(watch, 1)
            assert events[0].revision == past.still
            while events[-1].revision < past.versions[-1]:
                events += await steps.take_events(watch, 1)
            assert len(events) == 9
        except errors.Gone:
            await assert_gone(store, start)


async def test_history_of_many_objects_is_removed_while_writes_go_on(store: Store) -> None:
    """Space is freed in the background; reads meanwhile must not be affected."""
    keys = [f"objects/many/{number:03}" for number in range(150)]
    first = [await steps.create(store, key, b"first") for key in keys]
    second = [await steps.update(store, key, b"second", revision=revision) for key, revision in zip(keys, first, strict=True)]
    edge = second[75]
    await store.compact(edge)
    expected = {key: b"second" if number <= 75 else b"first" for number, key in enumerate(keys)}
    for key, revision in zip(keys[:20], second, strict=False):
        await steps.update(store, key, b"third", revision=revision)
        assert await steps.values(store, "objects/many/", at=edge) == expected
    assert [event.previous for event in await steps.collect_events(store, "objects/", after=edge, last=second[-1])][:74] == [
        Record(key, b"first", revision) for key, revision in zip(keys[76:], first[76:], strict=True)
    ]
