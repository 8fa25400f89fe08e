"""Runs inside a mount namespace of its own, with a small tmpfs at the folder given: fills it, and says what the store did.

    python full_disk.py FOLDER

Exits with 0 if every promise about a full disk held; else with the failed assertion.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from probate.core import errors
from probate.store import paging
from probate.store.contract import Revision, Store, Txn, create, update
from probate.store.sqlite.store import open_file


def thing(number: int) -> Txn:
    key = f"objects/things/a/{number:06}"
    return create(key, b"x" * 2000, enter=[f"inside/a/{key}"])


async def fill(store: Store) -> int:
    """Write until there is no room, and say how many writes were acknowledged."""
    for number in range(100_000):
        try:
            await store.commit(thing(number))
        except errors.StoreFull:
            return number
    raise AssertionError("the disk never got full")


async def check_whole(store: Store, count: int) -> Revision:
    pages = [page async for page in paging.pages(store, "objects/")]
    assert sum(len(page.records) for page in pages) == count
    assert await store.count("inside/") == count
    return pages[-1].revision


async def check_is_not_ready(store: Store) -> None:
    """What `/readyz` asks."""
    try:
        await store.check()
    except errors.StoreFull:
        return
    raise AssertionError("the store says that it is ready, and has no room")


async def main(folder: Path) -> None:
    ballast = folder / "ballast"
    ballast.write_bytes(b"\x00" * 1024 * 1024)
    store = await open_file(folder / "probate.db")
    count = await fill(store)
    assert count > 100
    revision = await check_whole(store, count)
    await check_is_not_ready(store)
    try:
        await store.commit_many([thing(count + number) for number in range(2000)])
        raise AssertionError("two thousand writes fitted onto a full disk")
    except errors.StoreFull:
        assert await check_whole(store, count) == revision
    ballast.unlink()
    await store.check()
    outcome = await store.commit(thing(count))
    assert outcome == revision + 1, "a failed write used up a revision"
    first = await store.read("objects/things/a/000000")
    assert first is not None
    assert isinstance(await store.commit(update(first.key, b"y", revision=first.revision)), int)
    await store.close()
    again = await open_file(folder / "probate.db")
    await check_whole(again, count + 1)
    await again.close()
    print(f"full after {count} writes, then went on")


asyncio.run(main(Path(sys.argv[1])))
