"""Writers create objects as fast as they can in namespaces that are being deleted: the race that a best-effort controller loses.

A server that checks "is this namespace active?" and creates the object a moment later, or checks "is it empty?" and removes the
namespace a moment later, eventually leaves an object behind in a namespace that does not exist. This test deletes a thousand
namespaces while clients write in them, and reads the store at the exact revision at which each was removed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from probate.controllers.manager import store_backend
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import ScopeDeletion
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core.aio import tasks
from probate.core.aio.large_work import LARGE_BYTES
from probate.server.codec import object_codec
from probate.store.contract import Event, Revision
from probate.store.sqlite.store import open_file
from support.in_process_server import InProcessServer, running

ROUNDS = 1_000
LANES = 8
WRITERS = 3
JITTER = 12

FOLDER = "objects/namespaces/-/"
KINDS = ("configmaps", "secrets")
LARGE = {"data": {"much": "m" * LARGE_BYTES}}

T = TypeVar("T")


class SlowOffload:
    """An offload thread whose calls take a random time. The server prepares large objects on it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def run(self, call: Callable[[], T]) -> T:
        for _ in range(self._rng.randint(0, 10 * JITTER)):
            await asyncio.sleep(0)
        return call()

    def close(self) -> None:
        pass


class Round(NamedTuple):
    """What happened to one namespace."""

    name: str
    marked: int  # the revision at which its deletion began
    left: int  # the revision at which it was removed
    created: list[int]  # the revisions at which objects were created in it


class DeletionLog:
    """Records the revisions at which the deletion of each namespace began and at which it was removed."""

    def __init__(self) -> None:
        self.marked: dict[str, int] = {}
        self._left: dict[str, asyncio.Future[int]] = {}

    def record(self, event: Event) -> None:
        name = event.key.removeprefix(FOLDER)
        if event.value is None:
            self.left(name).set_result(event.revision)
        elif object_codec.meta(event.value).deletion_timestamp is not None:
            self.marked.setdefault(name, event.revision)

    def left(self, name: str) -> asyncio.Future[int]:
        return self._left.setdefault(name, asyncio.get_running_loop().create_future())


@asynccontextmanager
async def recording_deletions(house: InProcessServer) -> AsyncGenerator[DeletionLog, None]:
    """Runs the namespace controller, and a watch that records deletions."""
    deletion_log, world = DeletionLog(), store_backend(house.api)
    start = await house.store.revision()

    async def follow() -> None:
        async with house.store.watch(FOLDER, after=start) as watch:
            async for events in watch:
                for event in events:
                    deletion_log.record(event)

    controller = ChangeFeedLoop("namespaces", ScopeDeletion(Namespaces(), world, house.clock), world, clock=house.clock)
    working = [asyncio.ensure_future(follow()), asyncio.ensure_future(controller.run())]
    try:
        yield deletion_log
    finally:
        await tasks.stop(*working)


async def play(house: InProcessServer, deletion_log: DeletionLog, name: str, rng: random.Random) -> Round:
    """Creates a namespace, deletes it while writers create objects in it, and waits until it is removed."""
    await house.create("namespaces", "", {"metadata": {"name": name}})
    created: list[int] = []

    async def pause() -> None:
        for _ in range(rng.randint(0, JITTER)):
            await asyncio.sleep(0)

    async def write(writer: int) -> None:
        """Creates objects until the namespace rejects them."""
        for number in range(1_000_000):
            path = f"/api/v1/namespaces/{name}/{KINDS[number % len(KINDS)]}"
            body = {"metadata": {"name": f"{writer}-{number}"}, **rng.choice(({}, LARGE))}
            told = await house.request("POST", path, body)
            if told.code != 201:
                assert told.code in {403, 404}, told.body
                return
            created.append(int(told.json["metadata"]["resourceVersion"]))
            if rng.random() < 0.5:
                await pause()

    async def delete() -> None:
        await pause()
        assert (await house.request("DELETE", f"/api/v1/namespaces/{name}")).code == 200

    await asyncio.gather(delete(), *(write(writer) for writer in range(WRITERS)))
    async with asyncio.timeout(60):
        left = await deletion_log.left(name)
    return Round(name, deletion_log.marked[name], left, created)


async def content(house: InProcessServer, namespace: str, at: Revision | None = None) -> list[str]:
    pages = [await house.store.scan(f"objects/{kind}/{namespace}/", limit=1_000, at=at) for kind in KINDS]
    return [record.key for page in pages for record in page.records]


async def test_deleted_namespace_leaves_no_objects_behind(quick_path: Path) -> None:
    rng = random.Random()  # noqa: S311
    rounds: list[Round] = []

    async def lane(first: int) -> None:
        for number in range(first, ROUNDS, LANES):
            played = await play(house, deletion_log, f"round-{number}", rng)
            assert await content(house, played.name, Revision(played.left)) == []
            assert [at for at in played.created if at > played.marked] == [], f"created in {played.name} although it was closed"
            rounds.append(played)

    async with (
        running(await open_file(quick_path / "probate.db"), offload=SlowOffload(rng)) as house,
        recording_deletions(house) as deletion_log,
    ):
        await asyncio.gather(*(lane(first) for first in range(LANES)))
        assert sum(bool(played.created) for played in rounds) > ROUNDS / 2
        for played in rounds:
            assert await content(house, played.name) == []
