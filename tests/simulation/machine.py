"""The machine that the server runs on: starts it, kills it at any time, and starts it again on what is left on the disk.

A process is a set of tasks that share a context. When it dies, it is first cut off from its store and its connections, and then its
tasks are cancelled: what they do while they end has no effect.
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
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store import retention
from probate.store.sqlite.database import Database
from probate.store.sqlite.store import SqliteStore, open_memory
from probate.store.watch_hub import WatchBuffer
from probate.tenants.ownership.ownership_store import OwnershipStore
from simulation.connection import Answer, Connection, Lost
from simulation.faults import FaultSchedule
from simulation.faulty_store import ACTOR, FaultyStore
from simulation.judge import Judge
from simulation.tenant_server import tenant_app
from simulation.tenants import ADMINISTRATOR_OF
from simulation.virtual_loop import LoopClock, VirtualLoop
from support import bootstrap


class Process:
    """One process of the server."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self.connections: dict[Connection, None] = {}
        self.requests: dict[asyncio.Task[Any], None] = {}
        self.app: App | None = None
        self.tenant_app: App | None = None  # for users of tenants
        self.is_open = True
        self.death = asyncio.Event()


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class Machine:
    """One machine. `log` is called with what happens to it."""

    def __init__(self, loop: VirtualLoop, seed: object, faults: FaultSchedule, *, judge: Judge, log: Callable[[str], None]) -> None:
        self.inner: SqliteStore | None = None
        self.lives = 0
        self._loop = loop
        self._clock = LoopClock(loop)
        self._faults = faults
        self._judge = judge
        self._log = log
        self._random = random.Random(f"server {seed}")  # noqa: S311
        self._left: Database | None = None
        self._process: Process | None = None
        self._store: FaultyStore | None = None
        self._outside = contextvars.copy_context()
        loop.on_task = _note_task

    async def run(self) -> None:
        """Keeps a server running. Never returns."""
        while True:
            process = await self._boot()
            await process.death.wait()
            await self._clean_up(process)
            await asyncio.sleep(self._faults.between(0.01, 2.0))

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.app is not None and self._process.is_open

    def set_clock(self, seconds: float) -> None:
        """Sets the wall clock while the server runs."""
        self._log(f"the clock is set by {seconds:+.0f} s")
        self._clock.wrong += seconds

    def crash(self) -> None:
        """Kills the process."""
        if self._process is None or self._store is None:
            return
        self._log("the server crashes")
        process, self._process = self._process, None
        self._store.cut_off()
        for connection in process.connections:
            connection.lose()
        process.death.set()

    async def stop(self) -> None:
        """Stops the process gracefully: it finishes its requests, and ends."""
        process = self._process
        if process is None or process.app is None or not process.is_open:
            return
        self._log("the server is stopped")
        process.is_open = False
        for app in (process.app, process.tenant_app):
            if app is not None:
                app.stop()
        if process.requests:
            await asyncio.wait(list(process.requests))
        if process is self._process:
            self._process = None
            process.death.set()

    def connect(
        self, who: str, method: str, path: str, *, query: str = "", body: Any = None, media: str = "", tenant: str = ""
    ) -> Connection:
        """Ask the server for something; as the administrator of a tenant, if one is given."""
        process = self._process
        if process is None or not self.is_up:
            raise Lost
        app = process.tenant_app if tenant else process.app
        if app is None:
            raise Lost
        is_direct = self._random.random() < 0.5
        connection = Connection(method, path, query, body=body, media=media or "application/json", is_direct=is_direct)
        context = self._context(process)
        connection.scope["tenant"] = tenant
        context.run(ACTOR.set, f"{ADMINISTRATOR_OF}{tenant}" if tenant else who)
        task = self._loop.create_task(app(connection.scope, connection.receive, connection.send), context=context)
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

    async def ask(self, who: str, method: str, path: str, **how: Any) -> Answer:
        """Returns the server's response. Raises `Lost` if there is none."""
        return await self.connect(who, method, path, **how).answer()

    async def _boot(self) -> Process:
        buffer = WatchBuffer(events=self._faults.rates.buffer)
        self.inner = await open_memory(self._left, buffer=buffer)
        self._left = self.inner.database
        self._judge.compare(self.inner)
        self.lives += 1
        self._log("the server starts")
        self._judge.clock_was_set = self._judge.clock_was_set or self._clock.wrong != 0.0
        process = self._process = Process()
        self._store = FaultyStore(self.inner, self._faults, self._outside, written=self._judge.written, die=self.crash)
        self._store.compacting = functools.partial(self._judge.compacting, keep=self._faults.rates.history)
        self._loop.create_task(self._main(process, self._store), context=self._context(process))
        return process

    async def _main(self, process: Process, store: FaultyStore) -> None:
        def new_uid() -> str:
            return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

        clock = self._clock
        api, *others = [
            ServerContext(
                owned, KindRegistry(owned, catalog.load()), clock, new_uid=new_uid, random=self._random, tenancy=owned.tenancy
            )
            for owned in (OwnershipStore(store) for _ in range(self._faults.rates.leaders))
        ]
        keep = self._faults.rates.history
        tasks.start_supervised(
            retention.compact_periodically(store, clock, keep_seconds=keep, interval_seconds=keep / 4),
            name="retention",
            on_failure=self._loop.fail,
        )
        try:
            await bootstrap.ensure_namespaces(api)
            await bootstrap.ensure_roles(api)
            async with AsyncExitStack() as stack:
                for one in (api, *others):  # each as if it were the only one that leads
                    await one.kinds.refresh(now=one.timestamp())
                    await stack.enter_async_context(manager.run_all(one, clock, self._faults.rates.controllers))
                if self._faults.rates.tenant_users:
                    process.tenant_app = await stack.enter_async_context(tenant_app(api))
                process.app = App(api)
                await process.death.wait()
        except errors.ApiError as error:
            self._log(f"the server cannot start: {error}")
            self.crash()
        except Exception as error:  # noqa: BLE001 a defect of the simulation: it would wait for a server for ever
            self._loop.fail(error)

    async def _clean_up(self, process: Process) -> None:
        """Cancels the tasks of a dead process, and closes its store."""
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
