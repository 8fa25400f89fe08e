"""Limits: what exceeds one or is invalid is rejected with the right error and changes nothing; what just fits is accepted."""

from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.store import contract, keys
from probate.store.contract import NO_REVISION, Absent, EmptyRange, FailedGuards, Guard, Record, Revision, Store, Unchanged
from support import store_operations as steps

KEY = "objects/k/x"


def entries(count: int, start: int = 0) -> list[str]:
    return [f"owned/u/{number:05}" for number in range(start, start + count)]


async def assert_untouched(store: Store, before: Revision) -> None:
    assert [await store.count(prefix) for prefix in ("objects/", "owned/")] == [0, 0]
    assert await store.revision() == before


async def test_value_of_exactly_the_limit_is_stored_read_and_watched(store: Store) -> None:
    start = await store.revision()
    value = bytes(range(256)) * (store.limits.value_bytes // 256) + b"x" * (store.limits.value_bytes % 256)
    revision = await steps.create(store, KEY, value)
    assert await store.read(KEY) == Record(KEY, value, revision)
    updated = await steps.update(store, KEY, value[::-1], revision=revision)
    events = await steps.collect_events(store, "objects/", after=start, last=updated)
    assert [event.value for event in events] == [value, value[::-1]]
    assert events[1].previous == Record(KEY, value, revision)


async def test_page_of_the_largest_values_is_read(store: Store) -> None:
    value = b"v" * store.limits.value_bytes
    for number in range(4):
        await steps.create(store, f"objects/k/{number}", value)
    assert [record.value == value for record in await steps.records(store, "objects/")] == [True] * 4
    assert len(await steps.records(store, "objects/", at=await store.revision())) == 4


async def test_live_watcher_gets_the_largest_values(store: Store) -> None:
    value = b"v" * store.limits.value_bytes
    async with store.watch("objects/", after=await store.revision()) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 3))
        outcomes = await store.commit_many([contract.create(f"objects/k/{number}", value) for number in range(3)])
        assert not any(isinstance(outcome, FailedGuards) for outcome in outcomes)
        assert [event.value == value for event in await taking] == [True] * 3


async def test_value_over_the_limit_is_rejected_and_changes_nothing(store: Store) -> None:
    before = await store.revision()
    value = b"x" * (store.limits.value_bytes + 1)
    with pytest.raises(errors.TooLarge):
        await store.commit(contract.create(KEY, value, add_entries=entries(1)))
    with pytest.raises(errors.TooLarge):
        await store.commit_many([contract.create("objects/k/y", b""), contract.create(KEY, value)])
    await assert_untouched(store, before)


async def test_as_many_entries_as_the_limit_are_added_and_removed_together(store: Store) -> None:
    most = store.limits.entries
    first = await steps.commit(store, contract.create(KEY, b"", add_entries=entries(most)))
    assert await store.count("owned/u/") == most
    half = most // 2
    second = await steps.commit(
        store, contract.update(KEY, b"", revision=first, remove_entries=entries(half), add_entries=entries(most - half, start=most))
    )
    assert await store.count("owned/u/") == most - half + (most - half)
    assert await store.read(entries(1, start=most)[0]) == Record(entries(1, start=most)[0], b"", second)


async def test_more_entries_than_the_limit_are_rejected(store: Store) -> None:
    before = await store.revision()
    with pytest.raises(errors.TooLarge):
        await store.commit(contract.create(KEY, b"", add_entries=entries(store.limits.entries + 1)))
    both = contract.Txn(KEY, b"", NO_REVISION, add_entries=tuple(entries(store.limits.entries)), remove_entries=("owned/v/x",))
    with pytest.raises(errors.TooLarge):
        await store.commit(both)
    await assert_untouched(store, before)


async def test_as_many_guards_as_the_limit_are_all_evaluated(store: Store) -> None:
    holding: list[Guard] = [Absent(f"objects/none/{number}") for number in range(store.limits.guards - 1)]
    there = await steps.create(store, "objects/k/there")
    failing = Absent("objects/k/there")
    assert await steps.failed_guards(store, contract.create(KEY, b"", guards=[*holding, failing])) == (failing,)
    await steps.commit(store, contract.create(KEY, b"", guards=[*holding, Unchanged("objects/k/there", there)]))


async def test_as_many_failing_guards_as_the_limit_are_all_named(store: Store) -> None:
    failing: list[Guard] = [Unchanged(f"objects/none/{number}", Revision(1)) for number in range(store.limits.guards)]
    assert await steps.failed_guards(store, contract.create(KEY, b"", guards=failing)) == tuple(failing)


async def test_most_entries_under_most_guards_fit_into_one_transaction(store: Store) -> None:
    guards: list[Guard] = [EmptyRange(f"owned/none{number}/") for number in range(store.limits.guards)]
    await steps.commit(store, contract.create(KEY, b"", add_entries=entries(store.limits.entries), guards=guards))
    assert await store.count("owned/u/") == store.limits.entries


async def test_more_guards_than_the_limit_are_rejected(store: Store) -> None:
    before = await store.revision()
    guards: list[Guard] = [Absent(f"objects/none/{number}") for number in range(store.limits.guards + 1)]
    with pytest.raises(errors.TooLarge):
        await store.commit(contract.create(KEY, b"", guards=guards))
    await assert_untouched(store, before)


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
async def test_longest_key_can_be_an_object_an_entry_and_a_guard(store: Store, letter: str) -> None:
    """The limit counts UTF-8 bytes."""

    def longest(family: str) -> str:
        room = store.limits.key_bytes - len(family)
        return family + letter * (room // len(letter.encode())) + "-" * (room % len(letter.encode()))

    key, entry = longest("objects/"), longest("owned/")
    assert len(key.encode()) == len(entry.encode()) == store.limits.key_bytes == keys.MAX_BYTES
    revision = await steps.commit(store, contract.create(key, b"1", add_entries=[entry], guards=[Absent(entry)]))
    assert await store.read_many([key, entry]) == [Record(key, b"1", revision), Record(entry, b"", revision)]
    assert (await store.scan("objects/", after=key, limit=1)).records == []
    with pytest.raises(errors.InvalidKey):
        await store.read(key + "-")


async def test_largest_transaction_with_the_longest_keys_is_committed(store: Store) -> None:
    """All limits at once, as far as they can be combined: the request must not exceed what the engine can send."""
    value = b"v" * store.limits.value_bytes
    key = "objects/" + "k" * (store.limits.key_bytes - 8)
    revision = await steps.commit(store, contract.create(key, value, add_entries=entries(min(20, store.limits.entries))))
    assert await store.read(key) == Record(key, value, revision)


async def test_index_key_in_both_add_entries_and_remove_entries_is_rejected(store: Store) -> None:
    before = await store.revision()
    txn = contract.Txn(KEY, b"", NO_REVISION, add_entries=("owned/u/x",), remove_entries=("owned/u/x",))
    with pytest.raises(errors.BadRequest):
        await store.commit(txn)
    with pytest.raises(errors.BadRequest):
        await store.commit(contract.create(KEY, b"", add_entries=["owned/u/x", "owned/u/x"]))
    await assert_untouched(store, before)


async def test_delete_without_a_revision_is_rejected(store: Store) -> None:
    before = await store.revision()
    with pytest.raises(errors.BadRequest):
        await store.commit(contract.delete(KEY, revision=NO_REVISION))
    with pytest.raises(errors.BadRequest):
        await store.commit(contract.Txn(KEY, None, before, add_entries=("owned/u/x",)))
    await assert_untouched(store, before)
