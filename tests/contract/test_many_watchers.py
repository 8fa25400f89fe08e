"""Many who commit at once, one transaction each: each gets the outcome that it would get alone, in some order."""

from __future__ import annotations

import asyncio

import pytest

from probate.store import contract
from probate.store.contract import Absent, Guard, Outcome, Record, Refused, Store, Txn, Unchanged
from support import store_operations as steps

NAMES = [f"objects/crowd/{number:02}" for number in range(70)]
SPACE = "objects/namespaces/-/a"


async def at_once(store: Store, txns: list[Txn]) -> list[Outcome]:
    return list(await asyncio.gather(*(store.commit(txn) for txn in txns)))


def creates(*guards: Guard, names: list[str] = NAMES) -> list[Txn]:
    return [contract.create(key, b"v" + key.encode(), guards=guards) for key in names]


async def test_all_who_create_get_revisions_of_their_own_and_watchers_see_all(store: Store) -> None:
    guard, start = Unchanged(SPACE, await steps.create(store, SPACE)), await store.revision()
    outcomes = await at_once(store, creates(guard))
    found = [one for one in outcomes if not isinstance(one, Refused)]
    assert len(set(found)) == len(NAMES)
    made = [Record(key, b"v" + key.encode(), revision) for key, revision in zip(NAMES, found, strict=True)]
    assert await steps.records(store, "objects/crowd/") == made
    events = await steps.follow(store, "objects/", after=start, last=max(found))
    assert [(one.key, one.value, one.revision, one.previous) for one in events] == [
        (one.key, one.value, one.revision, None) for one in sorted(made, key=lambda record: record.revision)
    ]
    assert await steps.records(store, "objects/crowd/", at=start) == []


@pytest.mark.parametrize("taken", [0, 15, 16, 40, 69])
async def test_who_creates_what_is_there_is_refused_and_nobody_else(store: Store, taken: int) -> None:
    first = await steps.create(store, NAMES[taken], b"first")
    outcomes = await at_once(store, creates())
    assert [at for at, one in enumerate(outcomes) if isinstance(one, Refused)] == [taken]
    assert outcomes[taken] == Refused((Absent(NAMES[taken]),))
    values = await steps.values(store, "objects/crowd/")
    assert values == {key: b"first" if key == NAMES[taken] else b"v" + key.encode() for key in NAMES}
    found = await store.read(NAMES[taken])
    assert found is not None
    assert found.revision == first


async def test_of_two_who_create_the_same_one_wins(store: Store) -> None:
    outcomes = await at_once(store, [*creates(names=NAMES[:20]), *creates(names=NAMES[:20])])
    for number in range(20):
        assert sorted(isinstance(outcomes[at], Refused) for at in (number, number + 20)) == [False, True]
    assert await steps.names(store, "objects/crowd/") == NAMES[:20]


async def test_nobody_gets_past_a_guard_that_does_not_hold(store: Store) -> None:
    old = await steps.create(store, SPACE)
    await steps.update(store, SPACE, b"closed", old)
    guard = Unchanged(SPACE, old)
    assert await at_once(store, creates(guard)) == [Refused((guard,))] * len(NAMES)
    assert await store.count("objects/crowd/") == 0


async def test_one_who_has_a_guard_of_its_own_that_does_not_hold_is_refused_alone(store: Store) -> None:
    guard, txns = Unchanged(SPACE, await steps.create(store, SPACE)), creates()
    wrong = Unchanged("objects/pods/none", contract.Revision(1))
    txns = [contract.create(one.key, b"", guards=[guard, wrong] if at == 9 else [guard]) for at, one in enumerate(txns)]
    outcomes = await at_once(store, txns)
    assert [at for at, one in enumerate(outcomes) if isinstance(one, Refused)] == [9]


async def test_guard_on_what_one_of_the_crowd_creates_sees_it_or_does_not_but_is_never_wrong(store: Store) -> None:
    """An engine that remembers that the key was absent would let the last ones through after the crowd."""
    asked = NAMES[3]
    doubts = [contract.create(f"objects/doubts/{at}", b"", guards=[Unchanged(asked, contract.Revision(1))]) for at in range(3)]
    hopes = [contract.create(f"objects/hopes/{at}", b"", guards=[Absent(asked)]) for at in range(20)]
    outcomes = await at_once(store, [*doubts, *creates(names=NAMES[:16]), *hopes])
    made = outcomes[3 + 3]
    assert not isinstance(made, Refused)
    assert all(isinstance(one, Refused) for one in outcomes[:3])
    assert all(isinstance(one, Refused) or one < made for one in outcomes[-20:])


async def test_large_values_and_those_with_entries_come_through_a_crowd_as_well(store: Store) -> None:
    large, entry = b"x" * 100_000, "owned/u/one"
    txns = creates()
    txns[5] = contract.create(NAMES[5], large)
    txns[20] = contract.create(NAMES[20], b"", enter=[entry])
    assert not [one for one in await at_once(store, txns) if isinstance(one, Refused)]
    found, entered = await store.read(NAMES[5]), await store.read(entry)
    assert found is not None
    assert found.value == large
    assert entered is not None
