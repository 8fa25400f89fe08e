"""Transactions that are applied together: guards, failures, and what readers see meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.core.aio import time_slices
from probate.store import contract
from probate.store.contract import FailedGuards, Revision, Unchanged
from probate.store.sqlite import bulk_writes
from probate.store.sqlite import store as sqlite


async def test_absence_is_not_cached_after_a_bulk_create() -> None:
    store = await sqlite.open_memory()
    names = [f"objects/crowd/{number:02}" for number in range(bulk_writes.BATCH_ROWS)]
    before = [f"objects/before/{number:02}" for number in range(bulk_writes.BATCH_ROWS - 1)]
    future = Revision(await store.revision() + len(before) + 4)  # of the fourth transaction
    txns = [
        contract.create("objects/others/early", b"", guards=[Unchanged(names[3], future)]),
        *(contract.create(key, b"") for key in (*before, *names)),
        contract.create("objects/others/late", b"", guards=[Unchanged(names[3], future)]),
    ]
    early, *made, late = await asyncio.gather(*(store.commit(txn) for txn in txns))
    assert isinstance(early, FailedGuards)
    assert made[len(before) + 3] == future
    assert late == future + bulk_writes.BATCH_ROWS - 3
    await store.close()


async def test_bulk_creates_that_do_not_fit_were_never_answered_and_retried_forever() -> None:
    store = await sqlite.open_memory()
    store.database.writer.execute(f"PRAGMA max_page_count = {store.database.writer.pragma('page_count') + 30}")
    large = b"x" * 30_000
    txns = [contract.create(f"objects/crowd/{number:02}", large) for number in range(bulk_writes.BATCH_ROWS)]
    outcomes = await asyncio.gather(*(store.commit(txn) for txn in txns), return_exceptions=True)
    assert all(isinstance(one, errors.StoreFull) for one in outcomes), outcomes
    assert isinstance(await store.commit(contract.create("objects/small/one", b"")), int)
    assert await store.count("objects/") == 1
    await store.close()


async def test_failed_bulk_deletes_were_never_reported_and_blocked_other_writes() -> None:
    store = await sqlite.open_memory()
    names = [f"objects/many/{number:03}-{'x' * 300}" for number in range(400)]
    await store.commit_many([contract.create(key, b"") for key in names])
    found = [one for one in await store.read_many(names) if one is not None]
    writer = store.database.writer
    most = writer.pragma("max_page_count")
    writer.execute(f"PRAGMA max_page_count = {writer.pragma('page_count')}")  # rows about deletes take space too
    with pytest.raises(errors.StoreFull):
        await store.commit_many([contract.delete(one.key, revision=one.revision) for one in found])
    writer.execute(f"PRAGMA max_page_count = {most}")
    assert isinstance(await store.commit(contract.create("objects/small/one", b"")), int)
    assert await store.count("objects/many/") == len(names)
    await store.close()


async def test_store_in_memory_exposed_a_partial_group_while_requests_arrived() -> None:
    store = await sqlite.open_memory()
    start = await store.revision()
    time_slices.current().note_request()
    time_slices.current().note_request()
    writing = asyncio.create_task(store.commit_many([contract.create(f"objects/many/{number}", b"") for number in range(1_500)]))
    seen = set()
    while not writing.done():
        seen.add(await store.revision())
        await asyncio.sleep(0)
    assert seen <= {start, start + 1_500}
    await store.close()
