"""Bulk deletes of objects with adjacent or scattered keys: exactly these are deleted, and no other object between them."""

from __future__ import annotations

import random

import pytest

from probate.store import contract
from probate.store.contract import EmptyRange, FailedGuards, Record, Store
from support import store_operations as steps

NAMES = [f"objects/many/{number:03}" for number in range(120)]


async def fill(store: Store) -> list[Record]:
    """Creates objects that all refer to one owner, and returns their records."""
    await store.commit_many([contract.create(key, b"v" + key.encode(), add_entries=[f"owned/u/{key}"]) for key in NAMES])
    return [record for record in await store.read_many(NAMES) if isinstance(record, Record)]


def deletes(records: list[Record], guard: contract.Guard | None = None) -> list[contract.Txn]:
    guards = () if guard is None else (guard,)
    return [
        contract.delete(one.key, revision=one.revision, remove_entries=[f"owned/u/{one.key}"], guards=guards) for one in records
    ]


def selection(pattern: str, records: list[Record]) -> list[Record]:
    return {
        "all": records,
        "the first": records[:50],
        "from the middle": records[40:100],
        "every other": records[::2],
        "all but one in the middle": records[:60] + records[61:],
        "backwards": records[::-1],
        "in any order": random.Random(1).sample(records, 90),  # noqa: S311
    }[pattern]


PATTERNS = ["all", "the first", "from the middle", "every other", "all but one in the middle", "backwards", "in any order"]


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_exactly_the_given_objects_are_deleted_and_watchers_see_all_of_them(store: Store, pattern: str) -> None:
    records = await fill(store)
    going, start = selection(pattern, records), await store.revision()
    outcomes = await store.commit_many(deletes(going))
    found = [one for one in outcomes if not isinstance(one, FailedGuards)]
    assert len(found) == len(going)
    events = await steps.collect_events(store, "objects/", after=start, last=max(found))
    seen = [(event.revision, event.key, event.value, event.previous) for event in events]
    assert seen == [(revision, one.key, None, one) for revision, one in sorted(zip(found, going, strict=True))]
    gone = {one.key for one in going}
    stay = [one for one in records if one.key not in gone]
    assert await steps.records(store, "objects/") == stay
    assert await steps.list_keys(store, "owned/") == [f"owned/u/{one.key}" for one in stay]
    assert await steps.records(store, "objects/", at=start) == records


async def test_entries_of_other_objects_between_the_removed_ones_stay(store: Store) -> None:
    records = await fill(store)
    strangers = [f"owned/u/{key}x" for key in NAMES[10:20]]
    await steps.commit(store, contract.create("objects/other/one", b"", add_entries=strangers))
    await store.commit_many(deletes(records))
    assert await steps.list_keys(store, "owned/") == strangers


async def test_absent_entry_is_ignored_and_no_other_entry_is_removed_instead(store: Store) -> None:
    records = await fill(store)
    missing, stranger = f"owned/u/{NAMES[7]}", f"owned/u/{NAMES[7]}x"
    await steps.commit(store, contract.create("objects/other/one", b"", add_entries=[stranger]))
    await steps.commit(store, contract.create("objects/other/two", b"", add_entries=["owned/x"]))
    found = await store.read("objects/other/two")
    assert found is not None
    await steps.commit(store, contract.update("objects/other/two", b"", revision=found.revision, remove_entries=[missing]))
    await store.commit_many(deletes(records))
    assert await steps.list_keys(store, "owned/u/") == [stranger]


@pytest.mark.parametrize("changed", [0, 60, len(NAMES) - 1])
async def test_object_recreated_meanwhile_stays(store: Store, changed: int) -> None:
    records = await fill(store)
    other = records[changed]
    await steps.delete(store, other.key, other.revision)
    await steps.create(store, other.key, b"another")
    outcomes = await store.commit_many(deletes(records))
    assert [at for at, outcome in enumerate(outcomes) if isinstance(outcome, FailedGuards)] == [changed]
    assert await steps.values(store, "objects/") == {other.key: b"another"}


@pytest.mark.parametrize("is_read", [True, False])
async def test_delete_guarded_by_an_empty_range_follows_the_deletes_of_the_range_in_the_same_list(
    store: Store, *, is_read: bool
) -> None:
    """Three levels: each owner is deleted under the guard that it has no dependents, all in one list, the lowest level first."""
    levels = [[f"objects/tree/{depth}-{number:02}" for number in range(20)] for depth in range(3)]
    above = {key: levels[depth - 1][number // 2] if depth else "" for depth in range(3) for number, key in enumerate(levels[depth])}
    await store.commit_many([contract.create(key, b"1", add_entries=_entry(key, above[key])) for level in levels for key in level])
    keys = [key for level in reversed(levels) for key in level]
    found = {one.key: one for one in await store.read_many(keys) if one is not None}
    if not is_read:  # as the collector does: it marks the objects and deletes what it has marked
        marks = [contract.update(one.key, b"marked", revision=one.revision) for one in found.values()]
        for key, outcome in zip(found, await store.commit_many(marks), strict=True):
            assert not isinstance(outcome, FailedGuards)
            found[key] = Record(key, b"marked", outcome)
    going = [
        contract.delete(
            key, revision=found[key].revision, remove_entries=_entry(key, above[key]), guards=[EmptyRange(f"owned/{key}/")]
        )
        for key in keys
    ]
    start = await store.revision()
    outcomes = await store.commit_many(going)
    gone = {key: one for key, one in zip(keys, outcomes, strict=True) if not isinstance(one, FailedGuards)}
    assert gone.keys() == found.keys()
    assert all(gone[key] < gone[above[key]] for key in keys if above[key])
    events = await steps.collect_events(store, "objects/", after=start, last=max(gone.values()))
    assert {event.key: event.previous for event in events} == found
    assert await store.count("owned/") == 0


async def test_owner_that_still_has_a_dependent_stays_and_so_do_its_owners(store: Store) -> None:
    owners = [f"objects/owners/{number:02}" for number in range(30)]
    await store.commit_many([contract.create(key, b"1") for key in owners])
    held = owners[11]
    await steps.commit(store, contract.create("objects/pods/one", b"", add_entries=[f"owned/{held}/pod"]))
    found = [one for one in await store.read_many(owners) if one is not None]
    outcomes = await store.commit_many(
        [contract.delete(one.key, revision=one.revision, guards=[EmptyRange(f"owned/{one.key}/")]) for one in found]
    )
    assert [at for at, one in enumerate(outcomes) if isinstance(one, FailedGuards)] == [11]
    assert outcomes[11] == FailedGuards((EmptyRange(f"owned/{held}/"),))
    assert await steps.list_keys(store, "objects/owners/") == [held]


def _entry(key: str, owner: str) -> list[str]:
    return [f"owned/{owner}/{key}"] if owner else []
