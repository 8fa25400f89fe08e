"""Those who commit at the same time share what making it durable costs, and who commits alone does not wait for anybody."""

from __future__ import annotations

import asyncio
from pathlib import Path

from probate.store import contract
from probate.store.sqlite.group_commit import GATHERING
from probate.store.sqlite.store import SqliteStore, open_file, open_memory

MANY = 32
ROUNDS = 20


async def test_those_who_commit_again_and_again_go_on_in_one_group(tmp_path: Path) -> None:
    """A few that came first had a group of their own each time, so there were twice as many groups."""
    store = await open_file(tmp_path / "store.db")
    try:
        before = store.groups_written
        await asyncio.gather(*(_commit(store, f"objects/pods/{who}", ROUNDS, pause=2 * (who % 2)) for who in range(MANY)))
        assert store.groups_written - before <= ROUNDS + 3  # until they have found together
    finally:
        await store.close()


async def test_who_is_left_alone_waits_for_nobody() -> None:
    store = await open_memory()
    try:
        await _commit(store, "objects/pods/first", 1)
        alone = await _turns_of_a_commit(store, "objects/pods/first/alone")
        await asyncio.gather(*(_commit(store, f"objects/pods/{who}", ROUNDS) for who in range(MANY)))
        await _commit(store, "objects/pods/last", 1)  # which learns that the others do not come again
        assert await _turns_of_a_commit(store, "objects/pods/last/alone") == alone
    finally:
        await store.close()


async def test_who_come_one_by_one_waited_for_each_other() -> None:
    """Creates that each asked a webhook first came to go in step, and took twice as long."""
    store = await open_memory()
    try:
        alone = await _turns_of_a_commit(store, "objects/pods/alone/0")
        await asyncio.gather(*(_commit(store, f"objects/pods/{who}", ROUNDS) for who in range(MANY)))
        others = [asyncio.create_task(_later(store, f"objects/pods/others/{turn}", turn)) for turn in range(MANY)]
        assert await _turns_of_a_commit(store, "objects/pods/alone/1") <= alone + GATHERING
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
        for _ in range(pause):  # whoever has an answer does not come back at once
            await asyncio.sleep(0)


async def _turns_of_a_commit(store: SqliteStore, key: str) -> int:
    """How many turns of the event loop it takes."""
    turns = 0
    committing = asyncio.create_task(_one(store, key))
    while not committing.done():
        turns += 1
        await asyncio.sleep(0)
    return turns


async def _one(store: SqliteStore, key: str) -> None:
    await store.commit(contract.create(key, b"x"))
