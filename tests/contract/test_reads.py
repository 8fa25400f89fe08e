"""Reads of single keys: now, at past revisions, and several keys at one revision."""

from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import NO_REVISION, Record, Revision, Store
from support import store_operations as steps

KEY = "objects/pods/a/x"
ENTRY = "owned/u1/a/objects/pods/a/x"


async def test_empty_store_has_a_revision_and_nothing_else(store: Store) -> None:
    assert await store.revision() >= 1
    assert await store.read(KEY) is None
    assert await store.read(ENTRY) is None


async def test_object_is_read_with_value_and_revision(store: Store) -> None:
    revision = await steps.create(store, KEY, b"\x00\xff value")
    assert await store.read(KEY) == Record(KEY, b"\x00\xff value", revision)


async def test_object_with_an_empty_value_is_not_absent(store: Store) -> None:
    revision = await steps.create(store, KEY, b"")
    assert await store.read(KEY) == Record(KEY, b"", revision)
    assert await store.read(KEY, at=revision) == Record(KEY, b"", revision)
    assert await steps.failed_guards(store, contract.create(KEY, b"")) == (contract.Absent(KEY),)
    updated = await steps.update(store, KEY, b"", revision=revision)
    assert await store.read(KEY) == Record(KEY, b"", updated)


async def test_index_entry_is_read_without_value_and_with_the_revision_that_added_it(store: Store) -> None:
    revision = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    assert await store.read(ENTRY) == Record(ENTRY, b"", revision)


async def test_deleted_object_is_not_read(store: Store) -> None:
    await steps.delete(store, KEY, await steps.create(store, KEY))
    assert await store.read(KEY) is None


async def test_object_is_read_as_it_was_at_each_revision(store: Store) -> None:
    before = await store.revision()
    created = await steps.create(store, KEY, b"1")
    updated = await steps.update(store, KEY, b"2", revision=created)
    deleted = await steps.delete(store, KEY, updated)
    again = await steps.create(store, KEY, b"3")
    assert await store.read(KEY, at=before) is None
    assert await store.read(KEY, at=created) == Record(KEY, b"1", created)
    assert await store.read(KEY, at=updated) == Record(KEY, b"2", updated)
    assert await store.read(KEY, at=deleted) is None
    assert await store.read(KEY, at=again) == Record(KEY, b"3", again)


async def test_reading_at_a_revision_in_which_others_changed_shows_the_latest_before_it(store: Store) -> None:
    created = await steps.create(store, KEY, b"1")
    other = await steps.create(store, "objects/pods/a/y")
    await steps.update(store, KEY, b"2", revision=created)
    assert await store.read(KEY, at=other) == Record(KEY, b"1", created)


async def test_reading_at_a_future_revision_is_rejected(store: Store) -> None:
    revision = await steps.create(store, KEY)
    with pytest.raises(errors.FutureRevision):
        await store.read(KEY, at=Revision(await store.revision() + 1))
    assert await store.read(KEY, at=revision) is not None


async def test_reading_an_index_entry_at_a_past_revision_is_rejected(store: Store) -> None:
    revision = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    with pytest.raises(errors.BadRequest):
        await store.read(ENTRY, at=revision)


async def test_many_keys_are_read_in_the_given_order_with_none_for_absent_keys(store: Store) -> None:
    revision = await steps.commit(store, contract.create(KEY, b"1", add_entries=[ENTRY]))
    found = await store.read_many([ENTRY, "objects/pods/a/none", KEY, KEY])
    assert found == [Record(ENTRY, b"", revision), None, Record(KEY, b"1", revision), Record(KEY, b"1", revision)]


async def test_reading_no_keys_gives_nothing(store: Store) -> None:
    assert await store.read_many([]) == []


async def test_as_many_keys_as_a_page_holds_can_be_read_and_no_more(store: Store) -> None:
    revision = await steps.create(store, KEY)
    most = [f"objects/pods/a/{number}" for number in range(store.limits.page_size - 1)] + [KEY]
    assert (await store.read_many(most))[-1] == Record(KEY, b"1", revision)
    with pytest.raises(errors.TooLarge):
        await store.read_many([*most, KEY])


async def test_many_keys_are_read_at_one_revision_while_they_change(store: Store) -> None:
    """The first key is always written before the second, so at no revision is the second one ahead."""
    first, second = "objects/pods/a/first", "objects/pods/a/second"
    revisions = {key: await steps.create(store, key, b"0") for key in (first, second)}

    async def write() -> None:
        for number in range(1, 60):
            for key in (first, second):
                revisions[key] = await steps.update(store, key, b"%d" % number, revision=revisions[key])
                await asyncio.sleep(0)

    writing = asyncio.create_task(write())
    while not writing.done():
        one, other = await store.read_many([first, second])
        assert isinstance(one, Record)
        assert isinstance(other, Record)
        assert int(one.value) - int(other.value) in {0, 1}
        assert (one.revision > other.revision) == (one.value != other.value)
        await asyncio.sleep(0)
    await writing


async def test_object_and_its_entry_are_never_seen_apart(store: Store) -> None:
    async def write() -> None:
        revision = await steps.commit(store, contract.create(KEY, b"", add_entries=[ENTRY]))
        for _ in range(60):
            revision = await steps.commit(store, contract.update(KEY, b"", revision=revision, add_entries=[ENTRY]))
            await asyncio.sleep(0)

    writing = asyncio.create_task(write())
    seen: set[Revision] = set()
    while not writing.done():
        thing, entry = await store.read_many([KEY, ENTRY])
        assert (thing and thing.revision) == (entry and entry.revision)
        seen.add(thing.revision if thing else contract.NO_REVISION)
        await asyncio.sleep(0)
    await writing
    assert len(seen) > 1, "the reader never ran between two writes"


async def test_revisions_seen_by_a_client_never_decrease(store: Store) -> None:
    for number in range(20):
        revision = await steps.create(store, f"objects/pods/a/{number}")
        assert await store.revision() >= revision
        assert (await store.scan("objects/", limit=100)).revision >= revision


async def test_revision_zero_is_before_everything_and_never_means_now(store: Store) -> None:
    """An engine may return that nothing existed then, or that the revision is compacted."""
    await steps.create(store, KEY)
    try:
        assert await store.read(KEY, at=NO_REVISION) is None
        assert (await store.scan("objects/", limit=10, at=NO_REVISION)).records == []
    except errors.Gone:
        with pytest.raises(errors.Gone):
            await store.scan("objects/", limit=10, at=NO_REVISION)
