"""`unchanged_since`: never reports a range that has changed as unchanged. An engine may return None."""

from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import Record, Revision, Store, UnchangedSince
from support import store_operations as steps

RANGE = "objects/pods/a/"


def unchanged(store: Store, prefix: str = RANGE) -> UnchangedSince:
    found = store.unchanged_since(prefix)
    assert found is not None
    return found


pass_through_it = pytest.mark.parametrize("engine", ["model", "memory", "sqlite"], indirect=True)
"""Engines that see every change know the answer."""


@pytest.mark.parametrize("engine", ["etcd", "etcd-3.5"], indirect=True)
async def test_engine_that_other_servers_write_to_returns_none(store: Store) -> None:
    await steps.create(store, f"{RANGE}x")
    assert store.unchanged_since(RANGE) is None


@pass_through_it
async def test_range_stays_unchanged_while_other_ranges_change(store: Store) -> None:
    await steps.create(store, f"{RANGE}x")
    before = unchanged(store)
    changed = await steps.create(store, "objects/pods/ab/x")
    assert unchanged(store) == UnchangedSince(before.since, changed)
    assert unchanged(store, "objects/pods/ab/").since >= changed
    assert unchanged(store, "objects/pods/").since >= changed


@pass_through_it
async def test_every_change_is_reported(store: Store) -> None:
    unchanged(store)
    created = await steps.create(store, f"{RANGE}x")
    assert unchanged(store).since >= created
    updated = await steps.update(store, f"{RANGE}x", b"2", revision=created)
    assert unchanged(store).since >= updated
    deleted = await steps.delete(store, f"{RANGE}x", updated)
    assert unchanged(store) == UnchangedSince(deleted, deleted)


@pass_through_it
async def test_failed_transaction_changes_nothing(store: Store) -> None:
    await steps.create(store, f"{RANGE}x")
    before = unchanged(store)
    await steps.failed_guards(store, contract.create(f"{RANGE}x", b"2"))
    assert unchanged(store) == before


@pass_through_it
async def test_range_that_changes_meanwhile_is_never_reported_unchanged(store: Store) -> None:
    unchanged(store)
    seen: dict[Revision, list[Record]] = {}
    writing = asyncio.gather(*(steps.create(store, f"{RANGE}{number}") for number in range(200)))
    while True:
        is_over = writing.done()
        page = await store.scan(RANGE, limit=1000)
        seen[page.revision] = page.records
        found = unchanged(store)
        for revision, records in seen.items():
            if found.since <= revision <= found.now:
                assert records == await steps.records(store, RANGE, at=found.now)
        if is_over:
            break
        await asyncio.sleep(0)
    assert len(await writing) == 200


async def test_index_ranges_are_rejected(store: Store) -> None:
    with pytest.raises(errors.BadRequest):
        store.unchanged_since("owned/u1/a/")


async def test_closed_store_raises(store: Store) -> None:
    await store.close()
    with pytest.raises(errors.StoreUnavailable):
        store.unchanged_since(RANGE)
