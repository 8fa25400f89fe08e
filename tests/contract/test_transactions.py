"""Commits: revisions, one object with its entries, refusals that change nothing, and many at once."""

from __future__ import annotations

import asyncio

import pytest

from probate.store import contract
from probate.store.contract import NOTHING, Absent, Record, Refused, Revision, Store, Unchanged
from support import store_operations as steps

KEY = "objects/pods/a/x"
ENTRY = "owned/u1@a/objects/pods/a/x"
OTHER_ENTRY = "inside/s1/objects/pods/a/x"


async def state(store: Store) -> list[Record]:
    """Everything there is."""
    found = [await steps.records(store, prefix) for prefix in ("objects/", "owned/", "inside/", "closed/")]
    return [record for part in found for record in part]


async def test_each_commit_gets_a_higher_revision_than_all_before_it(store: Store) -> None:
    last = await store.revision()
    for number in range(20):
        revision = await steps.create(store, f"objects/pods/a/{number % 10}-{number}")
        assert revision > last
        last = revision
    assert await store.revision() == last


async def test_updates_and_deletes_get_revisions_too(store: Store) -> None:
    created = await steps.create(store, KEY)
    updated = await steps.update(store, KEY, b"2", created)
    deleted = await steps.delete(store, KEY, updated)
    again = await steps.create(store, KEY)
    assert created < updated < deleted < again


async def test_create_of_what_is_there_is_refused(store: Store) -> None:
    revision = await steps.create(store, KEY, b"1")
    assert await steps.refused(store, contract.create(KEY, b"2")) == (Absent(KEY),)
    assert await store.read(KEY) == Record(KEY, b"1", revision)


async def test_update_and_delete_of_what_has_changed_are_refused(store: Store) -> None:
    old = await steps.create(store, KEY, b"1")
    new = await steps.update(store, KEY, b"2", old)
    assert await steps.refused(store, contract.update(KEY, b"3", revision=old)) == (Unchanged(KEY, old),)
    assert await steps.refused(store, contract.delete(KEY, revision=old)) == (Unchanged(KEY, old),)
    assert await store.read(KEY) == Record(KEY, b"2", new)


async def test_update_and_delete_of_what_is_gone_are_refused(store: Store) -> None:
    revision = await steps.create(store, KEY)
    gone = await steps.delete(store, KEY, revision)
    for expected in (revision, gone):
        assert await steps.refused(store, contract.update(KEY, b"2", revision=expected)) == (Unchanged(KEY, expected),)
        assert await steps.refused(store, contract.delete(KEY, revision=expected)) == (Unchanged(KEY, expected),)
    assert await store.read(KEY) is None


async def test_re_created_object_is_not_the_one_that_was_deleted(store: Store) -> None:
    first = await steps.create(store, KEY, b"1")
    await steps.delete(store, KEY, first)
    second = await steps.create(store, KEY, b"1")
    assert await steps.refused(store, contract.delete(KEY, revision=first)) == (Unchanged(KEY, first),)
    assert await store.read(KEY) == Record(KEY, b"1", second)


async def test_expecting_a_revision_to_come_is_refused(store: Store) -> None:
    revision = await steps.create(store, KEY)
    future = Revision(revision + 1)
    assert await steps.refused(store, contract.update(KEY, b"2", revision=future)) == (Unchanged(KEY, future),)


async def test_refused_transaction_changes_nothing_at_all(store: Store) -> None:
    revision = await steps.commit(store, contract.create(KEY, b"1", enter=[ENTRY]))
    before = await state(store)
    newest = await store.revision()
    wrong = Revision(revision + 1)
    await steps.refused(store, contract.create(KEY, b"2", enter=[OTHER_ENTRY, ENTRY]))
    await steps.refused(store, contract.update(KEY, b"2", revision=wrong, enter=[OTHER_ENTRY], leave=[ENTRY]))
    await steps.refused(store, contract.delete(KEY, revision=wrong, leave=[ENTRY]))
    await steps.refused(store, contract.delete(KEY, revision=revision, leave=[ENTRY], guards=[Absent(ENTRY)]))
    assert await state(store) == before
    assert await store.revision() == newest
    next_one = await steps.create(store, "objects/pods/a/y")
    assert [event.revision for event in await steps.follow(store, "objects/", after=revision, last=next_one)] == [next_one]


async def test_object_and_entries_change_together(store: Store) -> None:
    created = await steps.commit(store, contract.create(KEY, b"1", enter=[ENTRY]))
    assert await state(store) == [Record(KEY, b"1", created), Record(ENTRY, b"", created)]
    moved = await steps.commit(store, contract.update(KEY, b"2", revision=created, enter=[OTHER_ENTRY], leave=[ENTRY]))
    assert await state(store) == [Record(KEY, b"2", moved), Record(OTHER_ENTRY, b"", moved)]
    await steps.commit(store, contract.delete(KEY, revision=moved, leave=[OTHER_ENTRY]))
    assert await state(store) == []


