"""A process that writes continuously and prints what was acknowledged, until it is killed.

    python writer.py FILE SEED

Prints a line for each acknowledged transaction (`ack REVISION KEY VALUE`, with an empty value for a delete) and for each event that
its own watch has delivered (`saw REVISION`). 32 committers change single objects, one more changes many at once.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from probate.store.contract import Record, Revision, Store, Txn, Watch, create, delete, update
from probate.store.sqlite.store import open_file

OBJECTS = 200


def entries_of(key: str, value: bytes) -> list[str]:
    """Returns the index entries of this version of the object; its value determines which ones."""
    owner = value.decode().split(".")[0]
    return [f"owned/{owner}/a/{key}", f"inside/a/{key}"]


def next_txn(key: str, now: Record | None, rng: random.Random) -> Txn:
    value = f"{rng.randrange(5)}.{rng.getrandbits(64):x}".encode() * rng.choice([1, 1, 20])
    if now is None:
        return create(key, value, add_entries=entries_of(key, value))
    old = set(entries_of(key, now.value))
    if rng.random() < 0.3:
        return delete(key, revision=now.revision, remove_entries=old)
    new = set(entries_of(key, value))
    return update(key, value, revision=now.revision, add_entries=new - old, remove_entries=old - new)


def print_result(txn: Txn, result: object) -> None:
    if isinstance(result, int):
        os.write(1, f"ack {result} {txn.key} {(txn.value or b'').decode()}\n".encode())


async def commit_singly(store: Store, rng: random.Random) -> None:
    while True:
        key = f"objects/things/a/{rng.randrange(OBJECTS)}"
        txn = next_txn(key, await store.read(key), rng)
        print_result(txn, await store.commit(txn))


async def commit_in_bulk(store: Store, rng: random.Random) -> None:
    while True:
        keys: Sequence[str] = [f"objects/things/a/{number}" for number in rng.sample(range(OBJECTS), 100)]
        found = [now if isinstance(now, Record) else None for now in await store.read_many(keys)]
        txns = [next_txn(key, now, rng) for key, now in zip(keys, found, strict=True)]
        for txn, result in zip(txns, await store.commit_many(txns), strict=True):
            print_result(txn, result)


async def print_events(watch: Watch) -> None:
    async for events in watch:
        for event in events:
            os.write(1, f"saw {event.revision}\n".encode())


async def main(path: Path, seed: int) -> None:
    store = await open_file(path)
    rng = random.Random(seed)  # noqa: S311
    async with store.watch("objects/", after=Revision(await store.revision())) as watch:
        writers = [commit_singly(store, random.Random(rng.random())) for _ in range(32)]  # noqa: S311
        await asyncio.gather(print_events(watch), commit_in_bulk(store, rng), *writers)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
