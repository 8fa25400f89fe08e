"""Scans: order, pages, past revisions, and counts."""

from __future__ import annotations

import pytest

from probate.core import errors
from probate.store import contract, pagination
from probate.store.contract import Record, Revision, Store
from support import store_model
from support import store_operations as steps

PREFIX = "objects/pods/"


async def fill(store: Store, *ends: str) -> list[str]:
    keys = [PREFIX + end for end in ends]
    for key in keys:
        await steps.create(store, key, key.encode())
    return keys


async def test_empty_range_is_an_empty_page(store: Store) -> None:
    page = await store.scan(PREFIX, limit=10)
    assert (page.records, page.has_more) == ([], False)
    assert page.revision >= 1


async def test_records_are_in_key_order_regardless_of_the_order_of_writes(store: Store) -> None:
    keys = await fill(store, "b/2", "a/9", "c/1", "a/10", "b/1")
    page = await store.scan(PREFIX, limit=10)
    assert [(record.key, record.value) for record in page.records] == [(key, key.encode()) for key in sorted(keys)]
    assert not page.has_more


async def test_keys_are_ordered_by_code_point_beyond_the_basic_plane_too(store: Store) -> None:
    """Ordering by UTF-16 units would put the emoji before U+FFFD."""
    keys = await fill(store, "\U0001f600", "\ufffd", "é", "z", "e\u0301", "Z", "~", "\ue000", "\U0010ffff", "ж")
    assert await steps.list_keys(store, PREFIX) == sorted(keys)
    page = await store.scan(PREFIX, after=PREFIX + "\ufffd", limit=1)
    assert [record.key for record in page.records] == [PREFIX + "\U0001f600"]
    assert page.has_more


async def test_composed_and_decomposed_letters_are_different_keys(store: Store) -> None:
    await steps.create(store, PREFIX + "\u00e9", b"composed")
    await steps.create(store, PREFIX + "e\u0301", b"decomposed")
    assert len(await steps.list_keys(store, PREFIX)) == 2


async def test_range_contains_whole_segments_only(store: Store) -> None:
    keys = await fill(store, "a/x", "a", "ab/x", "a-b/x", "a.b/x", "a0/x", "A/x", "a/x/deeper", "a/xy")
    assert await steps.list_keys(store, PREFIX + "a/") == [PREFIX + "a/x", PREFIX + "a/x/deeper", PREFIX + "a/xy"]
    assert await steps.list_keys(store, PREFIX + "a/x/") == [PREFIX + "a/x/deeper"]
    assert await steps.list_keys(store, PREFIX) == sorted(keys)


@pytest.mark.parametrize("wild", ["%", "_", "*", "?", "[a-z]", "\\", "'", '"', ";"])
async def test_wildcards_are_plain_characters_in_keys(store: Store, wild: str) -> None:
    await fill(store, "a/x", f"{wild}/x", "abc/x")
    assert await steps.list_keys(store, f"{PREFIX}{wild}/") == [f"{PREFIX}{wild}/x"]


@pytest.mark.parametrize(("limit", "more"), [(1, True), (2, True), (3, False), (4, False)])
async def test_has_more_says_whether_the_range_continues(store: Store, limit: int, more: bool) -> None:
    await fill(store, "a", "b", "c")
    await steps.create(store, "objects/zebras/z")
    page = await store.scan(PREFIX, limit=limit)
    assert (len(page.records), page.has_more) == (min(limit, 3), more)


async def test_scan_continues_after_a_key_that_exists_or_not(store: Store) -> None:
    await fill(store, "b", "d", "f")

    async def after(key: str) -> list[str]:
        page = await store.scan(PREFIX, after=key, limit=10)
        assert await store.count(PREFIX, after=key) == len(page.records)
        return [record.key.removeprefix(PREFIX) for record in page.records]

    assert await after(PREFIX + "b") == ["d", "f"]
    assert await after(PREFIX + "c") == ["d", "f"]
    assert await after(PREFIX + "d/deeper") == ["f"]
    assert await after(PREFIX + "f") == []
    assert await after("objects/aaa/z") == ["b", "d", "f"]
    assert await after("objects/zebras/z") == []
    assert await after("owned/z") == []


