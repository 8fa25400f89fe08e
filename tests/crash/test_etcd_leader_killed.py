"""Kills the leader of three etcd members repeatedly under concurrent writers: no acknowledged write is lost.

Each writer owns its keys and gives every write a unique value, so each watch event identifies its write. The test compares what
each writer was told with the events and with the final state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import NO_REVISION, Event, FailedGuards, Revision
from probate.store.etcd.store import EtcdStore, Timeouts
from support.etcd_members import Cluster
from support.etcd_stores import collect_events, committed_revision, open_store, wait_until

WRITERS = 8
KILLS = 5
WRITES_BETWEEN = 200


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(directory=tmp_path) as cluster:
        yield cluster


class Writer:
    """Creates, updates and deletes its objects, one write at a time, and records the results."""

    def __init__(self, store: EtcdStore, name: str) -> None:
        self._store = store
        self._name = name
        self._count = 0
        self._expects: dict[str, Revision] = {}
        self.acknowledged: dict[Revision, tuple[str, bytes | None]] = {}
        self.denied: list[bytes] = []  # values of writes that were reported as not written
        self.unknown: list[bytes | None] = []

    async def run(self) -> None:
        while True:
            self._count += 1
            key = f"objects/pods/{self._name}/{self._count % 7}"
            await self._write(key, None if self._count % 5 == 0 else f"{self._name}-{self._count}".encode())

    async def _write(self, key: str, value: bytes | None) -> None:
        expects = self._expects.get(key, NO_REVISION)
        entry = f"owned/{self._name}/{key}"
        if value is None and expects == NO_REVISION:
            return
        txn = contract.Txn(key, value, expects, (), (entry,)) if value is None else contract.Txn(key, value, expects, (entry,))
        try:
            revision = await committed_revision(self._store.commit(txn))
        except errors.StoreUnavailable:
            self.denied += [] if value is None else [value]
        except errors.OutcomeUnknown:
            self.unknown.append(value)
            await self._look(key)
        else:
            self.acknowledged[revision] = (key, value)
            self._expects[key] = NO_REVISION if value is None else revision

    async def _look(self, key: str) -> None:
        while True:
            try:
                record = await self._store.read(key)
            except errors.StoreUnavailable:
                continue
            self._expects[key] = NO_REVISION if record is None else record.revision
            return


async def test_leader_killed_five_times_under_load(cluster: Cluster) -> None:
    async with open_store(*cluster.endpoints, timeouts=Timeouts()) as store:
        start = await store.revision()
        seen: list[Event] = []
        watcher = asyncio.create_task(_watch(store, start, seen))
        writers = [Writer(store, f"w{number}") for number in range(WRITERS)]
        running = [asyncio.create_task(writer.run()) for writer in writers]
        for _ in range(KILLS):
            await _progress(writers, running)
            leader = await asyncio.to_thread(cluster.leader)
            await asyncio.to_thread(leader.kill)
            await _progress(writers, running)
            await asyncio.to_thread(leader.start)
        await _progress(writers, running)
        last = await _stop(store, running)

        async def is_watching() -> bool:
            return bool(seen) and seen[-1].revision >= last

        await wait_until(is_watching)
        watcher.cancel()
        _check_results(writers, seen)
        assert await collect_events(store, after=start, upto=last) == seen  # history delivers the same afterwards
        await _check_final_state(store, seen)


async def _watch(store: EtcdStore, start: Revision, seen: list[Event]) -> None:
    async with store.watch("objects/", after=start) as watch:
        async for events in watch:
            seen += events


async def _progress(writers: list[Writer], running: list[asyncio.Task[None]]) -> None:
    """Waits until many more writes have been made, so that each kill hits a busy cluster."""
    goal = sum(len(writer.acknowledged) for writer in writers) + WRITES_BETWEEN

    async def is_reached() -> bool:
        for task in running:
            assert not task.done(), task.exception()
        return sum(len(writer.acknowledged) for writer in writers) >= goal

    await wait_until(is_reached)


async def _stop(store: EtcdStore, running: list[asyncio.Task[None]]) -> Revision:
    """Stops the writers. Their cancelled writes may still happen, so a final write marks the end."""
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return await committed_revision(store.commit(contract.create("objects/pods/end/end", b"end")))


def _check_results(writers: list[Writer], seen: list[Event]) -> None:
    revisions = [event.revision for event in seen]
    assert revisions == sorted(set(revisions))
    by_revision = {event.revision: (event.key, event.value) for event in seen}
    for writer in writers:
        for revision, written in writer.acknowledged.items():
            assert by_revision.pop(revision) == written
    values = {value for _, value in by_revision.values()}
    assert not values & {value for writer in writers for value in writer.denied}
    # The rest was never acknowledged: at most one cancelled write each, those with unknown outcome, and the end marker.
    assert len(by_revision) <= len(writers) + sum(len(writer.unknown) for writer in writers) + 1


async def _check_final_state(store: EtcdStore, seen: list[Event]) -> None:
    """Checks that the objects equal the sum of the events, and that each has its entry of the same revision."""
    expected = {event.key: event for event in seen if event.value is not None and event.key != "objects/pods/end/end"}
    for event in seen:
        if event.value is None and expected[event.key].revision < event.revision:
            del expected[event.key]
    objects = (await store.scan("objects/pods/", limit=1000)).records
    entries = (await store.scan("owned/", limit=1000)).records
    there = {record.key: record.revision for record in objects if record.key != "objects/pods/end/end"}
    assert there == {key: event.revision for key, event in expected.items()}
    assert there == {entry.key.split("/", 2)[2]: entry.revision for entry in entries}
    assert not isinstance(await store.commit(contract.create("objects/pods/end/new", b"")), FailedGuards)
