"""Many deletes at once, of objects that stand side by side or do not: just those go, and none that stands among them."""

from __future__ import annotations

import random

import pytest

from probate.store import contract
from probate.store.contract import EmptyRange, Record, Refused, Store
from support import store_operations as steps

NAMES = [f"objects/many/{number:03}" for number in range(120)]


async def fill(store: Store) -> list[Record]:
    """Objects that all refer to one owner, as they are when they are read."""
    await store.commit_many([contract.create(key, b"v" + key.encode(), enter=[f"owned/u/{key}"]) for key in NAMES])
    return [record for record in await store.read_many(NAMES) if isinstance(record, Record)]


def deletes(records: list[Record], guard: contract.Guard | None = None) -> list[contract.Txn]:
    guards = () if guard is None else (guard,)
    return [contract.delete(one.key, revision=one.revision, leave=[f"owned/u/{one.key}"], guards=guards) for one in records]


def chosen(way: str, records: list[Record]) -> list[Record]:
    return {
        "all": records,
        "the first": records[:50],
        "from the middle": records[40:100],
        "every other": records[::2],
        "all but one in the middle": records[:60] + records[61:],
        "backwards": records[::-1],
        "in any order": random.Random(1).sample(records, 90),  # noqa: S311
    }[way]


WAYS = ["all", "the first", "from the middle", "every other", "all but one in the middle", "backwards", "in any order"]


@pytest.mark.parametrize("way", WAYS)
async def test_just_what_is_to_go_goes_and_watchers_see_all_of_it(store: Store, way: str) -> None:
    records = await fill(store)
    going, start = chosen(way, records), await store.revision()
    outcomes = await store.commit_many(deletes(going))
    found = [one for one in outcomes if not isinstance(one, Refused)]
    assert len(found) == len(going)
    events = await steps.follow(store, "objects/", after=start, last=max(found))
    seen = [(event.revision, event.key, event.value, event.previous) for event in events]
    assert seen == [(revision, one.key, None, one) for revision, one in sorted(zip(found, going, strict=True))]
    gone = {one.key for one in going}
    stay = [one for one in records if one.key not in gone]
    assert await steps.records(store, "objects/") == stay
    assert await steps.names(store, "owned/") == [f"owned/u/{one.key}" for one in stay]
    assert await steps.records(store, "objects/", at=start) == records


async def test_entries_of_others_stay_that_stand_among_those_that_are_left(store: Store) -> None:
    records = await fill(store)
    strangers = [f"owned/u/{key}x" for key in NAMES[10:20]]
    await steps.commit(store, contract.create("objects/other/one", b"", enter=strangers))
    await store.commit_many(deletes(records))
    assert await steps.names(store, "owned/") == strangers


async def test_entry_that_is_not_there_is_no_obstacle_and_no_other_goes_in_its_place(store: Store) -> None:
    records = await fill(store)
    missing, stranger = f"owned/u/{NAMES[7]}", f"owned/u/{NAMES[7]}x"
    await steps.commit(store, contract.create("objects/other/one", b"", enter=[stranger]))
    await steps.commit(store, contract.create("objects/other/two", b"", enter=["owned/x"]))
    found = await store.read("objects/other/two")
    assert found is not None
    await steps.commit(store, contract.update("objects/other/two", b"", revision=found.revision, leave=[missing]))
    await store.commit_many(deletes(records))
    assert await steps.names(store, "owned/u/") == [stranger]


@pytest.mark.parametrize("changed", [0, 60, len(NAMES) - 1])
async def test_neighbour_that_was_made_anew_meanwhile_stays(store: Store, changed: int) -> None:
    records = await fill(store)
    other = records[changed]
    await steps.delete(store, other.key, other.revision)
    await steps.create(store, other.key, b"another")
    outcomes = await store.commit_many(deletes(records))
    assert [at for at, outcome in enumerate(outcomes) if isinstance(outcome, Refused)] == [changed]
    assert await steps.values(store, "objects/") == {other.key: b"another"}


@pytest.mark.parametrize("is_read", [True, False])
async def test_who_waits_until_others_have_left_a_range_goes_after_them_in_the_same_list(store: Store, *, is_read: bool) -> None:
    """Three levels: each owner goes under the guard that nothing is left below it, and all are in one list, the lowest first."""
    levels = [[f"objects/tree/{depth}-{number:02}" for number in range(20)] for depth in range(3)]
    above = {key: levels[depth - 1][number // 2] if depth else "" for depth in range(3) for number, key in enumerate(levels[depth])}
    await store.commit_many([contract.create(key, b"1", enter=_entry(key, above[key])) for level in levels for key in level])
    keys = [key for level in reversed(levels) for key in level]
    found = {one.key: one for one in await store.read_many(keys) if one is not None}
    if not is_read:  # as a collector does: it marks them, and deletes what it has marked
        marks = [contract.update(one.key, b"marked", revision=one.revision) for one in found.values()]
        for key, outcome in zip(found, await store.commit_many(marks), strict=True):
            assert not isinstance(outcome, Refused)
            found[key] = Record(key, b"marked", outcome)
    going = [
        contract.delete(key, revision=found[key].revision, leave=_entry(key, above[key]), guards=[EmptyRange(f"owned/{key}/")])
        for key in keys
    ]
    start = await store.revision()
    outcomes = await store.commit_many(going)
    gone = {key: one for key, one in zip(keys, outcomes, strict=True) if not isinstance(one, Refused)}
    assert gone.keys() == found.keys()
    assert all(gone[key] < gone[above[key]] for key in keys if above[key])
    events = await steps.follow(store, "objects/", after=start, last=max(gone.values()))
    assert {event.key: event.previous for event in events} == found
    assert await store.count("owned/") == 0


async def test_who_still_holds_something_stays_and_so_does_all_above_it(store: Store) -> None:
    owners = [f"objects/owners/{number:02}" for number in range(30)]
    await store.commit_many([contract.create(key, b"1") for key in owners])
    held = owners[11]
    await steps.commit(store, contract.create("objects/pods/one", b"", enter=[f"owned/{held}/pod"]))
    found = [one for one in await store.read_many(owners) if one is not None]
    outcomes = await store.commit_many(
        [contract.delete(one.key, revision=one.revision, guards=[EmptyRange(f"owned/{one.key}/")]) for one in found]
    )
    assert [at for at, one in enumerate(outcomes) if isinstance(one, Refused)] == [11]
    assert outcomes[11] == Refused((EmptyRange(f"owned/{held}/"),))
    assert await steps.names(store, "objects/owners/") == [held]


def _entry(key: str, owner: str) -> list[str]:
    return [f"owned/{owner}/{key}"] if owner else []
