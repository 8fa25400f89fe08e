"""`commit_many`: each transaction by itself and in order; later ones see the effects of earlier ones."""

from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import Absent, CommitResult, EmptyRange, FailedGuards, Record, Revision, Store, Unchanged
from support import store_operations as steps

KEY = "objects/pods/a/x"
OTHER = "objects/pods/a/y"
ENTRY = "owned/u/objects/pods/a/x"


def revisions(outcomes: list[CommitResult]) -> list[Revision]:
    """Returns the revisions of results, none of which may be a failure."""
    assert not any(isinstance(outcome, FailedGuards) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if not isinstance(outcome, FailedGuards)]


async def test_empty_batch_does_nothing(store: Store) -> None:
    before = await store.revision()
    assert await store.commit_many([]) == []
    assert await store.revision() == before


async def test_each_transaction_gets_a_different_revision(store: Store) -> None:
    start = await store.revision()
    keys = [f"objects/pods/a/{number:04}" for number in range(500)]
    found = revisions(await store.commit_many([contract.create(key, key.encode()) for key in keys]))
    assert len(set(found)) == 500
    assert min(found) > start
    assert await store.revision() >= max(found)
    expected = [Record(key, key.encode(), revision) for key, revision in zip(keys, found, strict=True)]
    assert await steps.records(store, "objects/") == expected
    events = await steps.collect_events(store, "objects/", after=start, last=max(found))
    assert [event.revision for event in events] == sorted(found)


async def test_failed_transaction_does_not_stop_the_others(store: Store) -> None:
    await steps.create(store, KEY, b"old")
    outcomes = await store.commit_many(
        [contract.create("objects/a/1", b""), contract.create(KEY, b"new"), contract.create("objects/a/2", b"")]
    )
    assert outcomes[1] == FailedGuards((Absent(KEY),))
    revisions([outcomes[0], outcomes[2]])
    assert await steps.values(store, "objects/") == {"objects/a/1": b"", "objects/a/2": b"", KEY: b"old"}


async def test_changes_of_one_key_are_made_in_the_order_of_the_list(store: Store) -> None:
    first = await steps.create(store, KEY, b"1")
    outcomes = await store.commit_many(
        [
            contract.create(KEY, b"too early"),
            contract.delete(KEY, revision=first),
            contract.delete(KEY, revision=first),
            contract.create(KEY, b"2"),
            contract.create(KEY, b"too late"),
        ]
    )
    assert [isinstance(outcome, FailedGuards) for outcome in outcomes] == [True, False, True, False, True]
    deleted, created = revisions([outcomes[1], outcomes[3]])
    assert first < deleted < created
    assert outcomes[2] == FailedGuards((Unchanged(KEY, first),))
    assert await store.read(KEY) == Record(KEY, b"2", created)
    assert await store.read(KEY, at=deleted) is None
    events = await steps.collect_events(store, "objects/", after=first, last=created)
    assert steps.changes(events) == [(KEY, None), (KEY, b"2")]
    assert [event.previous for event in events] == [Record(KEY, b"1", first), None]


async def test_first_of_two_updates_of_one_key_succeeds(store: Store) -> None:
    first = await steps.create(store, KEY, b"1")
    outcomes = await store.commit_many([contract.update(KEY, value, revision=first) for value in (b"a", b"b", b"c")])
    assert outcomes[1:] == [FailedGuards((Unchanged(KEY, first),))] * 2
    assert await steps.values(store, "objects/") == {KEY: b"a"}


async def test_guard_sees_an_object_created_or_deleted_earlier_in_the_list(store: Store) -> None:
    outcomes = await store.commit_many(
        [
            contract.create(OTHER, b"", guards=[Absent(KEY), EmptyRange("objects/pods/")]),
            contract.create(KEY, b""),
            contract.create("objects/z/1", b"", guards=[Absent(KEY)]),
            contract.create("objects/z/2", b"", guards=[EmptyRange("objects/pods/a/")]),
        ]
    )
    first, second = revisions(outcomes[:2])
    assert first < second
    assert outcomes[2:] == [FailedGuards((Absent(KEY),)), FailedGuards((EmptyRange("objects/pods/a/"),))]
    again = await store.commit_many(
        [
            contract.delete(KEY, revision=second),
            contract.create("objects/z/1", b"", guards=[Absent(KEY)]),
            contract.create("objects/z/2", b"", guards=[Unchanged(KEY, second)]),
        ]
    )
    assert len(revisions(again[:2])) == 2
    assert again[2] == FailedGuards((Unchanged(KEY, second),))


