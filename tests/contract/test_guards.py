"""Guards: what each kind holds to be true, of objects and of index entries, and how a refusal names them."""

from __future__ import annotations

import pytest

from probate.store import contract
from probate.store.contract import NOTHING, Absent, EmptyRange, Guard, Revision, Store, Unchanged
from support import store_operations as steps

KEY = "objects/pods/a/x"
PARENT = "objects/apps/a/parent"
CLOSED = "closed/scope"


async def holds(store: Store, guard: Guard) -> bool:
    """Whether a transaction that changes something else goes through under this guard."""
    key = "objects/probes/p"
    record = await store.read(key)
    txn = (
        contract.create(key, b"", guards=[guard])
        if record is None
        else contract.update(key, b"", revision=record.revision, guards=[guard])
    )
    outcome = await store.commit(txn)
    if isinstance(outcome, contract.Refused):
        assert outcome.failed == (guard,)
        assert await store.read(key) == record
        return False
    return True


async def test_absent_holds_until_the_object_is_there_and_again_once_it_is_deleted(store: Store) -> None:
    assert await holds(store, Absent(PARENT))
    revision = await steps.create(store, PARENT)
    assert not await holds(store, Absent(PARENT))
    await steps.delete(store, PARENT, revision)
    assert await holds(store, Absent(PARENT))


async def test_absent_is_about_the_key_and_not_what_lies_under_it(store: Store) -> None:
    await steps.create(store, PARENT + "/below")
    await steps.create(store, PARENT + "-beside")
    assert await holds(store, Absent(PARENT))


async def test_unchanged_holds_for_the_newest_revision_only(store: Store) -> None:
    old = await steps.create(store, PARENT)
    assert await holds(store, Unchanged(PARENT, old))
    new = await steps.update(store, PARENT, b"2", old)
    assert not await holds(store, Unchanged(PARENT, old))
    assert await holds(store, Unchanged(PARENT, new))
    assert not await holds(store, Unchanged(PARENT, Revision(new + 1)))
    deleted = await steps.delete(store, PARENT, new)
    for revision in (old, new, deleted):
        assert not await holds(store, Unchanged(PARENT, revision))


async def test_unchanged_never_holds_for_an_absent_key_even_at_revision_nothing(store: Store) -> None:
    """An engine that stores absence as revision 0 would let this through."""
    assert not await holds(store, Unchanged(PARENT, NOTHING))
    assert not await holds(store, Unchanged(CLOSED, NOTHING))


async def test_guards_work_on_index_entries(store: Store) -> None:
    assert await holds(store, Absent(CLOSED))
    assert not await holds(store, Unchanged(CLOSED, await store.revision()))
    first = await steps.commit(store, contract.create(KEY, b"", enter=[CLOSED]))
    assert not await holds(store, Absent(CLOSED))
    assert await holds(store, Unchanged(CLOSED, first))
    second = await steps.commit(store, contract.update(KEY, b"", revision=first, enter=[CLOSED]))
    assert not await holds(store, Unchanged(CLOSED, first))
    assert await holds(store, Unchanged(CLOSED, second))
    await steps.commit(store, contract.update(KEY, b"", revision=second, leave=[CLOSED]))
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
    revision = await steps.commit(store, contract.create(KEY, b"", enter=["owned/u/objects/pods/a/x"]))
    assert not await holds(store, EmptyRange("owned/u/"))
    assert not await holds(store, EmptyRange("owned/"))
    await steps.commit(store, contract.update(KEY, b"", revision=revision, leave=["owned/u/objects/pods/a/x"]))
    assert await holds(store, EmptyRange("owned/u/"))


@pytest.mark.parametrize("neighbour", ["ab/x", "a", "a-b/x", "a.b/x", "a0/x", "A/x", "a\u00e9/x", "b/a/x"])
async def test_empty_range_looks_at_whole_segments(store: Store, neighbour: str) -> None:
    await steps.commit(store, contract.create(f"objects/pods/{neighbour}", b"", enter=[f"owned/{neighbour}"]))
    assert await holds(store, EmptyRange("objects/pods/a/"))
    assert await holds(store, EmptyRange("owned/a/"))


async def test_guards_see_the_store_as_it_was_before_the_transaction(store: Store) -> None:
    entry = "owned/u/objects/pods/a/x"
    guards: list[Guard] = [EmptyRange("objects/pods/"), Absent(KEY), Absent(entry), EmptyRange("owned/u/")]
    revision = await steps.commit(store, contract.create(KEY, b"", enter=[entry], guards=guards))
    unchanged: list[Guard] = [Unchanged(entry, revision), Unchanged(KEY, revision)]
    await steps.commit(store, contract.delete(KEY, revision=revision, leave=[entry], guards=unchanged))


async def test_own_object_in_a_guarded_range_makes_a_delete_impossible(store: Store) -> None:
    revision = await steps.create(store, KEY)
    guard = EmptyRange("objects/pods/a/")
    assert await steps.refused(store, contract.delete(KEY, revision=revision, guards=[guard])) == (guard,)


async def test_refusal_names_every_failed_guard_in_order_and_the_own_one_first(store: Store) -> None:
    there = await steps.commit(store, contract.create(PARENT, b"", enter=[CLOSED]))
    wrong = Revision(there + 100)
    guards: list[Guard] = [
        EmptyRange("owned/none/"),
        Absent(CLOSED),
        Unchanged(PARENT, there),
        EmptyRange("objects/apps/"),
        Unchanged("objects/none/n", there),
        Absent("objects/none/n"),
        Absent(PARENT),
        Unchanged(CLOSED, wrong),
    ]
    failing = (guards[1], guards[3], guards[4], guards[6], guards[7])
    assert await steps.refused(store, contract.create(KEY, b"", guards=guards)) == failing
    own = Unchanged(KEY, wrong)
    assert await steps.refused(store, contract.update(KEY, b"", revision=wrong, guards=guards)) == (own, *failing)
    assert await steps.refused(store, contract.delete(KEY, revision=wrong, guards=guards[::-1])) == (own, *failing[::-1])


async def test_example_of_the_contract_comes_out_as_written(store: Store) -> None:
    entry = "owned/u1@a/objects/pods/a/x"
    first = await steps.commit(store, contract.create(KEY, b"1", enter=[entry]))
    assert await steps.refused(store, contract.create(KEY, b"1")) == (Absent(KEY),)
    second = await steps.update(store, KEY, b"2", first)
    owner, never = "objects/apps/a/owner", Revision(first + 7)
    guard = EmptyRange("owned/u1@a/")
    assert await steps.refused(store, contract.delete(owner, revision=never, guards=[guard])) == (Unchanged(owner, never), guard)
    (event,) = await steps.follow(store, "objects/pods/", after=first, last=second)
    assert event == contract.Event(second, KEY, b"2", contract.Record(KEY, b"1", first))
    assert await steps.values(store, "objects/", at=first) == {KEY: b"1"}
    assert await steps.records(store, "owned/u1@a/") == [contract.Record(entry, b"", first)]
