"""Since when a range is as it is: never said of one that has changed. An engine may know nothing of it."""

from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import Calm, Record, Revision, Store
from support import store_operations as steps

RANGE = "objects/pods/a/"


def calm(store: Store, prefix: str = RANGE) -> Calm:
    found = store.calm(prefix)
    assert found is not None
    return found


pass_through_it = pytest.mark.parametrize("engine", ["model", "memory", "sqlite"], indirect=True)
"""Engines that all changes pass through know."""


@pytest.mark.parametrize("engine", ["etcd", "etcd-3.5"], indirect=True)
async def test_engine_that_others_write_to_as_well_knows_nothing(store: Store) -> None:
    await steps.create(store, f"{RANGE}x")
    assert store.calm(RANGE) is None


@pass_through_it
async def test_range_stays_calm_while_others_change(store: Store) -> None:
    await steps.create(store, f"{RANGE}x")
    before = calm(store)
    changed = await steps.create(store, "objects/pods/ab/x")
    assert calm(store) == Calm(before.since, changed)
    assert calm(store, "objects/pods/ab/").since >= changed
    assert calm(store, "objects/pods/").since >= changed


@pass_through_it
async def test_every_change_ends_the_calm(store: Store) -> None:
    calm(store)
    created = await steps.create(store, f"{RANGE}x")
    assert calm(store).since >= created
    updated = await steps.update(store, f"{RANGE}x", b"2", created)
    assert calm(store).since >= updated
    deleted = await steps.delete(store, f"{RANGE}x", updated)
    assert calm(store) == Calm(deleted, deleted)


@pass_through_it
async def test_refused_transaction_changes_nothing(store: Store) -> None:
    await steps.create(store, f"{RANGE}x")
    before = calm(store)
    await steps.refused(store, contract.create(f"{RANGE}x", b"2"))
    assert calm(store) == before


@pass_through_it
async def test_calm_is_never_said_of_a_range_that_changes_meanwhile(store: Store) -> None:
    calm(store)
    seen: dict[Revision, list[Record]] = {}
    writing = asyncio.gather(*(steps.create(store, f"{RANGE}{number}") for number in range(200)))
    while True:
        is_over = writing.done()
        page = await store.scan(RANGE, limit=1000)
        seen[page.revision] = page.records
        found = calm(store)
        for revision, records in seen.items():
            if found.since <= revision <= found.now:
                assert records == await steps.records(store, RANGE, at=found.now)
        if is_over:
            break
        await asyncio.sleep(0)
    assert len(await writing) == 200


async def test_only_objects_are_calm(store: Store) -> None:
    with pytest.raises(errors.BadRequest):
        store.calm("owned/u1@a/")


async def test_closed_store_says_nothing(store: Store) -> None:
    await store.close()
    with pytest.raises(errors.StoreUnavailable):
        store.calm(RANGE)
