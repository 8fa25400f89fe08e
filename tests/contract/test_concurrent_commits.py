"""Many concurrent single commits: each gets the result that it would get alone, in some order."""

from __future__ import annotations

import asyncio

import pytest

from probate.store import contract
from probate.store.contract import Absent, CommitResult, FailedGuards, Guard, Record, Store, Txn, Unchanged
from support import store_operations as steps

NAMES = [f"objects/crowd/{number:02}" for number in range(70)]
NAMESPACE = "objects/namespaces/-/a"


async def commit_concurrently(store: Store, txns: list[Txn]) -> list[CommitResult]:
    return list(await asyncio.gather(*(store.commit(txn) for txn in txns)))


def creates(*guards: Guard, names: list[str] = NAMES) -> list[Txn]:
    return [contract.create(key, b"v" + key.encode(), guards=guards) for key in names]


async def test_concurrent_creates_get_different_revisions_and_watchers_see_all(store: Store) -> None:
    guard, start = Unchanged(NAMESPACE, await steps.create(store, NAMESPACE)), await store.revision()
    outcomes = await commit_concurrently(store, creates(guard))
    found = [one for one in outcomes if not isinstance(one, FailedGuards)]
    assert len(set(found)) == len(NAMES)
    made = [Record(key, b"v" + key.encode(), revision) for key, revision in zip(NAMES, found, strict=True)]
    assert await steps.records(store, "objects/crowd/") == made
    events = await steps.collect_events(store, "objects/", after=start, last=max(found))
    assert [(one.key, one.value, one.revision, one.previous) for one in events] == [
        (one.key, one.value, one.revision, None) for one in sorted(made, key=lambda record: record.revision)
    ]
    assert await steps.records(store, "objects/crowd/", at=start) == []


@pytest.mark.parametrize("taken", [0, 15, 16, 40, 69])
async def test_only_the_create_of_an_existing_object_fails(store: Store, taken: int) -> None:
    first = await steps.create(store, NAMES[taken], b"first")
    outcomes = await commit_concurrently(store, creates())
    assert [at for at, one in enumerate(outcomes) if isinstance(one, FailedGuards)] == [taken]
    assert outcomes[taken] == FailedGuards((Absent(NAMES[taken]),))
    values = await steps.values(store, "objects/crowd/")
    assert values == {key: b"first" if key == NAMES[taken] else b"v" + key.encode() for key in NAMES}
    found = await store.read(NAMES[taken])
    assert found is not None
    assert found.revision == first


async def test_one_of_two_creates_of_the_same_object_succeeds(store: Store) -> None:
    outcomes = await commit_concurrently(store, [*creates(names=NAMES[:20]), *creates(names=NAMES[:20])])
    for number in range(20):
        assert sorted(isinstance(outcomes[at], FailedGuards) for at in (number, number + 20)) == [False, True]
    assert await steps.list_keys(store, "objects/crowd/") == NAMES[:20]


async def test_no_create_succeeds_under_a_guard_that_fails(store: Store) -> None:
    old = await steps.create(store, NAMESPACE)
    await steps.update(store, NAMESPACE, b"closed", revision=old)
    guard = Unchanged(NAMESPACE, old)
    assert await commit_concurrently(store, creates(guard)) == [FailedGuards((guard,))] * len(NAMES)
    assert await store.count("objects/crowd/") == 0


async def test_only_the_create_whose_own_guard_fails_is_rejected(store: Store) -> None:
    guard, txns = Unchanged(NAMESPACE, await steps.create(store, NAMESPACE)), creates()
    wrong = Unchanged("objects/pods/none", contract.Revision(1))
    txns = [contract.create(one.key, b"", guards=[guard, wrong] if at == 9 else [guard]) for at, one in enumerate(txns)]
    outcomes = await commit_concurrently(store, txns)
    assert [at for at, one in enumerate(outcomes) if isinstance(one, FailedGuards)] == [9]


async def test_guard_on_a_concurrently_created_object_is_never_wrong(store: Store) -> None:
    """An engine that caches the absence of the key would let the last ones succeed after the others."""
    asked = NAMES[3]
    doubts = [contract.create(f"objects/doubts/{at}", b"", guards=[Unchanged(asked, contract.Revision(1))]) for at in range(3)]
    hopes = [contract.create(f"objects/hopes/{at}", b"", guards=[Absent(asked)]) for at in range(20)]
    outcomes = await commit_concurrently(store, [*doubts, *creates(names=NAMES[:16]), *hopes])
    made = outcomes[3 + 3]
    assert not isinstance(made, FailedGuards)
    assert all(isinstance(one, FailedGuards) for one in outcomes[:3])
    assert all(isinstance(one, FailedGuards) or one < made for one in outcomes[-20:])


async def test_large_values_and_creates_with_entries_succeed_among_many_creates(store: Store) -> None:
    large, entry = b"x" * 100_000, "owned/u/one"
    txns = creates()
    txns[5] = contract.create(NAMES[5], large)
    txns[20] = contract.create(NAMES[20], b"", add_entries=[entry])
    assert not [one for one in await commit_concurrently(store, txns) if isinstance(one, FailedGuards)]
    found, entered = await store.read(NAMES[5]), await store.read(entry)
    assert found is not None
    assert found.value == large
    assert entered is not None
