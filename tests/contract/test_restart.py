"""Closed and opened again, a store is where it was, in every respect."""

from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import NO_REVISION, Event, FailedGuards, Record, Revision, Unchanged
from support import store_engines
from support import store_operations as steps
from support.store_engines import open_store

KEY = "objects/k/x"
ENTRY = "owned/u/objects/k/x"
NOON = 1_700_000_000.0


async def test_objects_and_entries_are_still_there(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        revision = await steps.commit(store, contract.create(KEY, b"\x00value", add_entries=[ENTRY]))
        gone = await steps.delete(store, "objects/k/gone", await steps.create(store, "objects/k/gone"))
    async with open_store(engine) as store:
        assert await steps.records(store, "objects/") == [Record(KEY, b"\x00value", revision)]
        assert await steps.records(store, "owned/") == [Record(ENTRY, b"", revision)]
        assert await store.revision() >= gone


async def test_revisions_go_on_above_all_earlier_ones(engine: store_engines.Engine) -> None:
    seen: list[Revision] = []
    for number in range(4):
        async with open_store(engine) as store:
            assert await store.revision() >= max(seen, default=NO_REVISION)
            seen.append(await steps.create(store, f"objects/k/{number}"))
            seen.append(await steps.delete(store, f"objects/k/{number}", seen[-1]))
    assert seen == sorted(set(seen))


async def test_guards_hold_and_fail_as_before(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        old = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
        new = await steps.update(store, KEY, b"2", revision=old)
    async with open_store(engine) as store:
        empty = contract.EmptyRange("owned/u/")
        assert await steps.failed_guards(store, contract.update(KEY, b"", revision=old, guards=[empty])) == (
            Unchanged(KEY, old),
            empty,
        )
        await steps.commit(store, contract.delete(KEY, revision=new, remove_entries=[ENTRY], guards=[Unchanged(ENTRY, old)]))


async def test_history_can_still_be_read(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        start = await store.revision()
        versions = [await steps.create(store, KEY, b"0")]
        for number in range(1, 5):
            versions.append(await steps.update(store, KEY, b"%d" % number, revision=versions[-1]))
        deleted = await steps.delete(store, KEY, versions[-1])
    async with open_store(engine) as store:
        assert await store.read(KEY, at=start) is None
        for number, revision in enumerate(versions):
            assert await store.read(KEY, at=revision) == Record(KEY, b"%d" % number, revision)
        assert await steps.values(store, "objects/", at=deleted) == {}
        events = await steps.collect_events(store, "objects/", after=start, last=deleted)
        assert [event.revision for event in events] == [*versions, deleted]
        assert events[-1] == Event(deleted, KEY, None, Record(KEY, b"4", versions[-1]))


async def test_watch_resumes_exactly_where_it_was(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        start = await store.revision()
        revisions = [await steps.create(store, f"objects/k/{number}") for number in range(10)]
        async with store.watch("objects/", after=start) as watch:
            seen = (await steps.take_events(watch, 4))[:4]
    async with open_store(engine) as store:
        revisions.append(await steps.create(store, "objects/k/later"))
        seen += await steps.collect_events(store, "objects/", after=seen[-1].revision, last=revisions[-1])
    assert [event.revision for event in seen] == revisions


async def test_revision_reached_by_a_quiet_watch_is_known_after_a_restart(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        revision = await store.revision()
    async with open_store(engine) as store:
        created = await steps.create(store, KEY)
        assert await steps.collect_events(store, "objects/", after=revision, last=created) == [Event(created, KEY, b"1", None)]


async def test_compacted_history_does_not_come_back(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        versions = [await steps.create(store, KEY, b"0")]
        for number in range(1, 5):
            versions.append(await steps.update(store, KEY, b"%d" % number, revision=versions[-1]))
        await store.compact(versions[2])
    async with open_store(engine) as store:
        with pytest.raises(errors.Gone):
            await store.read(KEY, at=versions[1])
        with pytest.raises(errors.Gone):
            await steps.collect_events(store, "objects/", after=versions[1], last=NO_REVISION)
        for number in (2, 3, 4):
            assert await store.read(KEY, at=versions[number]) == Record(KEY, b"%d" % number, versions[number])
        events = await steps.collect_events(store, "objects/", after=versions[2], last=versions[-1])
        assert [event.revision for event in events] == versions[3:]
        await store.compact(versions[1])
        await store.compact(versions[4])
        with pytest.raises(errors.Gone):
            await store.read(KEY, at=versions[3])


async def test_edge_of_what_was_compacted_stays_where_it_was(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        revisions = [await steps.create(store, f"objects/k/{number}") for number in range(4)]
        await store.compact(revisions[2])
    for too_old in (revisions[1], Revision(revisions[2] - 1)):
        async with open_store(engine) as store:  # a new one each time: it must not have learned from the last question
            with pytest.raises(errors.Gone):
                await steps.collect_events(store, "objects/", after=too_old, last=NO_REVISION)
        async with open_store(engine) as store:
            with pytest.raises(errors.Gone):
                await store.read(KEY, at=too_old)
    async with open_store(engine) as store:
        events = await steps.collect_events(store, "objects/", after=revisions[2], last=revisions[3])
        assert [event.revision for event in events] == revisions[3:]


async def test_furthest_of_concurrent_compactions_is_the_one_remembered(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        revisions = [await steps.create(store, f"objects/k/{number}") for number in range(6)]
        await asyncio.gather(*(store.compact(revisions[number]) for number in (2, 4, 1, 3)))
    async with open_store(engine) as store:
        with pytest.raises(errors.Gone):
            await store.read(KEY, at=revisions[3])
        assert len(await steps.values(store, "objects/", at=revisions[4])) == 5


async def test_notes_of_time_are_kept(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        revision = await steps.create(store, KEY)
        await store.record_time(NOON)
    async with open_store(engine) as store:
        await steps.create(store, "objects/k/later")
        assert await store.revision_at(NOON) == revision
        assert await store.revision_at(NOON - 1) is None


async def test_restarted_store_goes_on_from_many_batches(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        start = await store.revision()
        outcomes = await store.commit_many([contract.create(f"objects/k/{number:04}", b"") for number in range(700)])
        assert not any(isinstance(outcome, FailedGuards) for outcome in outcomes)
    async with open_store(engine) as store:
        assert await store.count("objects/") == 700
        last = await steps.create(store, KEY)
        assert len(await steps.collect_events(store, "objects/", after=start, last=last)) == 701


async def test_fresh_engine_has_nothing_of_another(engine: store_engines.Engine) -> None:
    async with open_store(engine) as store:
        assert await store.count("objects/") == 0
        assert await store.revision_at(NOON * 2) is None
