"""VirtualTimeServer: an InProcessServer on a virtual clock, so that nothing sleeps and every run is repeatable.

`settle` runs until the collector has processed every change and both collector and controllers are idle. It advances the clock to
the times at which the collector wants to continue. Times that controllers wait for must be passed by the test, with `pass_time`.
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
from probate.controllers import manager, registry
from probate.controllers.manager import store_backend
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.gc.collector import Collector
from probate.settings import Settings
from probate.store.contract import Event, Revision, Store
from probate.store.sqlite import store as sqlite
from support import bootstrap
from support.faulty_transport import FaultyTransport
from support.in_process_server import InProcessServer

SETTLE_TIMEOUT_SECONDS = 30.0
MERGE_PATCH = "application/merge-patch+json"

_MAX_TIMER_STEPS = 2_000
"""Timers of the collector that one `settle` waits for. A collector that always sets new ones never settles."""


_MIN_CHECKS = 1_000
"""Checks for idleness before the timeout applies."""


class Unsettled(AssertionError):
    """The collector did not become idle."""


class VirtualTimeServer(InProcessServer):
    """One server, its collector, its controllers and its clock. `pause` is how long to wait for a store in another process."""

    clock: FakeClock

    def __init__(
        self, store: Store, *, pause: float = 0, names: Collection[str] = (), settings: Settings | None = None, **options: Any
    ) -> None:
        super().__init__(store, FakeClock(), **options)
        self.settings = settings or Settings()
        self._pause = pause
        self._names = names  # of the controllers to run
        self.server = manager.DEFAULT_SERVER
        self.line = FaultyTransport(self.api)  # between the controllers and the server
        self._following: list[asyncio.Task[None]] = []  # the RBAC watch, which runs once there are controllers
        self.events: list[Event] = []  # all changes; the test may clear the list
        self._newest = 0  # newest change
        self._recorded: Callable[[], int] = lambda: 0
        self._restarting = asyncio.Lock()
        self._failures: list[BaseException] = []

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[VirtualTimeServer, None]:
        """Runs collector and controllers."""
        before = self._newest = await self.store.revision()  # earlier revisions may have been compacted
        await bootstrap.ensure_namespaces(self.api)
        recording = self._start(self._record(before))
        self._collecting = self._start(self.collector.run())
        try:
            async with self.controlling():
                yield self
        finally:
            await tasks.stop(recording, self._collecting, *self._following)
        assert not self._failures
        assert not self.line.missing_grants, f"a controller's role does not grant what it did: {self.line.missing_grants}"

    @asynccontextmanager
    async def controlling(self) -> AsyncGenerator[None, None]:
        """Runs the controllers, if there are any."""
        if not self._names:
            yield
            return
        if not self._following:
            await bootstrap.ensure_roles(self.api)
            self._following.append(self._start(self.api.authorizer.cache.run(lambda: self.clock.sleep(1.0))))
            await self._until(self._is_authorizer_current, "the authorizer has not loaded the RBAC roles")
        client, metrics = Client(self.line.as_user(manager.MANAGER_USER)), self.api.metrics.registry
        own = {name: Client(self.line.as_user(registry.user_of(name))) for name in self._names}
        report = lambda _, error: self._failures.append(error)  # noqa: E731
        async with manager.run_api_controllers(
            client, self.clock, self._names, report=report, settings=self.settings, metrics=metrics, server=self.server, own=own
        ):
            yield

    async def restart_collector(self) -> None:
        """Stops the collector wherever it is and starts a new one."""
        async with self._restarting:
            await tasks.stop(self._collecting)
            self.collector = Collector(store_backend(self.api), self.clock)
            self._collecting = self._start(self.collector.run())

    @asynccontextmanager
    async def watching(self, path: str) -> AsyncGenerator[list[Any], None]:
        """Opens a watch from the current revision and yields the list of its events, which grows as they arrive."""
        events: list[Any] = []
        has_begun, is_left = asyncio.Event(), asyncio.Event()

        async def receive() -> dict[str, Any]:
            await is_left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            has_begun.set()
            events.extend(orjson.loads(line) for line in message.get("body", b"").splitlines())

        now = str(await self.store.revision())
        query_string = urlencode({"watch": "1", "resourceVersion": now}).encode()
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query_string, "headers": []}
        serving = asyncio.ensure_future(self.app(scope, receive, send))
        await has_begun.wait()
        try:
            yield events
        finally:
            is_left.set()
            await serving

    async def settle(self) -> None:
        """Runs until the collector has nothing left to do. Raises `Unsettled` if that never happens."""
        for _ in range(_MAX_TIMER_STEPS):
            await self._wait_until_idle()
            next_timer = self.collector.next_delayed_work
            if next_timer is None:
                return
            # A task that was about to sleep when the clock advanced wakes up a little later than intended.
            await self._wait(max(0.001, next_timer - self.clock.monotonic()))
        raise Unsettled(f"the collector still has {self.collector.queue_length} queued items after {_MAX_TIMER_STEPS} timers")

    async def pass_time(self, seconds: float) -> None:
        """Advances the clock while the collector works."""
        await self._wait_until_idle()
        await self._wait(seconds)
        await self._wait_until_idle()

    async def _wait(self, seconds: float) -> None:
        """Advances the clock. With controllers, everything that can happen at one time happens before the next timer fires."""
        until = self.clock.monotonic() + seconds
        while self._names and (next_timer := self.clock.next_wakeup) is not None and next_timer < until:
            await self.clock.advance(max(0.0, next_timer - self.clock.monotonic()))
            await self._wait_until_idle()
        await self.clock.advance(until - self.clock.monotonic())

    async def _wait_until_idle(self) -> None:
        """Runs until the collector has processed everything and waits for a change or a timer."""
        await self._until(self._is_idle, "the collector is still working")

    async def _until(self, condition: Callable[[], Awaitable[bool]], trouble: str) -> None:
        checks, end = itertools.count(), time.monotonic() + SETTLE_TIMEOUT_SECONDS
        while not await condition():
            if self._failures:
                raise self._failures[0]
            if next(checks) > _MIN_CHECKS and time.monotonic() > end:  # the count guards against a stalled machine
                raise Unsettled(
                    f"after {SETTLE_TIMEOUT_SECONDS} s {trouble}; the collector has {self.collector.queue_length} queued items"
                )
            await asyncio.sleep(self._pause)

    async def _is_authorizer_current(self) -> bool:
        return self.api.authorizer.cache.is_current()

    async def _is_idle(self) -> bool:
        if not self._seems_idle():  # reading the revision of a remote store is slow
            return False
        before = await self.store.revision()
        return self._recorded() >= before and self._seems_idle() and await self.store.revision() == before

    def _seems_idle(self) -> bool:
        can_tasks_run = self._names and asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        return self.collector.revision >= self._newest and self.collector.is_caught_up and not can_tasks_run

    async def _record(self, after: Revision) -> None:
        async with self.store.watch("objects/", after=after) as watch:
            self._recorded = lambda: watch.revision
            async for events in watch:
                self.events += events
                self._newest = events[-1].revision

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return tasks.start_supervised(work, name="cluster", on_failure=self._failures.append)


@asynccontextmanager
async def in_memory(*names: str, settings: Settings | None = None, **options: Any) -> AsyncGenerator[VirtualTimeServer, None]:
    """Runs a VirtualTimeServer on a new in-memory store, with these controllers. `options` are those of `ServerContext`."""
    store = await sqlite.open_memory()
    try:
        async with VirtualTimeServer(store, names=names, settings=settings, **options).running() as server:
            yield server
    finally:
        await store.close()
