"""Concurrent commits share the cost of one sync; a single committer does not wait for others."""

from __future__ import annotations

import asyncio
from pathlib import Path

from probate.store import contract
from probate.store.sqlite.group_commit import MAX_GATHER_TURNS
from probate.store.sqlite.store import SqliteStore, open_file, open_memory

MANY = 32
ROUNDS = 20


async def test_repeated_concurrent_commits_stay_in_one_group(tmp_path: Path) -> None:
    """The first few commits formed a separate group each time, so there were twice as many groups."""
    store = await open_file(tmp_path / "store.db")
    try:
        before = store.groups_written
        await asyncio.gather(*(_commit(store, f"objects/pods/{who}", ROUNDS, pause=2 * (who % 2)) for who in range(MANY)))
        assert store.groups_written - before <= ROUNDS + 3  # until the commits have settled into one group
    finally:
        await store.close()


async def test_single_committer_does_not_wait_for_others() -> None:
    store = await open_memory()
    try:
        await _commit(store, "objects/pods/first", 1)
        alone = await _turns_of_a_commit(store, "objects/pods/first/alone")
        await asyncio.gather(*(_commit(store, f"objects/pods/{who}", ROUNDS) for who in range(MANY)))
        await _commit(store, "objects/pods/last", 1)  # notices that the others do not commit again
        assert await _turns_of_a_commit(store, "objects/pods/last/alone") == alone
    finally:
        await store.close()


async def test_commits_that_arrive_one_by_one_waited_for_each_other() -> None:
    """Creates that each called a webhook first became synchronized with each other and took twice as long."""
    store = await open_memory()
    try:
        alone = await _turns_of_a_commit(store, "objects/pods/alone/0")
        await asyncio.gather(*(_commit(store, f"objects/pods/{who}", ROUNDS) for who in range(MANY)))
        others = [asyncio.create_task(_later(store, f"objects/pods/others/{turn}", turn)) for turn in range(MANY)]
        assert await _turns_of_a_commit(store, "objects/pods/alone/1") <= alone + MAX_GATHER_TURNS
        await asyncio.gather(*others)
    finally:
        await store.close()


async def _later(store: SqliteStore, key: str, turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    await store.commit(contract.create(key, b"x"))


async def _commit(store: SqliteStore, folder: str, rounds: int, *, pause: int = 0) -> None:
    for number in range(rounds):
        await store.commit(contract.create(f"{folder}/{number}", b"x"))
        for _ in range(pause):  # a client does not send its next request at once
            await asyncio.sleep(0)


async def _turns_of_a_commit(store: SqliteStore, key: str) -> int:
    """Returns how many turns of the event loop a commit takes."""
    turns = 0
    committing = asyncio.create_task(_one(store, key))
    while not committing.done():
        turns += 1
        await asyncio.sleep(0)
    return turns


async def _one(store: SqliteStore, key: str) -> None:
    await store.commit(contract.create(key, b"x"))
