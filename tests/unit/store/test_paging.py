"""Iterating over a range page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.core import errors
from probate.store import contract, pagination
from probate.store.contract import Revision, Store
from support import store_engines
from support import store_operations as steps


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async with store_engines.open_store(store_engines.Memory()) as store:
        yield store


async def sizes(store: Store, prefix: str, size: int) -> list[int]:
    return [len(page.records) async for page in pagination.pages(store, prefix, size=size)]


@pytest.mark.parametrize(("size", "expected"), [(1, [1] * 6), (2, [2, 2, 2]), (4, [4, 2]), (6, [6]), (7, [6])])
async def test_pages_are_full_until_the_last(store: Store, size: int, expected: list[int]) -> None:
    for number in range(6):
        await steps.create(store, f"objects/k/{number}")
    assert await sizes(store, "objects/k/", size) == expected


async def test_empty_range_is_one_empty_page(store: Store) -> None:
    assert await sizes(store, "objects/k/", 5) == [0]


async def test_pages_of_objects_share_one_revision(store: Store) -> None:
    start = [await steps.create(store, f"objects/k/{number}") for number in range(6)][-1]
    seen: list[str] = []
    revisions: set[Revision] = set()
    async for page in pagination.pages(store, "objects/k/", size=2):
        seen += [record.key for record in page.records]
        revisions.add(page.revision)
        await steps.create(store, f"objects/k/new-{len(seen)}")
    assert seen == [f"objects/k/{number}" for number in range(6)]
    assert revisions == {start}


async def test_each_page_of_an_index_is_as_of_its_own_revision(store: Store) -> None:
    revision = await steps.commit(store, contract.create("objects/k/x", b"", add_entries=["owned/u/1", "owned/u/2", "owned/u/3"]))
    seen: list[str] = []
    async for page in pagination.pages(store, "owned/u/", size=2):
        seen += [record.key for record in page.records]
        revision = await steps.commit(store, contract.update("objects/k/x", b"", revision=revision, remove_entries=["owned/u/3"]))
    assert seen == ["owned/u/1", "owned/u/2"]


async def test_pages_at_a_past_revision_show_the_state_of_then(store: Store) -> None:
    then = [await steps.create(store, f"objects/k/{number}") for number in range(5)][2]
    seen = [page async for page in pagination.pages(store, "objects/k/", size=2, at=then)]
    assert [record.key for page in seen for record in page.records] == [f"objects/k/{number}" for number in range(3)]
    assert {page.revision for page in seen} == {then}


async def test_list_whose_revision_is_compacted_midway_is_gone(store: Store) -> None:
    for number in range(4):
        await steps.create(store, f"objects/k/{number}")
    walk = pagination.pages(store, "objects/k/", size=2)
    await anext(walk)
    await store.compact(await steps.create(store, "objects/k/z"))
    with pytest.raises(errors.Gone):
        await anext(walk)
