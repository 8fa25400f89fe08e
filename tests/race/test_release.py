"""Writers create dependents as fast as they can while their owner is deleted: the race that a best-effort collector loses.

A collector that checks "does it have dependents?" and removes the owner a moment later eventually misses one that was created in
between. This test deletes a thousand owners while clients write, and reads the store at the exact revision at which each was
removed.

The writers aim at that moment. After a first burst they wait, as the collector does, until a dependent is deleted or released, and
then create the next one at once, or a few turns of the event loop later.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from probate.core.aio import tasks
from probate.server.codec import object_codec
from probate.store.contract import Event, Record, Revision
from probate.store.sqlite.store import open_file
from support.in_process_server import InProcessServer, running

ROUNDS = 1_000
LANES = 8
WRITERS = 2
MOST = 8
"""The maximum number of dependents that one writer creates; otherwise an owner that always has one would stay forever."""
IMMEDIATE_SHARE = 0.5
BURST = 3
HELD_ROUNDS = 5
JITTER = 12

FOLDER = "objects/configmaps/"


class Round(NamedTuple):
    """What happened to one owner."""

    uid: str
    namespace: str
    marked: int  # the revision at which its deletion began
    left: int  # the revision at which it was removed
    written: dict[str, int]  # the revision at which each of its dependents was created


class DeletionLog:
    """Records when the deletion of each namespace's owner began and ended, and signals when one of its dependents is released."""

    def __init__(self) -> None:
        self.marked: dict[str, int] = {}
        self.left: dict[str, asyncio.Future[int]] = {}
        self._freed: dict[str, asyncio.Event] = {}

    def record(self, event: Event) -> None:
        namespace, name = event.key.removeprefix(FOLDER).split("/")
        meta = None if event.value is None else object_codec.meta(event.value)
        if name != "owner" and (meta is None or not meta.owner_references):
            self._free(namespace)
        elif name == "owner" and meta is None:
            self.expect(namespace).set_result(event.revision)
            self._free(namespace)
        elif name == "owner" and meta is not None and meta.deletion_timestamp is not None:
            self.marked.setdefault(namespace, event.revision)

    def expect(self, namespace: str) -> asyncio.Future[int]:
        return self.left.setdefault(namespace, asyncio.get_running_loop().create_future())

    async def next_freed(self, namespace: str) -> None:
        """Waits until a dependent is deleted or released, or until the owner is removed."""
        if not self.expect(namespace).done():
            await self._freed.setdefault(namespace, asyncio.Event()).wait()

    def _free(self, namespace: str) -> None:
        if namespace in self._freed:
            self._freed.pop(namespace).set()


@asynccontextmanager
async def recording_deletions(house: InProcessServer) -> AsyncGenerator[DeletionLog, None]:
    deletion_log = DeletionLog()

    async def follow() -> None:
        async with house.store.watch(FOLDER, after=start) as watch:
            async for events in watch:
                for event in events:
                    deletion_log.record(event)

    start = await house.store.revision()
    following = asyncio.ensure_future(follow())
    try:
        yield deletion_log
    finally:
        await tasks.stop(following)


async def play(house: InProcessServer, deletion_log: DeletionLog, number: int, policy: str, rng: random.Random) -> Round:
    """Creates an owner, deletes it while writers create its dependents, and waits until it is removed."""
    namespace = f"round-{number}"
    await house.create("namespaces", "", {"metadata": {"name": namespace}})
    owner = await house.create("configmaps", namespace, {"metadata": {"name": "owner"}})
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    written: dict[str, int] = {}

    async def write(writer: int, count: int) -> None:
        burst = rng.randint(0, BURST)
        for at in range(count):
            if at >= burst:  # at a random moment, or when one was just deleted: the owner may be released with it or right after it
                if rng.random() < IMMEDIATE_SHARE:
                    await asyncio.sleep(0)
                else:
                    await deletion_log.next_freed(namespace)
                await pause()
            name = f"dependent-{writer}-{at}"
            made = await house.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": [reference]}})
            written[name] = int(made["metadata"]["resourceVersion"])

    async def pause() -> None:
        for _ in range(rng.randint(0, JITTER)):
            await asyncio.sleep(0)

    async def delete() -> None:
        await pause()
        told = await house.request("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/owner", {"propagationPolicy": policy})
        assert told.code == 200

    await asyncio.gather(delete(), *(write(writer, rng.randint(1, MOST)) for writer in range(WRITERS)))
    async with asyncio.timeout(60):
        left = await deletion_log.expect(namespace)
    return Round(uid, namespace, deletion_log.marked[namespace], left, written)


