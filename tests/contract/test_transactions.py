"""Commits: revisions, one object with its entries, failures that change nothing, and many concurrent ones."""

from __future__ import annotations

import asyncio

import pytest

from probate.store import contract
from probate.store.contract import NO_REVISION, Absent, FailedGuards, Record, Revision, Store, Unchanged
from support import store_operations as steps

KEY = "objects/pods/a/x"
ENTRY = "owned/u1/a/objects/pods/a/x"
OTHER_ENTRY = "inside/s1/objects/pods/a/x"


async def state(store: Store) -> list[Record]:
    """Returns all records of the store."""
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
    updated = await steps.update(store, KEY, b"2", revision=created)
    deleted = await steps.delete(store, KEY, updated)
    again = await steps.create(store, KEY)
    assert created < updated < deleted < again


async def test_create_of_an_existing_object_fails(store: Store) -> None:
    revision = await steps.create(store, KEY, b"1")
    assert await steps.failed_guards(store, contract.create(KEY, b"2")) == (Absent(KEY),)
    assert await store.read(KEY) == Record(KEY, b"1", revision)


async def test_update_and_delete_of_a_changed_object_fail(store: Store) -> None:
    old = await steps.create(store, KEY, b"1")
    new = await steps.update(store, KEY, b"2", revision=old)
    assert await steps.failed_guards(store, contract.update(KEY, b"3", revision=old)) == (Unchanged(KEY, old),)
    assert await steps.failed_guards(store, contract.delete(KEY, revision=old)) == (Unchanged(KEY, old),)
    assert await store.read(KEY) == Record(KEY, b"2", new)


async def test_update_and_delete_of_a_deleted_object_fail(store: Store) -> None:
    revision = await steps.create(store, KEY)
    gone = await steps.delete(store, KEY, revision)
    for expected in (revision, gone):
        assert await steps.failed_guards(store, contract.update(KEY, b"2", revision=expected)) == (Unchanged(KEY, expected),)
        assert await steps.failed_guards(store, contract.delete(KEY, revision=expected)) == (Unchanged(KEY, expected),)
    assert await store.read(KEY) is None


async def test_recreated_object_is_not_the_deleted_one(store: Store) -> None:
    first = await steps.create(store, KEY, b"1")
    await steps.delete(store, KEY, first)
    second = await steps.create(store, KEY, b"1")
    assert await steps.failed_guards(store, contract.delete(KEY, revision=first)) == (Unchanged(KEY, first),)
    assert await store.read(KEY) == Record(KEY, b"1", second)


async def test_expecting_a_future_revision_fails(store: Store) -> None:
    revision = await steps.create(store, KEY)
    future = Revision(revision + 1)
    assert await steps.failed_guards(store, contract.update(KEY, b"2", revision=future)) == (Unchanged(KEY, future),)


async def test_failed_transaction_changes_nothing_at_all(store: Store) -> None:
    revision = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    before = await state(store)
    newest = await store.revision()
    wrong = Revision(revision + 1)
    await steps.failed_guards(store, contract.create(KEY, b"2", add_entries=[OTHER_ENTRY, ENTRY]))
    await steps.failed_guards(store, contract.update(KEY, b"2", revision=wrong, add_entries=[OTHER_ENTRY], remove_entries=[ENTRY]))
    await steps.failed_guards(store, contract.delete(KEY, revision=wrong, remove_entries=[ENTRY]))
    await steps.failed_guards(store, contract.delete(KEY, revision=revision, remove_entries=[ENTRY], guards=[Absent(ENTRY)]))
    assert await state(store) == before
    assert await store.revision() == newest
    next_one = await steps.create(store, "objects/pods/a/y")
    assert [event.revision for event in await steps.collect_events(store, "objects/", after=revision, last=next_one)] == [next_one]


async def test_object_and_entries_change_together(store: Store) -> None:
    created = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    assert await state(store) == [Record(KEY, b"1", created), Record(ENTRY, b"", created)]
    moved = await steps.commit(
        store, contract.update(KEY, b"2", revision=created, add_entries=[OTHER_ENTRY], remove_entries=[ENTRY])
    )
    assert await state(store) == [Record(KEY, b"2", moved), Record(OTHER_ENTRY, b"", moved)]
    await steps.commit(store, contract.delete(KEY, revision=moved, remove_entries=[OTHER_ENTRY]))
    assert await state(store) == []


