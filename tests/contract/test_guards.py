"""Guards: when each kind holds, for objects and index entries, and how a failure names them."""

from __future__ import annotations

import pytest

from probate.store import contract
from probate.store.contract import NO_REVISION, Absent, EmptyRange, Guard, Revision, Store, Unchanged
from support import store_operations as steps

KEY = "objects/pods/a/x"
PARENT = "objects/replicasets.apps/a/parent"
CLOSED = "closed/scope"


async def holds(store: Store, guard: Guard) -> bool:
    """Returns whether a transaction that changes another object is committed under this guard."""
    key = "objects/probes/p"
    record = await store.read(key)
    txn = (
        contract.create(key, b"", guards=[guard])
        if record is None
        else contract.update(key, b"", revision=record.revision, guards=[guard])
    )
    outcome = await store.commit(txn)
    if isinstance(outcome, contract.FailedGuards):
        assert outcome.guards == (guard,)
        assert await store.read(key) == record
        return False
    return True


async def test_absent_holds_until_the_object_is_created_and_after_it_is_deleted(store: Store) -> None:
    assert await holds(store, Absent(PARENT))
    revision = await steps.create(store, PARENT)
    assert not await holds(store, Absent(PARENT))
    await steps.delete(store, PARENT, revision)
    assert await holds(store, Absent(PARENT))


async def test_absent_ignores_keys_below_the_key(store: Store) -> None:
    await steps.create(store, PARENT + "/below")
    await steps.create(store, PARENT + "-beside")
    assert await holds(store, Absent(PARENT))


async def test_unchanged_holds_for_the_newest_revision_only(store: Store) -> None:
    old = await steps.create(store, PARENT)
    assert await holds(store, Unchanged(PARENT, old))
    new = await steps.update(store, PARENT, b"2", revision=old)
    assert not await holds(store, Unchanged(PARENT, old))
    assert await holds(store, Unchanged(PARENT, new))
    assert not await holds(store, Unchanged(PARENT, Revision(new + 1)))
    deleted = await steps.delete(store, PARENT, new)
    for revision in (old, new, deleted):
        assert not await holds(store, Unchanged(PARENT, revision))


async def test_unchanged_never_holds_for_an_absent_key_even_at_revision_zero(store: Store) -> None:
    """An engine that treats absence as revision 0 would commit this."""
    assert not await holds(store, Unchanged(PARENT, NO_REVISION))
    assert not await holds(store, Unchanged(CLOSED, NO_REVISION))


async def test_guards_work_on_index_entries(store: Store) -> None:
    assert await holds(store, Absent(CLOSED))
    assert not await holds(store, Unchanged(CLOSED, await store.revision()))
    first = await steps.commit(store, contract.create(KEY, b"", add_entries=[CLOSED]))
    assert not await holds(store, Absent(CLOSED))
    assert await holds(store, Unchanged(CLOSED, first))
    second = await steps.commit(store, contract.update(KEY, b"", revision=first, add_entries=[CLOSED]))
    assert not await holds(store, Unchanged(CLOSED, first))
    assert await holds(store, Unchanged(CLOSED, second))
    await steps.commit(store, contract.update(KEY, b"", revision=second, remove_entries=[CLOSED]))
    assert await holds(store, Absent(CLOSED))
    assert not await holds(store, Unchanged(CLOSED, second))


async def test_empty_range_sees_objects(store: Store) -> None:
    assert await holds(store, EmptyRange("objects/pods/"))
    revision = await steps.create(store, KEY)
    for prefix in ("objects/pods/", "objects/pods/a/"):
        assert not await holds(store, EmptyRange(prefix))
    await steps.delete(store, KEY, revision)
    assert await holds(store, EmptyRange("objects/pods/"))


