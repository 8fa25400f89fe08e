"""A process that writes at full speed and says what was acknowledged, until somebody kills it.

    python writer.py FILE SEED

Prints a line for each acknowledged transaction (`ack REVISION KEY VALUE`, an empty value for a delete) and for each event
that its own watch has seen (`saw REVISION`). 32 committers change single objects, one more changes many at once.
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
    """The index entries that belong to this version of the object: which ones follows from the value."""
    owner = value.decode().split(".")[0]
    return [f"owned/{owner}@a/{key}", f"inside/a/{key}"]


def next_txn(key: str, now: Record | None, dice: random.Random) -> Txn:
    value = f"{dice.randrange(5)}.{dice.getrandbits(64):x}".encode() * dice.choice([1, 1, 20])
    if now is None:
        return create(key, value, enter=entries_of(key, value))
    old = set(entries_of(key, now.value))
    if dice.random() < 0.3:
        return delete(key, revision=now.revision, leave=old)
    new = set(entries_of(key, value))
    return update(key, value, revision=now.revision, enter=new - old, leave=old - new)


def say(txn: Txn, outcome: object) -> None:
    if isinstance(outcome, int):
        os.write(1, f"ack {outcome} {txn.key} {(txn.value or b'').decode()}\n".encode())


async def commit_singly(store: Store, dice: random.Random) -> None:
    while True:
        key = f"objects/things/a/{dice.randrange(OBJECTS)}"
        txn = next_txn(key, await store.read(key), dice)
        say(txn, await store.commit(txn))


async def commit_in_bulk(store: Store, dice: random.Random) -> None:
    while True:
        keys: Sequence[str] = [f"objects/things/a/{number}" for number in dice.sample(range(OBJECTS), 100)]
        found = [now if isinstance(now, Record) else None for now in await store.read_many(keys)]
        txns = [next_txn(key, now, dice) for key, now in zip(keys, found, strict=True)]
        for txn, outcome in zip(txns, await store.commit_many(txns), strict=True):
            say(txn, outcome)


async def follow(watch: Watch) -> None:
    async for events in watch:
        for event in events:
            os.write(1, f"saw {event.revision}\n".encode())


async def main(path: Path, seed: int) -> None:
    store = await open_file(path)
    dice = random.Random(seed)  # noqa: S311
    async with store.watch("objects/", after=Revision(await store.revision())) as watch:
        writers = [commit_singly(store, random.Random(dice.random())) for _ in range(32)]  # noqa: S311
        await asyncio.gather(follow(watch), commit_in_bulk(store, dice), *writers)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
