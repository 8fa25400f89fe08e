"""`kill -9` of a writing process at random moments: every acknowledged write is there, and none is there in part."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from crash.writer import entries_of
from probate.store import pagination
from probate.store.contract import Event, Record, Revision, Store
from probate.store.sqlite.store import open_file

WRITER = Path(__file__).with_name("writer.py")
ROUNDS = 50


class Ack(NamedTuple):
    revision: Revision
    key: str
    value: bytes


class Output(NamedTuple):
    """The output of a killed writer."""

    acks: list[Ack]
    seen: Revision


def write_and_kill(path: Path, *, seed: int, after_lines: int) -> Output:
    command = [sys.executable, str(WRITER), str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(after_lines)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.read().splitlines(keepends=True)
    assert writer.returncode == -signal.SIGKILL, "the writer ended by itself"
    words = [line.decode().rstrip("\n").split(" ") for line in lines if line.endswith(b"\n")]
    acks = [Ack(Revision(int(word[1])), word[2], word[3].encode()) for word in words if word[0] == "ack"]
    return Output(acks, Revision(max((int(word[1]) for word in words if word[0] == "saw"), default=0)))


async def all_records(store: Store, prefix: str) -> list[Record]:
    return [record async for page in pagination.pages(store, prefix) for record in page.records]


async def changes(store: Store, after: Revision) -> list[Event]:
    newest = await store.revision()
    found: list[Event] = []
    async with store.watch("objects/", after=after) as watch:
        if watch.revision < newest:
            async for events in watch:
                found += events
                if found[-1].revision >= newest:
                    break
    return found


async def check_acknowledged_writes_are_there(store: Store, acks: list[Ack]) -> None:
    for ack in acks:
        record = await store.read(ack.key, at=ack.revision)
        assert record == (Record(ack.key, ack.value, ack.revision) if ack.value else None)


async def check_no_transaction_is_there_in_part(store: Store) -> None:
    objects = await all_records(store, "objects/")
    entries = await all_records(store, "owned/") + await all_records(store, "inside/")
    expected = {entry for record in objects for entry in entries_of(record.key, record.value)}
    assert {entry.key for entry in entries} == expected


async def check_history_explains_the_present(store: Store, events: list[Event]) -> None:
    state: dict[str, Record] = {}
    for event in events:
        assert event.previous == state.get(event.key)
        if event.value is None:
            del state[event.key]
        else:
            state[event.key] = Record(event.key, event.value, event.revision)
    assert sorted(state) == [record.key for record in await all_records(store, "objects/")]
    assert list(state.values()) == sorted(await all_records(store, "objects/"), key=lambda record: list(state).index(record.key))


async def test_fifty_kills_lose_no_acknowledged_write(tmp_path: Path) -> None:
    path = tmp_path / "probate.db"
    rng = random.Random()  # noqa: S311
    reached = Revision(0)
    acknowledged = 0
    for turn in range(ROUNDS):
        output = write_and_kill(path, seed=rng.randrange(2**32), after_lines=rng.randint(1, 1500))
        acknowledged += len(output.acks)
        store = await open_file(path)
        assert await store.revision() >= max([reached, output.seen, *(ack.revision for ack in output.acks)])
        assert all(ack.revision > reached for ack in output.acks), "a revision came again"
        await check_acknowledged_writes_are_there(store, output.acks)
        await check_no_transaction_is_there_in_part(store)
        reached = await store.revision()
        resumed = [event.revision for event in await changes(store, max(output.seen, Revision(1)))]
        assert resumed == list(range(max(output.seen, 1) + 1, reached + 1)), "a watch from before the crash misses or repeats"
        if turn % 10 == 9:
            await check_history_explains_the_present(store, await changes(store, Revision(1)))
        await store.close()
    assert acknowledged > ROUNDS * 10
