"""Writers create dependents as fast as they can while their owner is deleted: what a best-effort collector gets wrong.

Whoever asks "has it dependents?" and then, a moment later, lets the owner go, will one day miss one that was created in that
moment. Here a thousand owners go while others write, and the store is asked what there was at the very revision at which each left.

The writers aim at that moment. After a first burst they wait, as the collector does, until a dependent is gone or let go, and then
create the next one at once, or a few turns of the loop later.
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
from support.in_process_server import House, running

ROUNDS = 1_000
LANES = 8
WRITERS = 2
MOST = 8
"""Dependents that one writer creates at most, lest an owner that is never free for a moment stay for ever."""
HASTE = 0.5
BURST = 3
HELD_ROUNDS = 5
JITTER = 12

FOLDER = "objects/configmaps/"


class Round(NamedTuple):
    """What happened to one owner."""

    uid: str
    namespace: str
    marked: int  # the revision at which it began to go
    left: int  # and at which it was gone
    written: dict[str, int]  # its dependents, and the revision at which each was created


class Registrar:
    """Notes at which revision the owner of each namespace began to go, and left, and tells when one of its dependents is free."""

    def __init__(self) -> None:
        self.marked: dict[str, int] = {}
        self.left: dict[str, asyncio.Future[int]] = {}
        self._freed: dict[str, asyncio.Event] = {}

    def note(self, event: Event) -> None:
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
        """Wait until a dependent is gone or let go. (Or the owner has left: then there is nothing to wait for.)"""
        if not self.expect(namespace).done():
            await self._freed.setdefault(namespace, asyncio.Event()).wait()

    def _free(self, namespace: str) -> None:
        if namespace in self._freed:
            self._freed.pop(namespace).set()


@asynccontextmanager
async def registering(house: House) -> AsyncGenerator[Registrar, None]:
    registrar = Registrar()

    async def follow() -> None:
        async with house.store.watch(FOLDER, after=start) as watch:
            async for events in watch:
                for event in events:
                    registrar.note(event)

    start = await house.store.revision()
    following = asyncio.ensure_future(follow())
    try:
        yield registrar
    finally:
        await tasks.stop(following)


async def play(house: House, registrar: Registrar, number: int, policy: str, dice: random.Random) -> Round:
    """Create an owner and, while writers create its dependents, delete it; wait until it has left."""
    namespace = f"round-{number}"
    await house.create("namespaces", "", {"metadata": {"name": namespace}})
    owner = await house.create("configmaps", namespace, {"metadata": {"name": "owner"}})
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    written: dict[str, int] = {}

    async def write(writer: int, count: int) -> None:
        burst = dice.randint(0, BURST)
        for at in range(count):
            if at >= burst:  # at any moment, or just when one has gone: the owner may go with it, or right after it
                if dice.random() < HASTE:
                    await asyncio.sleep(0)
                else:
                    await registrar.next_freed(namespace)
                await pause()
            name = f"dependent-{writer}-{at}"
            made = await house.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": [reference]}})
            written[name] = int(made["metadata"]["resourceVersion"])

    async def pause() -> None:
        for _ in range(dice.randint(0, JITTER)):
            await asyncio.sleep(0)

    async def delete() -> None:
        await pause()
        told = await house.ask("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/owner", {"propagationPolicy": policy})
        assert told.code == 200

    await asyncio.gather(delete(), *(write(writer, dice.randint(1, MOST)) for writer in range(WRITERS)))
    async with asyncio.timeout(60):
        left = await registrar.expect(namespace)
    return Round(uid, namespace, registrar.marked[namespace], left, written)


async def play_all(house: House, policy: str, check: Any) -> list[Round]:
    dice = random.Random()  # noqa: S311
    rounds: list[Round] = []

    async def lane(first: int, registrar: Registrar) -> None:
        for number in range(first, ROUNDS, LANES):
            rounds.append(await play(house, registrar, number, policy, dice))
            await check(rounds[-1])

    async with registering(house) as registrar:
        await asyncio.gather(*(lane(first, registrar) for first in range(LANES)))
    return rounds


async def dependents_at(house: House, played: Round, revision: int | None = None) -> list[Record]:
    at = None if revision is None else Revision(revision)
    return (await house.store.scan(f"{FOLDER}{played.namespace}/", limit=1_000, at=at)).records


def refers(record: Record, uid: str) -> bool:
    return any(owner.uid == uid for owner in object_codec.meta(record.value).owner_references)


def share_that_raced(rounds: list[Round]) -> float:
    """How many of the owners had dependents created while they were on their way out."""
    return sum(any(played.marked < at < played.left for at in played.written.values()) for played in rounds) / len(rounds)


async def test_owner_in_foreground_deletion_never_leaves_while_a_dependent_blocks_it(quick_path: Path) -> None:
    async with running(await open_file(quick_path / "probate.db")) as house:

        async def check(played: Round) -> None:
            there = await dependents_at(house, played, played.left)
            assert [one.key for one in there if refers(one, played.uid)] == [], f"the owner in {played.namespace} left before these"

        rounds = await play_all(house, "Foreground", check)
        assert share_that_raced(rounds) > 0.5
        await house.rest()
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
        await house.rest()
        for played in rounds:
            orphans = {f"{FOLDER}{played.namespace}/{name}" for name, at in played.written.items() if at < played.left}
            assert {one.key for one in await dependents_at(house, played)} == orphans
            assert not any(refers(one, played.uid) for one in await dependents_at(house, played))


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
async def test_owner_leaves_while_another_namespace_names_it_in_ever_new_objects(quick_path: Path, policy: str) -> None:
    async with running(await open_file(quick_path / "probate.db")) as house, registering(house) as registrar:
        await house.create("namespaces", "", {"metadata": {"name": "hostile"}})
        for number in range(HELD_ROUNDS):
            uid = await leave_in_spite(house, registrar, f"victim-{number}", policy)
            left = await registrar.expect(f"victim-{number}")
            strays = (await house.store.scan(f"{FOLDER}hostile/", limit=1_000, at=Revision(left))).records
            assert any(refers(one, uid) for one in strays), "nothing named the owner when it left: the round proves nothing"


async def leave_in_spite(house: House, registrar: Registrar, namespace: str, policy: str) -> str:
    """Delete an owner, and wait until it has left, while somebody names it from another namespace without end. Its uid."""
    await house.create("namespaces", "", {"metadata": {"name": namespace}})
    owner = await house.create("configmaps", namespace, {"metadata": {"name": "owner"}})
    uid = owner["metadata"]["uid"]
    # The kind that is not served keeps the collector from deleting these: they stay, and more and more name the owner.
    ghost = {"apiVersion": "nowhere.example.com/v1", "kind": "Ghost", "name": "g", "uid": f"ghost-{namespace}"}
    names_owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    meta = {"generateName": "stray-", "ownerReferences": [names_owner, ghost]}

    async def write() -> None:
        while True:
            await house.create("configmaps", "hostile", {"metadata": meta})

    await house.create("configmaps", "hostile", {"metadata": meta})
    async with tasks.beside(write()):
        await house.ask("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/owner", {"propagationPolicy": policy})
        async with asyncio.timeout(60):
            await registrar.expect(namespace)
    return str(uid)
