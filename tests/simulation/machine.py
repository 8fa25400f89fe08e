"""The machine that the server runs on: starts it, kills it at any moment, and starts it again on what it left on the disk.

A process is a set of tasks that share a context. When it dies, it is cut off from its store and its connections first, and only
then are its tasks cancelled: whatever they still do on their way out, nobody sees it.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import random
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from contextvars import Context, ContextVar
from typing import Any

from probate.controllers import manager
from probate.core import errors
from probate.core.aio import tasks
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.bootstrap import namespaces, rbac_roles
from probate.server.context import Api
from probate.server.kind_registry import Kinds
from probate.store import retention
from probate.store.hub import Buffer
from probate.store.sqlite.database import Database
from probate.store.sqlite.store import SqliteStore, open_memory
from simulation.connection import Answer, Connection, Lost
from simulation.court import Court
from simulation.loop import LoopClock, VirtualLoop
from simulation.store import ACTOR, RoughStore
from simulation.weather import Weather


class Process:
    """One life of the server."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self.connections: dict[Connection, None] = {}
        self.requests: dict[asyncio.Task[Any], None] = {}
        self.app: App | None = None
        self.is_open = True
        self.death = asyncio.Event()


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class Machine:
    """One machine. `tell` learns what happens to it."""

    def __init__(self, loop: VirtualLoop, seed: object, weather: Weather, court: Court, tell: Callable[[str], None]) -> None:
        self.inner: SqliteStore | None = None
        self.lives = 0
        self._loop = loop
        self._clock = LoopClock(loop)
        self._weather = weather
        self._court = court
        self._tell = tell
        self._random = random.Random(f"server {seed}")  # noqa: S311
        self._left: Database | None = None
        self._process: Process | None = None
        self._store: RoughStore | None = None
        self._outside = contextvars.copy_context()
        loop.on_task = _note_task

    async def run(self) -> None:
        """Keep a server running. Never returns."""
        while True:
            process = await self._boot()
            await process.death.wait()
            await self._bury(process)
            await asyncio.sleep(self._weather.between(0.01, 2.0))

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.app is not None and self._process.is_open

    def set_clock(self, seconds: float) -> None:
        """Somebody sets the wall clock while the server runs."""
        self._tell(f"the clock is set by {seconds:+.0f} s")
        self._clock.wrong += seconds

    def crash(self) -> None:
        """The process dies now."""
        if self._process is None or self._store is None:
            return
        self._tell("the server crashes")
        process, self._process = self._process, None
        self._store.cut_off()
        for connection in process.connections:
            connection.lose()
        process.death.set()

    async def stop(self) -> None:
        """The process is asked to end: it answers what it was asked, and goes."""
        process = self._process
        if process is None or process.app is None or not process.is_open:
            return
        self._tell("the server is stopped")
        process.is_open = False
        process.app.stop()
        if process.requests:
            await asyncio.wait(list(process.requests))
        if process is self._process:
            self._process = None
            process.death.set()

    def connect(self, who: str, method: str, path: str, *, query: str = "", body: Any = None, media: str = "") -> Connection:
        """Ask the server for something."""
        process = self._process
        if process is None or process.app is None or not self.is_up:
            raise Lost
        is_direct = self._random.random() < 0.5
        connection = Connection(method, path, query, body, media or "application/json", is_direct=is_direct)
        context = self._context(process)
        context.run(ACTOR.set, who)
        task = self._loop.create_task(process.app(connection.scope, connection.receive, connection.send), context=context)
        connection.task = task
        process.connections[connection] = None
        process.requests[task] = None

        def ended(task: asyncio.Task[Any]) -> None:
            process.connections.pop(connection, None)
            process.requests.pop(task, None)
            connection.leave()
            if not task.cancelled() and (error := task.exception()) is not None:
                self._loop.fail(error)

        task.add_done_callback(ended)
        return connection

    async def ask(self, who: str, method: str, path: str, *, query: str = "", body: Any = None, media: str = "") -> Answer:
        """The server's answer. `Lost` if there is none."""
        return await self.connect(who, method, path, query=query, body=body, media=media).whole()

    async def _boot(self) -> Process:
        buffer = Buffer(events=self._weather.climate.buffer)
        self.inner = await open_memory(self._left, buffer=buffer)
        self._left = self.inner.database
        self._court.compare(self.inner)
        self.lives += 1
        self._tell("the server starts")
        self._court.clock_was_set = self._court.clock_was_set or self._clock.wrong != 0.0
        process = self._process = Process()
        self._store = RoughStore(self.inner, self._weather, self._outside, self._court.written, self.crash)
        self._store.compacting = functools.partial(self._court.compacting, keep=self._weather.climate.history)
        self._loop.create_task(self._main(process, self._store), context=self._context(process))
        return process

    async def _main(self, process: Process, store: RoughStore) -> None:
        def new_uid() -> str:
            return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

        clock = self._clock
        api, *others = [
            Api(store, Kinds(store, catalog.load()), clock, new_uid=new_uid, random=self._random)
            for _ in range(self._weather.climate.leaders)
        ]
        keep = self._weather.climate.history
        tasks.guard(
            retention.keep_history(store, clock, keep=keep, interval=keep / 4), name="retention", on_failure=self._loop.fail
        )
        try:
            await namespaces.ensure_namespaces(api)
            await rbac_roles.ensure_roles(api)
            async with AsyncExitStack() as stack:
                for one in (api, *others):  # each as if it were the only one that leads
                    await one.kinds.refresh(now=one.now())
                    await stack.enter_async_context(manager.at_work(one, clock, self._weather.climate.crew))
                process.app = App(api)
                await process.death.wait()
        except errors.ApiError as error:
            self._tell(f"the server cannot start: {error}")
            self.crash()

    async def _bury(self, process: Process) -> None:
        """End all that is left of the process, and close its store."""
        while process.tasks:
            left, process.tasks = process.tasks, []
            await tasks.stop(*(task for task in left if not task.done()))
        if self.inner is not None:
            await self.inner.close()

    def _context(self, process: Process) -> Context:
        context = self._outside.copy()
        context.run(PROCESS.set, process)
        return context


def _note_task(task: asyncio.Task[Any], name: str | None, context: Context) -> None:
    process = context.get(PROCESS)
    if process is None:
        return
    if len(process.tasks) > 100:
        process.tasks = [one for one in process.tasks if not one.done()]
    process.tasks.append(task)
    if name:
        context.run(ACTOR.set, name)
