"""Fills a small tmpfs, mounted at the given folder in a separate mount namespace, and checks how the store behaves.

    python full_disk.py FOLDER

Exits with 0 if the store kept every guarantee about a full disk; otherwise with the failed assertion.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from probate.core import errors
from probate.store import pagination
from probate.store.contract import Revision, Store, Txn, create, update
from probate.store.sqlite.store import open_file


def transaction(number: int) -> Txn:
    key = f"objects/things/a/{number:06}"
    return create(key, b"x" * 2000, add_entries=[f"inside/a/{key}"])


async def fill(store: Store) -> int:
    """Writes until the disk is full. Returns how many writes were acknowledged."""
    for number in range(100_000):
        try:
            await store.commit(transaction(number))
        except errors.StoreFull:
            return number
    raise AssertionError("the disk never got full")


async def check_content(store: Store, count: int) -> Revision:
    pages = [page async for page in pagination.pages(store, "objects/")]
    assert sum(len(page.records) for page in pages) == count
    assert await store.count("inside/") == count
    return pages[-1].revision


async def check_is_not_ready(store: Store) -> None:
    """Checks readiness as `/readyz` does."""
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
    revision = await check_content(store, count)
    await check_is_not_ready(store)
    try:
        await store.commit_many([transaction(count + number) for number in range(2000)])
        raise AssertionError("two thousand writes fitted onto a full disk")
    except errors.StoreFull:
        assert await check_content(store, count) == revision
    ballast.unlink()
    await store.check()
    outcome = await store.commit(transaction(count))
    assert outcome == revision + 1, "a failed write used up a revision"
    first = await store.read("objects/things/a/000000")
    assert first is not None
    assert isinstance(await store.commit(update(first.key, b"y", revision=first.revision)), int)
    await store.close()
    again = await open_file(folder / "probate.db")
    await check_content(again, count + 1)
    await again.close()
    print(f"full after {count} writes, then went on")


asyncio.run(main(Path(sys.argv[1])))
