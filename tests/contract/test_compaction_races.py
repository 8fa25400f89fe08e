"""Reads of history during compaction are complete or raise `Gone`; they never return a part."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import FailedGuards, Revision, Store
from support import store_model
from support import store_operations as steps

KEYS = [f"objects/k/{number:02}" for number in range(40)]
ROUNDS = 20


@pytest.fixture
async def model(store: Store) -> store_model.Model:
    """Creates, updates, deletes and recreates every key in many rounds; returns a model with the same history."""
    known = store_model.Model(await store.revision())
    for number in range(ROUNDS):
        txns = [next_change(known, key, number + index) for index, key in enumerate(KEYS)]
        outcomes = await store.commit_many(txns)
        for txn, outcome in zip(txns, outcomes, strict=True):
            assert not isinstance(outcome, FailedGuards)
            known.apply(txn, outcome)
    return known


def next_change(model: store_model.Model, key: str, number: int) -> contract.Txn:
    record = model.read(key)
    if record is None:
        return contract.create(key, b"%d" % number)
    if number % 5 == 0:
        return contract.delete(key, revision=record.revision)
    return contract.update(key, b"%d" % number, revision=record.revision)


async def compact_in_steps(store: Store, model: store_model.Model) -> None:
    """Compacts two at a time, so that one begins while another is still in progress."""
    for change in model.changes[::20]:
        await asyncio.gather(store.compact(change.revision), store.compact(Revision(change.revision + 7)))


async def poll_until(compacting: asyncio.Task[None], ask: Callable[[], Awaitable[bool]]) -> set[bool]:
    """Polls while the compactions run; checks that a revision that is gone never comes back. Returns what was seen."""
    seen: list[bool] = []
    while not compacting.done() or not seen:
        seen.append(await ask())
        assert seen == sorted(seen, reverse=True), "what was gone came back"
        await asyncio.sleep(0)
    return set(seen)


async def test_list_of_a_past_revision_is_complete_or_gone(store: Store, model: store_model.Model) -> None:
    compacting = asyncio.create_task(compact_in_steps(store, model))

    async def reader(at: Revision) -> set[bool]:
        expected = model.scan("objects/", limit=100, at=at)

        async def ask() -> bool:
            try:
                page = await store.scan("objects/", limit=100, at=at)
            except errors.Gone:
                return False
            assert page == expected
            return True

        return await poll_until(compacting, ask)

    newest = model.changes[-1].revision
    found = await asyncio.gather(*(reader(change.revision) for change in [*model.changes[30::150], model.changes[-1]]))
    await compacting
    assert any(False in seen for seen in found), "nothing was compacted"
    assert (await store.scan("objects/", limit=100, at=newest)).records == model.scan("objects/", limit=100).records


async def test_history_of_a_watch_is_complete_or_gone(store: Store, model: store_model.Model) -> None:
    compacting = asyncio.create_task(compact_in_steps(store, model))
    last = model.changes[-1].revision

    async def watcher(after: Revision) -> set[bool]:
        expected = model.events("objects/", after=after)

        async def ask() -> bool:
            try:
                events = await steps.collect_events(store, "objects/", after=after, last=last)
            except errors.Gone:
                return False
            assert events == expected
            return True

        return await poll_until(compacting, ask)

    found = await asyncio.gather(*(watcher(change.revision) for change in model.changes[30:-1:150]))
    await compacting
    assert any(False in seen for seen in found), "nothing was compacted"


async def test_live_watch_and_writers_are_not_affected_by_a_compaction(store: Store, model: store_model.Model) -> None:
    start = model.changes[-1].revision
    async with store.watch("objects/", after=start) as watch:
        taking = asyncio.create_task(steps.take_events(watch, len(KEYS)))
        compacting = asyncio.create_task(compact_in_steps(store, model))
        for index, key in enumerate(KEYS):
            txn = next_change(model, key, ROUNDS + index)
            model.apply(txn, await steps.commit(store, txn))
        await compacting
        assert await taking == model.events("objects/", after=start)


@pytest.mark.parametrize("turns", range(10))
async def test_compaction_during_another_one_hides_history_before_it_removes_it(store: Store, turns: int) -> None:
    keys = [f"objects/many/{number:03}" for number in range(300)]
    first = await write_all(store, [contract.create(key, b"old") for key in keys])
    second = await write_all(store, [contract.update(key, b"new", revision=old) for key, old in zip(keys, first, strict=True)])
    early, at = sorted(second)[200:202]
    still_old = [key for key, revision in zip(keys, second, strict=True) if revision > at]
    compacting = asyncio.create_task(compact_twice(store, early, max(second), turns))
    async with asyncio.timeout(steps.TIMEOUT_SECONDS):
        for key in itertools.cycle(still_old):
            if not await is_shown(store, key, b"old", at=at):
                break
            await asyncio.sleep(0)
    await compacting


async def is_shown(store: Store, key: str, value: bytes, *, at: Revision) -> bool:
    try:
        record = await store.read(key, at=at)
    except errors.Gone:
        return False
    assert record is not None, "history was removed while it could be read"
    assert record.value == value
    return True


async def write_all(store: Store, txns: list[contract.Txn]) -> list[Revision]:
    return [outcome for outcome in await store.commit_many(txns) if not isinstance(outcome, FailedGuards)]


async def compact_twice(store: Store, early: Revision, late: Revision, turns: int) -> None:
    """Starts the second compaction some turns of the event loop after the first."""
    first = asyncio.create_task(store.compact(early))
    for _ in range(turns):
        await asyncio.sleep(0)
    await store.compact(late)
    await first