async def test_longest_page_is_as_long_as_the_limits_say(store: Store) -> None:
    await store.commit_many([contract.create(f"{PREFIX}{number:06}", b"") for number in range(store.limits.page_size + 1)])
    page = await store.scan(PREFIX, limit=store.limits.page_size)
    assert (len(page.records), page.has_more) == (store.limits.page_size, True)
    with pytest.raises(errors.TooLarge):
        await store.scan(PREFIX, limit=store.limits.page_size + 1)
    assert await store.count(PREFIX) == store.limits.page_size + 1


@pytest.mark.parametrize("limit", [0, -1])
async def test_limit_below_one_is_rejected(store: Store, limit: int) -> None:
    with pytest.raises(errors.BadRequest):
        await store.scan(PREFIX, limit=limit)


async def test_objects_and_entries_are_never_mixed(store: Store) -> None:
    revision = await steps.commit(
        store, contract.create("objects/pods/x", b"1", add_entries=["owned/u/objects/pods/x", "owned/v/objects/pods/x"])
    )
    assert await steps.records(store, "objects/") == [Record("objects/pods/x", b"1", revision)]
    assert await steps.records(store, "owned/") == [
        Record("owned/u/objects/pods/x", b"", revision),
        Record("owned/v/objects/pods/x", b"", revision),
    ]
    assert [await store.count(prefix) for prefix in ("objects/", "owned/", "owned/u/", "inside/")] == [1, 2, 1, 0]


async def test_child_prefixes_are_the_nonempty_ranges_one_segment_below(store: Store) -> None:
    await fill(store, "b/2", "a/9/x", "a/9/y", "ab", "a/10", "\U0001f600/1", "é/1", "z")
    await steps.create(store, "objects/nodes/-/n", b"")
    gone = await steps.create(store, "objects/jobs/a/j", b"")
    await steps.commit(store, contract.delete("objects/jobs/a/j", revision=gone))
    assert await store.child_prefixes("objects/") == ["objects/nodes/", PREFIX]
    assert await store.child_prefixes(PREFIX) == [PREFIX + name for name in ("a/", "b/", "é/", "\U0001f600/")]
    assert await store.child_prefixes(PREFIX + "a/") == [PREFIX + "a/9/"]
    assert await store.child_prefixes("objects/jobs/") == []


async def test_child_prefixes_of_an_index_contain_only_index_entries(store: Store) -> None:
    entries = [f"owned/{uid}/a/objects/pods/x" for uid in ("u", "v", "w")]
    await steps.commit(store, contract.create("objects/pods/x", b"", add_entries=entries))
    assert await store.child_prefixes("owned/") == ["owned/u/", "owned/v/", "owned/w/"]
    with pytest.raises(errors.InvalidKey):
        await store.child_prefixes("owned")


async def test_nonempty_ranges_are_found_together(store: Store) -> None:
    await fill(store, "b/2", "ab", "\U0001f600/1", "é/1")
    await steps.commit(
        store, contract.create("objects/pods/x", b"", add_entries=["owned/u/a/objects/pods/x", "owned/uv/a/objects/pods/x"])
    )
    gone = await steps.create(store, PREFIX + "c/1", b"")
    await steps.commit(store, contract.delete(PREFIX + "c/1", revision=gone))
    objects = {PREFIX + name for name in ("a/", "b/", "c/", "é/", "\U0001f600/")}
    entries = {f"owned/{name}/" for name in ("t", "u", "u/a", "u/b", "uv", "w")}
    found = {*(PREFIX + name for name in ("b/", "é/", "\U0001f600/")), "owned/u/", "owned/u/a/", "owned/uv/"}
    assert await store.nonempty_ranges([*objects, *entries]) == found
    assert await store.nonempty_ranges(list(objects)) == found & objects
    assert await store.nonempty_ranges(list(entries)) == found & entries
    assert await store.nonempty_ranges([]) == set()


async def test_several_ranges_are_scanned_independently(store: Store) -> None:
    await fill(store, "a/1", "a/2", "b/1")
    pages = await store.scan_many([PREFIX + "b/", PREFIX + "c/", PREFIX + "a/"], limit=1)
    assert [[record.key for record in page.records] for page in pages] == [[PREFIX + "b/1"], [], [PREFIX + "a/1"]]
    assert [page.has_more for page in pages] == [False, False, True]


async def test_invalid_ranges_are_rejected(store: Store) -> None:
    for prefixes in (["owned/u"], ["owned/", "owned//"], [""], ["owned/\n/"]):
        with pytest.raises(errors.InvalidKey):
            await store.nonempty_ranges(prefixes)
        with pytest.raises(errors.InvalidKey):
            await store.scan_many(prefixes, limit=1)
    with pytest.raises(errors.TooLarge):
        await store.nonempty_ranges([f"owned/{number}/" for number in range(store.limits.page_size + 1)])