async def test_entries_that_a_transaction_does_not_name_stay_unchanged(store: Store) -> None:
    created = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    updated = await steps.update(store, KEY, b"2", revision=created)
    assert await store.read(ENTRY) == Record(ENTRY, b"", created)
    await steps.delete(store, KEY, updated)
    assert await store.read(ENTRY) == Record(ENTRY, b"", created)


async def test_entry_added_again_gets_the_new_revision(store: Store) -> None:
    first = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    by_another = await steps.commit(store, contract.create("objects/pods/a/y", b"", add_entries=[ENTRY]))
    assert await store.read(ENTRY) == Record(ENTRY, b"", by_another)
    by_update = await steps.commit(store, contract.update(KEY, b"1", revision=first, add_entries=[ENTRY]))
    assert await store.read(ENTRY) == Record(ENTRY, b"", by_update)
    assert await store.count("owned/") == 1


async def test_removing_an_absent_entry_is_not_an_error(store: Store) -> None:
    created = await steps.create(store, KEY)
    updated = await steps.commit(store, contract.update(KEY, b"2", revision=created, remove_entries=[ENTRY]))
    await steps.commit(store, contract.delete(KEY, revision=updated, remove_entries=[ENTRY, OTHER_ENTRY]))
    assert await state(store) == []


async def test_entry_removed_and_added_later_exists_once_with_its_new_revision(store: Store) -> None:
    first = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    second = await steps.commit(store, contract.update(KEY, b"1", revision=first, remove_entries=[ENTRY]))
    assert await store.read(ENTRY) is None
    third = await steps.commit(store, contract.update(KEY, b"1", revision=second, add_entries=[ENTRY]))
    assert await steps.records(store, "owned/") == [Record(ENTRY, b"", third)]


async def test_exactly_one_of_64_updates_of_the_same_revision_succeeds(store: Store) -> None:
    revision = await steps.create(store, KEY, b"0")
    for _ in range(5):
        expected = revision
        outcomes = await asyncio.gather(
            *(store.commit(contract.update(KEY, b"%d" % writer, revision=expected)) for writer in range(64))
        )
        (winner,) = [writer for writer, outcome in enumerate(outcomes) if not isinstance(outcome, FailedGuards)]
        assert all(
            outcome == FailedGuards((Unchanged(KEY, expected),)) for outcome in outcomes if isinstance(outcome, FailedGuards)
        )
        record = await store.read(KEY)
        assert record is not None
        assert (record.value, record.revision) == (b"%d" % winner, outcomes[winner])
        revision = record.revision


async def test_exactly_one_of_64_creates_of_one_object_succeeds(store: Store) -> None:
    outcomes = await asyncio.gather(*(store.commit(contract.create(KEY, b"%d" % writer)) for writer in range(64)))
    (winner,) = [writer for writer, outcome in enumerate(outcomes) if not isinstance(outcome, FailedGuards)]
    assert await steps.values(store, "objects/") == {KEY: b"%d" % winner}


async def test_increments_by_many_writers_are_never_lost(store: Store) -> None:
    await steps.create(store, KEY, b"0")

    async def increment() -> None:
        while True:
            record = await store.read(KEY)
            assert record is not None
            outcome = await store.commit(contract.update(KEY, b"%d" % (int(record.value) + 1), revision=record.revision))
            if not isinstance(outcome, FailedGuards):
                return

    await asyncio.gather(*(increment() for _ in range(24)))
    assert await steps.values(store, "objects/") == {KEY: b"24"}


async def test_concurrent_commits_get_different_revisions(store: Store) -> None:
    start = await store.revision()
    keys = [f"objects/pods/a/{number:02}" for number in range(64)]
    revisions = await asyncio.gather(*(steps.create(store, key) for key in keys))
    assert len(set(revisions)) == 64
    assert {record.key: record.revision for record in await steps.records(store, "objects/")} == dict(
        zip(keys, revisions, strict=True)
    )
    events = await steps.collect_events(store, "objects/", after=start, last=max(revisions))
    assert [event.revision for event in events] == sorted(revisions)


async def test_cancelled_commit_is_applied_whole_or_not_at_all(store: Store) -> None:
    for turns in range(6):
        key, entry = f"objects/pods/a/{turns}", f"owned/u/{turns}"
        committing = asyncio.create_task(store.commit(contract.create(key, b"1", add_entries=[entry])))
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
    assert revision > NO_REVISION