async def test_empty_range_sees_index_entries(store: Store) -> None:
    assert await holds(store, EmptyRange("owned/u/"))
    revision = await steps.commit(store, contract.create(KEY, b"", add_entries=["owned/u/objects/pods/a/x"]))
    assert not await holds(store, EmptyRange("owned/u/"))
    assert not await holds(store, EmptyRange("owned/"))
    await steps.commit(store, contract.update(KEY, b"", revision=revision, remove_entries=["owned/u/objects/pods/a/x"]))
    assert await holds(store, EmptyRange("owned/u/"))


@pytest.mark.parametrize("neighbour", ["ab/x", "a", "a-b/x", "a.b/x", "a0/x", "A/x", "a\u00e9/x", "b/a/x"])
async def test_empty_range_compares_whole_segments(store: Store, neighbour: str) -> None:
    await steps.commit(store, contract.create(f"objects/pods/{neighbour}", b"", add_entries=[f"owned/{neighbour}"]))
    assert await holds(store, EmptyRange("objects/pods/a/"))
    assert await holds(store, EmptyRange("owned/a/"))


async def test_guards_see_the_store_as_it_was_before_the_transaction(store: Store) -> None:
    entry = "owned/u/objects/pods/a/x"
    guards: list[Guard] = [EmptyRange("objects/pods/"), Absent(KEY), Absent(entry), EmptyRange("owned/u/")]
    revision = await steps.commit(store, contract.create(KEY, b"", add_entries=[entry], guards=guards))
    unchanged: list[Guard] = [Unchanged(entry, revision), Unchanged(KEY, revision)]
    await steps.commit(store, contract.delete(KEY, revision=revision, remove_entries=[entry], guards=unchanged))


async def test_own_object_in_a_guarded_range_makes_a_delete_impossible(store: Store) -> None:
    revision = await steps.create(store, KEY)
    guard = EmptyRange("objects/pods/a/")
    assert await steps.failed_guards(store, contract.delete(KEY, revision=revision, guards=[guard])) == (guard,)


async def test_failure_names_every_failed_guard_in_order_and_the_own_one_first(store: Store) -> None:
    there = await steps.commit(store, contract.create(PARENT, b"", add_entries=[CLOSED]))
    wrong = Revision(there + 100)
    guards: list[Guard] = [
        EmptyRange("owned/none/"),
        Absent(CLOSED),
        Unchanged(PARENT, there),
        EmptyRange("objects/replicasets.apps/"),
        Unchanged("objects/none/n", there),
        Absent("objects/none/n"),
        Absent(PARENT),
        Unchanged(CLOSED, wrong),
    ]
    failing = (guards[1], guards[3], guards[4], guards[6], guards[7])
    assert await steps.failed_guards(store, contract.create(KEY, b"", guards=guards)) == failing
    own = Unchanged(KEY, wrong)
    assert await steps.failed_guards(store, contract.update(KEY, b"", revision=wrong, guards=guards)) == (own, *failing)
    assert await steps.failed_guards(store, contract.delete(KEY, revision=wrong, guards=guards[::-1])) == (own, *failing[::-1])


async def test_example_in_the_docstring_of_the_contract_is_correct(store: Store) -> None:
    entry = "owned/u1/a/objects/pods/a/x"
    first = await steps.commit(store, contract.create(KEY, b"1", add_entries=[entry]))
    assert await steps.failed_guards(store, contract.create(KEY, b"1")) == (Absent(KEY),)
    second = await steps.update(store, KEY, b"2", revision=first)
    owner, never = "objects/replicasets.apps/a/owner", Revision(first + 7)
    guard = EmptyRange("owned/u1/a/")
    assert await steps.failed_guards(store, contract.delete(owner, revision=never, guards=[guard])) == (
        Unchanged(owner, never),
        guard,
    )
    (event,) = await steps.collect_events(store, "objects/pods/", after=first, last=second)
    assert event == contract.Event(second, KEY, b"2", contract.Record(KEY, b"1", first))
    assert await steps.values(store, "objects/", at=first) == {KEY: b"1"}
    assert await steps.records(store, "owned/u1/a/") == [contract.Record(entry, b"", first)]