async def test_index_is_walked_page_by_page(store: Store) -> None:
    entries = [f"owned/u/objects/pods/{number}" for number in range(10)]
    await steps.commit(store, contract.create("objects/pods/x", b"", add_entries=entries))
    assert [record.key for record in await steps.records(store, "owned/u/", size=3)] == entries
    assert await store.count("owned/u/", after=entries[3]) == 6


async def test_scan_of_an_index_at_a_past_revision_is_rejected(store: Store) -> None:
    with pytest.raises(errors.BadRequest):
        await store.scan("owned/", limit=1, at=await store.revision())


async def test_scan_at_a_future_revision_is_rejected(store: Store) -> None:
    with pytest.raises(errors.FutureRevision):
        await store.scan(PREFIX, limit=1, at=Revision(await store.revision() + 1))


async def write_history(store: Store) -> store_model.Model:
    """Creates, updates, deletes and recreates five keys, in the store and in the model."""
    model = store_model.Model(await store.revision())
    for step in range(70):
        key = f"{PREFIX}{step * 7 % 5}/{step * 3 % 2}"
        record = model.read(key)
        if record is None:
            txn = contract.create(key, b"%d" % step)
        elif step % 3 == 0:
            txn = contract.delete(key, revision=record.revision)
        else:
            txn = contract.update(key, b"%d" % step, revision=record.revision)
        model.apply(txn, await steps.commit(store, txn))
    return model


async def test_each_revision_of_the_past_can_be_listed_in_pages(store: Store) -> None:
    start = await store.revision()
    model = await write_history(store)
    for at in [start, *(change.revision for change in model.changes)]:
        for prefix in (PREFIX, PREFIX + "3/"):
            assert await steps.records(store, prefix, at=at, size=3) == model.scan(prefix, limit=100, at=at).records
        page = await store.scan(PREFIX, after=PREFIX + "2/0", limit=2, at=at)
        assert page == model.scan(PREFIX, after=PREFIX + "2/0", limit=2, at=at)


async def test_each_revision_of_the_past_can_be_read_key_by_key(store: Store) -> None:
    model = await write_history(store)
    for change in model.changes:
        assert await store.read(change.key, at=change.revision) == model.read(change.key, at=change.revision)


async def test_pages_of_one_list_are_consistent_while_the_range_changes(store: Store) -> None:
    keys = await fill(store, *(f"{number:02}" for number in range(20)))
    before = await steps.records(store, PREFIX)
    seen: list[Record] = []
    async for page in pagination.pages(store, PREFIX, size=3):
        seen += page.records
        last = len(seen) - 1
        await steps.delete(store, keys[last], before[last].revision)
        await steps.create(store, f"{keys[last]}-new")
        if last + 1 < len(keys):
            await steps.update(store, keys[last + 1], b"changed", revision=before[last + 1].revision)
    assert seen == before


async def test_counts_of_past_revisions_equal_those_of_lists(store: Store) -> None:
    """Objects are created, changed, deleted and created again, inside the range and outside it."""
    moments = [await store.revision()]
    for number in range(3):
        for key in (PREFIX + "a", PREFIX + "b", "objects/zebras/z"):
            moments.append(await steps.create(store, key, b"first"))
            moments.append(await steps.update(store, key, b"second", revision=moments[-1]))
            if number < 2:
                moments.append(await steps.delete(store, key, moments[-1]))
    for at in moments:
        for after in ("", PREFIX + "a", PREFIX + "b"):
            page = await store.scan(PREFIX, after=after, limit=10, at=at)
            assert await store.count(PREFIX, after=after, at=at) == len(page.records)


async def test_counts_at_future_revisions_and_of_an_index_at_past_revisions_are_rejected(store: Store) -> None:
    now = await store.revision()
    with pytest.raises(errors.FutureRevision):
        await store.count(PREFIX, at=Revision(now + 1000))
    with pytest.raises(errors.BadRequest):
        await store.count("owned/u/", at=now)


async def test_deleted_keys_are_not_counted_or_listed(store: Store) -> None:
    keys = await fill(store, "a", "b", "c")
    record = await store.read(keys[1])
    assert record is not None
    await steps.delete(store, keys[1], record.revision)
    assert await steps.list_keys(store, PREFIX) == [keys[0], keys[2]]
    assert await store.count(PREFIX) == 2