async def test_guard_sees_an_entry_added_or_removed_earlier_in_the_list(store: Store) -> None:
    empty = EmptyRange("owned/u/")
    first = await steps.commit(store, contract.create(KEY, b"", add_entries=[ENTRY]))
    outcomes = await store.commit_many(
        [
            contract.create("objects/z/1", b"", guards=[empty]),
            contract.update(KEY, b"", revision=first, remove_entries=[ENTRY]),
            contract.create("objects/z/2", b"", guards=[empty, Absent(ENTRY)]),
            contract.create(OTHER, b"", add_entries=["owned/u/objects/pods/a/y"]),
            contract.create("objects/z/3", b"", guards=[Absent(ENTRY), empty]),
            contract.create("objects/z/4", b"", guards=[Unchanged(ENTRY, first)]),
        ]
    )
    assert outcomes[0] == outcomes[4] == FailedGuards((empty,))
    assert outcomes[5] == FailedGuards((Unchanged(ENTRY, first),))
    left, seen_empty, entered = revisions(outcomes[1:4])
    assert left < seen_empty < entered


async def test_guard_never_sees_what_comes_later_in_the_list(store: Store) -> None:
    """The earlier ones are large and the later ones small, so that the later ones would be faster without ordering."""
    large = b"x" * 300_000
    txns: list[contract.Txn] = []
    for number in range(8):
        key, entry = f"objects/late/{number}", f"owned/late/{number}"
        txns.append(contract.create(f"objects/a/{number}", large, guards=[Absent(key)]))
        txns.append(contract.create(f"objects/b/{number}", large, guards=[Absent(entry)]))
        txns.append(contract.create(key, b"", add_entries=[entry]))
    found = revisions(await store.commit_many(txns))
    assert all(max(found[start : start + 2]) < found[start + 2] for start in range(0, len(found), 3))


async def test_entry_added_by_several_keeps_the_revision_of_the_last_in_the_list(store: Store) -> None:
    outcomes = await store.commit_many([contract.create(f"objects/a/{number}", b"", add_entries=[ENTRY]) for number in range(5)])
    found = revisions(outcomes)
    assert found == sorted(found)
    assert await store.read(ENTRY) == Record(ENTRY, b"", found[-1])


async def test_entry_of_a_failed_transaction_is_not_seen_by_later_ones(store: Store) -> None:
    await steps.create(store, KEY)
    outcomes = await store.commit_many(
        [contract.create(KEY, b"", add_entries=[ENTRY]), contract.create(OTHER, b"", guards=[EmptyRange("owned/u/")])]
    )
    assert isinstance(outcomes[0], FailedGuards)
    revisions(outcomes[1:])
    assert await store.count("owned/") == 0


async def test_concurrent_batches_do_not_lose_or_mix_outcomes(store: Store) -> None:
    """Every batch creates its own objects and one shared object, which only one of them gets."""
    batches = [
        [contract.create(f"objects/own/{batch}-{number}", b"") for number in range(10)] + [contract.create(KEY, b"%d" % batch)]
        for batch in range(10)
    ]
    outcomes = await asyncio.gather(*(store.commit_many(batch) for batch in batches))
    own = [revision for found in outcomes for revision in revisions(found[:-1])]
    assert len(set(own)) == 100
    (winner,) = [batch for batch, found in enumerate(outcomes) if not isinstance(found[-1], FailedGuards)]
    assert await steps.values(store, "objects/pods/") == {KEY: b"%d" % winner}
    listed = {record.key: record.revision for record in await steps.records(store, "objects/own/")}
    assert listed == {
        txn.key: outcome
        for batch, found in zip(batches, outcomes, strict=True)
        for txn, outcome in zip(batch[:-1], found[:-1], strict=True)
    }


async def test_invalid_transaction_in_a_batch_rejects_the_whole_batch(store: Store) -> None:
    with pytest.raises(errors.InvalidKey):
        await store.commit_many([contract.create(KEY, b""), contract.create("objects//", b"")])
    assert await store.count("objects/") == 0