async def test_entries_stay_as_they_are_if_a_transaction_does_not_name_them(store: Store) -> None:
    created = await steps.commit(store, contract.create(KEY, b"1", enter=[ENTRY]))
    updated = await steps.update(store, KEY, b"2", created)
    assert await store.read(ENTRY) == Record(ENTRY, b"", created)
    await steps.delete(store, KEY, updated)
    assert await store.read(ENTRY) == Record(ENTRY, b"", created)


async def test_entry_entered_again_gets_the_new_revision(store: Store) -> None:
    first = await steps.commit(store, contract.create(KEY, b"1", enter=[ENTRY]))
    by_another = await steps.commit(store, contract.create("objects/pods/a/y", b"", enter=[ENTRY]))
    assert await store.read(ENTRY) == Record(ENTRY, b"", by_another)
    by_update = await steps.commit(store, contract.update(KEY, b"1", revision=first, enter=[ENTRY]))
    assert await store.read(ENTRY) == Record(ENTRY, b"", by_update)
    assert await store.count("owned/") == 1


async def test_leaving_an_entry_that_is_not_there_is_no_error(store: Store) -> None:
    created = await steps.create(store, KEY)
    updated = await steps.commit(store, contract.update(KEY, b"2", revision=created, leave=[ENTRY]))
    await steps.commit(store, contract.delete(KEY, revision=updated, leave=[ENTRY, OTHER_ENTRY]))
    assert await state(store) == []


async def test_entry_left_and_entered_later_is_there_once_with_its_new_revision(store: Store) -> None:
    first = await steps.commit(store, contract.create(KEY, b"1", enter=[ENTRY]))
    second = await steps.commit(store, contract.update(KEY, b"1", revision=first, leave=[ENTRY]))
    assert await store.read(ENTRY) is None
    third = await steps.commit(store, contract.update(KEY, b"1", revision=second, enter=[ENTRY]))
    assert await steps.records(store, "owned/") == [Record(ENTRY, b"", third)]


async def test_of_64_writers_who_read_the_same_revision_exactly_one_wins(store: Store) -> None:
    revision = await steps.create(store, KEY, b"0")
    for _ in range(5):
        expected = revision
        outcomes = await asyncio.gather(
            *(store.commit(contract.update(KEY, b"%d" % writer, revision=expected)) for writer in range(64))
        )
        (winner,) = [writer for writer, outcome in enumerate(outcomes) if not isinstance(outcome, Refused)]
        assert all(outcome == Refused((Unchanged(KEY, expected),)) for outcome in outcomes if isinstance(outcome, Refused))
        record = await store.read(KEY)
        assert record is not None
        assert (record.value, record.revision) == (b"%d" % winner, outcomes[winner])
        revision = record.revision


async def test_of_64_creators_of_one_object_exactly_one_wins(store: Store) -> None:
    outcomes = await asyncio.gather(*(store.commit(contract.create(KEY, b"%d" % writer)) for writer in range(64)))
    (winner,) = [writer for writer, outcome in enumerate(outcomes) if not isinstance(outcome, Refused)]
    assert await steps.values(store, "objects/") == {KEY: b"%d" % winner}


async def test_increments_by_many_writers_are_never_lost(store: Store) -> None:
    await steps.create(store, KEY, b"0")

    async def increment() -> None:
        while True:
            record = await store.read(KEY)
            assert record is not None
            outcome = await store.commit(contract.update(KEY, b"%d" % (int(record.value) + 1), revision=record.revision))
            if not isinstance(outcome, Refused):
                return

    await asyncio.gather(*(increment() for _ in range(24)))
    assert await steps.values(store, "objects/") == {KEY: b"24"}


async def test_concurrent_commits_get_revisions_of_their_own(store: Store) -> None:
    start = await store.revision()
    keys = [f"objects/pods/a/{number:02}" for number in range(64)]
    revisions = await asyncio.gather(*(steps.create(store, key) for key in keys))
    assert len(set(revisions)) == 64
    assert {record.key: record.revision for record in await steps.records(store, "objects/")} == dict(
        zip(keys, revisions, strict=True)
    )
    events = await steps.follow(store, "objects/", after=start, last=max(revisions))
    assert [event.revision for event in events] == sorted(revisions)


async def test_cancelled_commit_happened_whole_or_not_at_all(store: Store) -> None:
    for turns in range(6):
        key, entry = f"objects/pods/a/{turns}", f"owned/u/{turns}"
        committing = asyncio.create_task(store.commit(contract.create(key, b"1", enter=[entry])))
        for _ in range(turns):
            await asyncio.sleep(0)
        committing.cancel()
        await asyncio.wait([committing])
        await steps.create(store, f"objects/pods/after/{turns}")
        thing, index = await store.read_many([key, entry])
        assert (thing is None) == (index is None)
        assert turns or thing is None, "a call cancelled before it began has no effect"


@pytest.mark.parametrize("key", ["objects/x", "objects/a/b/c/d/e/f/g", "objects/a b/c:d/e@f.g", "objects/-/\u00a0"])
async def test_any_path_under_objects_can_be_an_object(store: Store, key: str) -> None:
    revision = await steps.create(store, key)
    assert await steps.records(store, "objects/") == [Record(key, b"1", revision)]
    assert revision > NOTHING