async def play_all(house: InProcessServer, policy: str, check: Any) -> list[Round]:
    rng = random.Random()  # noqa: S311
    rounds: list[Round] = []

    async def lane(first: int, deletion_log: DeletionLog) -> None:
        for number in range(first, ROUNDS, LANES):
            rounds.append(await play(house, deletion_log, number, policy, rng))
            await check(rounds[-1])

    async with recording_deletions(house) as deletion_log:
        await asyncio.gather(*(lane(first, deletion_log) for first in range(LANES)))
    return rounds


async def dependents_at(house: InProcessServer, played: Round, revision: int | None = None) -> list[Record]:
    at = None if revision is None else Revision(revision)
    return (await house.store.scan(f"{FOLDER}{played.namespace}/", limit=1_000, at=at)).records


def refers(record: Record, uid: str) -> bool:
    return any(owner.uid == uid for owner in object_codec.meta(record.value).owner_references)


def share_that_raced(rounds: list[Round]) -> float:
    """Returns the share of owners that had dependents created during their deletion."""
    return sum(any(played.marked < at < played.left for at in played.written.values()) for played in rounds) / len(rounds)


async def test_owner_in_foreground_deletion_is_never_removed_while_a_dependent_blocks_it(quick_path: Path) -> None:
    async with running(await open_file(quick_path / "probate.db")) as house:

        async def check(played: Round) -> None:
            there = await dependents_at(house, played, played.left)
            assert [one.key for one in there if refers(one, played.uid)] == [], f"the owner in {played.namespace} left before these"

        rounds = await play_all(house, "Foreground", check)
        assert share_that_raced(rounds) > 0.5
        await house.wait_until_idle()
        for played in rounds:
            assert await dependents_at(house, played) == []


async def test_no_dependent_of_an_orphaning_owner_is_ever_collected(quick_path: Path) -> None:
    async with running(await open_file(quick_path / "probate.db")) as house:

        async def check(played: Round) -> None:
            there = await dependents_at(house, played, played.left)
            assert [one.key for one in there if refers(one, played.uid)] == [], (
                f"the owner in {played.namespace} left while these referred to it"
            )

        rounds = await play_all(house, "Orphan", check)
        assert share_that_raced(rounds) > 0.5
        await house.wait_until_idle()
        for played in rounds:
            orphans = {f"{FOLDER}{played.namespace}/{name}" for name, at in played.written.items() if at < played.left}
            assert {one.key for one in await dependents_at(house, played)} == orphans
            assert not any(refers(one, played.uid) for one in await dependents_at(house, played))


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
async def test_owner_leaves_while_another_namespace_names_it_in_ever_new_objects(quick_path: Path, policy: str) -> None:
    async with running(await open_file(quick_path / "probate.db")) as house, recording_deletions(house) as deletion_log:
        await house.create("namespaces", "", {"metadata": {"name": "hostile"}})
        for number in range(HELD_ROUNDS):
            uid = await delete_despite_references(house, deletion_log, f"victim-{number}", policy)
            left = await deletion_log.expect(f"victim-{number}")
            referring = (await house.store.scan(f"{FOLDER}hostile/", limit=1_000, at=Revision(left))).records
            assert any(refers(one, uid) for one in referring), "nothing named the owner when it left: the round proves nothing"


async def delete_despite_references(house: InProcessServer, deletion_log: DeletionLog, namespace: str, policy: str) -> str:
    """Deletes an owner while another namespace keeps creating references to it. Returns its uid once it is removed."""
    await house.create("namespaces", "", {"metadata": {"name": namespace}})
    owner = await house.create("configmaps", namespace, {"metadata": {"name": "owner"}})
    uid = owner["metadata"]["uid"]
    # A kind that is not served prevents the collector from deleting these objects: more and more reference the owner.
    ghost = {"apiVersion": "nowhere.example.com/v1", "kind": "Ghost", "name": "g", "uid": f"ghost-{namespace}"}
    names_owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    meta = {"generateName": "stray-", "ownerReferences": [names_owner, ghost]}

    async def write() -> None:
        while True:
            await house.create("configmaps", "hostile", {"metadata": meta})

    await house.create("configmaps", "hostile", {"metadata": meta})
    async with tasks.BackgroundTask(write()):
        await house.request("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/owner", {"propagationPolicy": policy})
        async with asyncio.timeout(60):
            await deletion_log.expect(namespace)
    return str(uid)