async def test_cancelled_batch_leaves_each_transaction_whole_or_unapplied(store: Store) -> None:
    txns = [contract.create(f"objects/a/{number}", b"", add_entries=[f"owned/u/{number}"]) for number in range(200)]
    committing = asyncio.create_task(store.commit_many(txns))
    for _ in range(3):
        await asyncio.sleep(0)
    committing.cancel()
    await asyncio.wait([committing])
    await steps.create(store, KEY)
    objects = {key.removeprefix("objects/a/") for key in await steps.list_keys(store, "objects/a/")}
    entries = {key.removeprefix("owned/u/") for key in await steps.list_keys(store, "owned/u/")}
    assert objects == entries


@pytest.mark.parametrize("way", ["update", "delete", "delete together", "renewed entry"])
async def test_guard_that_held_before_does_not_hold_after_a_change_in_the_same_batch(store: Store, way: str) -> None:
    """An engine that caches what it looked up would commit this."""
    entered = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    watched = ENTRY if way == "renewed entry" else KEY
    guard = Unchanged(watched, entered)
    changes = {
        "update": [contract.update(KEY, b"2", revision=entered)],
        "delete": [contract.delete(KEY, revision=entered, remove_entries=[ENTRY])],
        "delete together": [
            contract.delete(KEY, revision=entered),
            contract.delete(OTHER, revision=await steps.create(store, OTHER)),
        ],
        "renewed entry": [contract.update(KEY, b"2", revision=entered, add_entries=[ENTRY])],
    }[way]
    first, *_, last = await store.commit_many(
        [
            contract.create("objects/probes/before", b"", guards=[guard]),
            *changes,
            contract.create("objects/probes/after", b"", guards=[guard]),
        ]
    )
    assert isinstance(first, int)
    assert last == FailedGuards((guard,))


MANY = [f"objects/many/{number:02}" for number in range(40)]


async def fill(store: Store, value: bytes = b"v") -> list[Record]:
    """Creates many objects, each with an entry, and returns their records."""
    await store.commit_many([contract.create(key, value + key.encode(), add_entries=[f"owned/{key}"]) for key in MANY])
    return [record for record in await store.read_many(MANY) if isinstance(record, Record)]


def deletes(records: list[Record], *guards: contract.Guard) -> list[contract.Txn]:
    return [contract.delete(one.key, revision=one.revision, remove_entries=[f"owned/{one.key}"], guards=guards) for one in records]


@pytest.mark.parametrize("size", [1, 10_000])
async def test_many_deletes_show_watchers_the_deleted_values(store: Store, size: int) -> None:
    records = await fill(store, b"v" * size)
    start = await store.revision()
    found = revisions(await store.commit_many(deletes(records)))
    events = await steps.collect_events(store, "objects/", after=start, last=max(found))
    expected = sorted(zip(found, records, strict=True))
    assert [(event.revision, event.key, event.value, event.previous) for event in events] == [
        (revision, record.key, None, record) for revision, record in expected
    ]
    assert await store.count("objects/") == await store.count("owned/") == 0
    assert await steps.records(store, "objects/", at=start) == records


async def test_many_deletes_keep_an_object_that_changed_meanwhile(store: Store) -> None:
    records = await fill(store)
    late = records[17]
    newest = await steps.update(store, late.key, b"new", revision=late.revision)
    outcomes = await store.commit_many(deletes(records))
    assert outcomes[17] == FailedGuards((Unchanged(late.key, late.revision),))
    assert len(revisions(outcomes[:17] + outcomes[18:])) == len(MANY) - 1
    assert await steps.records(store, "objects/") == [Record(late.key, b"new", newest)]
    assert await steps.list_keys(store, "owned/") == [f"owned/{late.key}"]


async def test_many_deletes_under_a_guard_that_fails_delete_nothing(store: Store) -> None:
    owner = await steps.create(store, KEY)
    records = await fill(store)
    guard = Unchanged(KEY, owner)
    await steps.update(store, KEY, b"2", revision=owner)
    assert await store.commit_many(deletes(records, guard)) == [FailedGuards((guard,))] * len(MANY)
    assert [record for record in await store.read_many(MANY) if record] == records


async def test_single_commits_are_committed_between_many_deletes(store: Store) -> None:
    records = await fill(store)
    deleting = asyncio.create_task(store.commit_many(deletes(records)))
    others = await asyncio.gather(*(store.commit(contract.create(f"objects/others/{number}", b"")) for number in range(20)))
    found = revisions([*others, *await deleting])
    assert len(set(found)) == len(found)
    assert await steps.list_keys(store, "objects/") == sorted(f"objects/others/{number}" for number in range(20))
