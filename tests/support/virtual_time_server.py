"""The server of `in_process` on a clock that the test moves, so that nothing sleeps and every run can be repeated.

`settle` lets everybody work until the collector has seen every change and has nothing left to do, and no controller has either;
when the collector waits for a time, that is the time next. Times that controllers wait for are the test's to pass.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import orjson

from probate.client.objects import Client
from probate.controllers import manager
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.gc.backends.store.backend import World
from probate.gc.collector import Collector
from probate.server.bootstrap import namespaces, rbac_roles
from probate.settings import Settings
from probate.store.contract import Event, Revision, Store
from probate.store.sqlite import store as sqlite
from support.faulty_transport import Line
from support.in_process_server import House

PATIENCE = 30.0
MERGE_PATCH = "application/merge-patch+json"

_APPOINTMENTS = 2_000
"""That a settle waits for, at most: a collector that makes new ones for ever does not settle."""


_LOOKS = 1_000
"""At a collector that works before patience can end."""


class Unsettled(AssertionError):
    """The collector does not come to rest."""


class Cluster(House):
    """One server, its collector, its controllers, and its clock. `pause` is how long to wait for a store in another process."""

    clock: FakeClock

    def __init__(self, store: Store, *, pause: float = 0, names: Collection[str] = (), settings: Settings | None = None) -> None:
        super().__init__(store, FakeClock())
        self.settings = settings or Settings()
        self._pause = pause
        self._names = names  # of the controllers that act through the API
        self.server = manager.SOMEBODY
        self.line = Line(self.api)  # between the controllers and the server
        self._following: list[asyncio.Task[None]] = []  # roles: once there are controllers, they act as themselves
        self.events: list[Event] = []  # all changes, until somebody takes them
        self._newest = 0  # change there is
        self._recorded: Callable[[], int] = lambda: 0
        self._restarting = asyncio.Lock()
        self._failures: list[BaseException] = []

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Cluster, None]:
        before = self._newest = await self.store.revision()  # others may have compacted what was there earlier
        await namespaces.ensure_namespaces(self.api)
        recording = self._start(self._record(before))
        self._collecting = self._start(self.collector.run())
        try:
            async with self.controlling():
                yield self
        finally:
            await tasks.stop(recording, self._collecting, *self._following)
        assert not self._failures
        assert not self.line.ungranted, "a controller does what no role grants it"

    @asynccontextmanager
    async def controlling(self) -> AsyncGenerator[None, None]:
        """The controllers at work. Nobody is if there are no names."""
        if not self._names:
            yield
            return
        if not self._following:
            await rbac_roles.ensure_roles(self.api)
            self._following.append(self._start(self.api.access.following.run(lambda: self.clock.sleep(1.0))))
            await self._until(self._is_known_who_may, "who may do what is not known")
        client, metrics = Client(self.line.by(manager.MANAGER)), self.api.figures.registry
        own = {name: Client(self.line.by(manager.user_of(name))) for name in self._names}
        report = lambda _, error: self._failures.append(error)  # noqa: E731
        async with manager.controlling(
            client, self.clock, self._names, report, settings=self.settings, metrics=metrics, server=self.server, own=own
        ):
            yield

    async def restart_collector(self) -> None:
        """Put another collector in the place of this one, which is stopped wherever it is."""
        async with self._restarting:
            await tasks.stop(self._collecting)
            self.collector = Collector(World(self.api), self.clock)
            self._collecting = self._start(self.collector.run())

    @asynccontextmanager
    async def watching(self, path: str) -> AsyncGenerator[list[Any], None]:
        """The events of a watch that begins now; the list grows as they come."""
        events: list[Any] = []
        has_begun, is_left = asyncio.Event(), asyncio.Event()

        async def receive() -> dict[str, Any]:
            await is_left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            has_begun.set()
            events.extend(orjson.loads(line) for line in message.get("body", b"").splitlines())

        now = str(await self.store.revision())
        asked = urlencode({"watch": "1", "resourceVersion": now}).encode()
        scope = {"type": "http", "method": "GET", "path": path, "query_string": asked, "headers": []}
        serving = asyncio.ensure_future(self.app(scope, receive, send))
        await has_begun.wait()
        try:
            yield events
        finally:
            is_left.set()
            await serving

    async def settle(self) -> None:
        """Come back when the collector has nothing left to do."""
        for _ in range(_APPOINTMENTS):
            await self._rest()
            soonest = self.collector.next_appointment
            if soonest is None:
                return
            # Who was about to sleep when time went on wakes up a little later than it meant to.
            await self._wait(max(0.001, soonest - self.clock.monotonic()))
        raise Unsettled(f"the collector still has {self.collector.queue_length} things to do after {_APPOINTMENTS} appointments")

    async def pass_time(self, seconds: float) -> None:
        """Let time go on while the collector works."""
        await self._rest()
        await self._wait(seconds)
        await self._rest()

    async def _wait(self, seconds: float) -> None:
        """Let time go on. With controllers, all that can happen at a time has happened before the next time comes."""
        until = self.clock.monotonic() + seconds
        while self._names and (soonest := self.clock.next) is not None and soonest < until:
            await self.clock.advance(max(0.0, soonest - self.clock.monotonic()))
            await self._rest()
        await self.clock.advance(until - self.clock.monotonic())

    async def _rest(self) -> None:
        """Come back when the collector has seen everything and waits: for changes, or for a time."""
        await self._until(self._is_at_rest, "the collector still works")

    async def _until(self, is_so: Callable[[], Awaitable[bool]], trouble: str) -> None:
        looks, end = itertools.count(), time.monotonic() + PATIENCE
        while not await is_so():
            if self._failures:
                raise self._failures[0]
            if next(looks) > _LOOKS and time.monotonic() > end:  # not if it was the machine that stood still
                raise Unsettled(f"after {PATIENCE} s {trouble}; the collector has {self.collector.queue_length} things to do")
            await asyncio.sleep(self._pause)

    async def _is_known_who_may(self) -> bool:
        return self.api.access.following.is_current()

    async def _is_at_rest(self) -> bool:
        if not self._seems_at_rest():  # a store may be far away: it is asked only if that can matter
            return False
        before = await self.store.revision()
        return self._recorded() >= before and self._seems_at_rest() and await self.store.revision() == before

    def _seems_at_rest(self) -> bool:
        can_others_go_on = self._names and asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        return self.collector.seen >= self._newest and self.collector.is_waiting and not can_others_go_on

    async def _record(self, after: Revision) -> None:
        async with self.store.watch("objects/", after=after) as watch:
            self._recorded = lambda: watch.revision
            async for events in watch:
                self.events += events
                self._newest = events[-1].revision

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return tasks.guard(work, name="cluster", on_failure=self._failures.append)


@asynccontextmanager
async def in_memory(*names: str, settings: Settings | None = None) -> AsyncGenerator[Cluster, None]:
    """A fresh cluster that leaves nothing behind, with the controllers of these names."""
    store = await sqlite.open_memory()
    try:
        async with Cluster(store, names=names, settings=settings).running() as cluster:
            yield cluster
    finally:
        await store.close()
