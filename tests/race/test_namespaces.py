"""Writers create objects as fast as they can in namespaces that are deleted: what a best-effort controller gets wrong.

Whoever asks "may this be created here?" and creates it a moment later, or asks "is it empty?" and removes it a moment later, will
one day leave an object behind that nobody can reach. Here a thousand namespaces go while others write in them, and the store is
asked what there was at the very revision at which each left.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import Scopes
from probate.controllers.runtime.reconcile import Loop
from probate.core.aio import tasks
from probate.gc.backends.store.backend import World
from probate.server.codec import object_codec
from probate.server.context import LARGE_BYTES
from probate.store.contract import Event, Revision
from probate.store.sqlite.store import open_file
from support.in_process_server import House, running

ROUNDS = 1_000
LANES = 8
WRITERS = 3
JITTER = 12

FOLDER = "objects/namespaces/-/"
KINDS = ("configmaps", "secrets")
LARGE = {"data": {"much": "m" * LARGE_BYTES}}

T = TypeVar("T")


class Dawdler:
    """A thread that is slow to come back: whatever is done there takes a random time. Large objects are prepared on one."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    async def run(self, call: Callable[[], T]) -> T:
        for _ in range(self._dice.randint(0, 10 * JITTER)):
            await asyncio.sleep(0)
        return call()

    def close(self) -> None:
        pass


class Round(NamedTuple):
    """What happened to one namespace."""

    name: str
    marked: int  # the revision at which it was closed
    left: int  # and at which it was gone
    created: list[int]  # the revisions at which objects were created in it


class Registrar:
    """Notes at which revision each namespace was closed, and left."""

    def __init__(self) -> None:
        self.marked: dict[str, int] = {}
        self._left: dict[str, asyncio.Future[int]] = {}

    def note(self, event: Event) -> None:
        name = event.key.removeprefix(FOLDER)
        if event.value is None:
            self.left(name).set_result(event.revision)
        elif object_codec.meta(event.value).deletion_timestamp is not None:
            self.marked.setdefault(name, event.revision)

    def left(self, name: str) -> asyncio.Future[int]:
        return self._left.setdefault(name, asyncio.get_running_loop().create_future())


@asynccontextmanager
async def registering(house: House) -> AsyncGenerator[Registrar, None]:
    """The controller of namespaces at work, and somebody who takes notes."""
    registrar, world = Registrar(), World(house.api)
    start = await house.store.revision()

    async def follow() -> None:
        async with house.store.watch(FOLDER, after=start) as watch:
            async for events in watch:
                for event in events:
                    registrar.note(event)

    controller = Loop("namespaces", Scopes(Namespaces(), world, house.clock), world, house.clock)
    working = [asyncio.ensure_future(follow()), asyncio.ensure_future(controller.run())]
    try:
        yield registrar
    finally:
        await tasks.stop(*working)


async def play(house: House, registrar: Registrar, name: str, dice: random.Random) -> Round:
    """Create a namespace and, while writers create objects in it, delete it; wait until it has left."""
    await house.create("namespaces", "", {"metadata": {"name": name}})
    created: list[int] = []

    async def pause() -> None:
        for _ in range(dice.randint(0, JITTER)):
            await asyncio.sleep(0)

    async def write(writer: int) -> None:
        """Until the namespace is closed to it."""
        for number in range(1_000_000):
            path = f"/api/v1/namespaces/{name}/{KINDS[number % len(KINDS)]}"
            body = {"metadata": {"name": f"{writer}-{number}"}, **dice.choice(({}, LARGE))}
            told = await house.ask("POST", path, body)
            if told.code != 201:
                assert told.code in {403, 404}, told.body
                return
            created.append(int(told.json["metadata"]["resourceVersion"]))
            if dice.random() < 0.5:
                await pause()

    async def delete() -> None:
        await pause()
        assert (await house.ask("DELETE", f"/api/v1/namespaces/{name}")).code == 200

    await asyncio.gather(delete(), *(write(writer) for writer in range(WRITERS)))
    async with asyncio.timeout(60):
        left = await registrar.left(name)
    return Round(name, registrar.marked[name], left, created)


async def content(house: House, namespace: str, at: Revision | None = None) -> list[str]:
    pages = [await house.store.scan(f"objects/{kind}/{namespace}/", limit=1_000, at=at) for kind in KINDS]
    return [record.key for page in pages for record in page.records]


async def test_nothing_is_left_behind_by_a_namespace_that_goes(quick_path: Path) -> None:
    dice = random.Random()  # noqa: S311
    rounds: list[Round] = []

    async def lane(first: int) -> None:
        for number in range(first, ROUNDS, LANES):
            played = await play(house, registrar, f"round-{number}", dice)
            assert await content(house, played.name, Revision(played.left)) == []
            assert [at for at in played.created if at > played.marked] == [], f"created in {played.name} although it was closed"
            rounds.append(played)

    async with running(await open_file(quick_path / "probate.db"), offload=Dawdler(dice)) as house, registering(house) as registrar:
        await asyncio.gather(*(lane(first) for first in range(LANES)))
        assert sum(bool(played.created) for played in rounds) > ROUNDS / 2
        for played in rounds:
            assert await content(house, played.name) == []
