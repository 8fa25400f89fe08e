"""Makes one history: clients, watchers and faults at once, then everything is made whole and looked at for the last time."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from linearizability import faults, plans, verdict
from linearizability.clients import Client
from linearizability.door import PATIENCE
from linearizability.history import History, Plan
from linearizability.rights import Rights
from linearizability.targets import Target
from linearizability.watchers import Watcher

T = TypeVar("T")
WATCH_BOUND = 7.0
"""Seconds by which an event may be late while its server runs and reaches a member: 5, and some for a busy machine."""
AFTERWARDS = 0.4
"""Seconds in which clients go on after the last fault."""
REVOKED_AT = 0.8
"""Seconds after which a long history revokes the right: its fault has begun by then."""
_numbers = itertools.count(1)


class Loop:
    """An event loop in a thread of its own: proxies go on while a history is checked."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def running(target: Target) -> Iterator[Loop]:
    """The loop in which a target runs."""
    loop = Loop()
    try:
        loop.run(target.__aenter__())
        try:
            yield loop
        finally:
            loop.run(target.__aexit__(None, None, None))
    finally:
        loop.close()


class Run:
    """One history in a namespace of its own: what an earlier one left under way cannot disturb it."""

    def __init__(self, target: Target, plan: Plan) -> None:
        self._target = target
        self._plan = plan
        self._namespace = f"history-{plan.seed}-{next(_numbers)}"
        self._clients = [self._client(f"c{number}") for number in range(plan.clients)]
        self._marker = self._client("marker")
        self._rights = Rights(target.doors, namespace=self._namespace, dice=self._dice("rights"))
        self._watchers: list[Watcher] = []

    async def history(self) -> History:
        await self._target.make_whole()
        if self._plan.is_long:
            await self._target.restart_servers()
        self._watchers = await self._begin()
        if self._plan.is_long:
            async with asyncio.timeout(PATIENCE):
                await self._rights.grant_everywhere()
        watching = [asyncio.create_task(watcher.run()) for watcher in self._watchers]
        try:
            await self._go()
            await self._target.make_whole()
            await self._end()
        finally:
            for task in watching:
                task.cancel()
            ends = await asyncio.gather(*watching, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):  # a watcher failed by itself
                raise end
        return self._written()

    async def _begin(self) -> list[Watcher]:
        door = self._target.doors[0]
        await door.insist("POST", "/api/v1/namespaces", {"metadata": {"name": self._namespace}})
        listed = await door.insist("GET", f"/api/v1/namespaces/{self._namespace}/configmaps")
        after = int(listed.body["metadata"]["resourceVersion"])
        doors = self._target.doors
        steady = [Watcher(f"steady-{door.number}", [door], namespace=self._namespace, after=after) for door in doors]
        restless = Watcher("restless", doors, namespace=self._namespace, after=after, connection_events=5)
        return [*steady, restless]

    async def _go(self) -> None:
        is_over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for client in self._clients:
                group.create_task(client.run(is_over))
            group.create_task(self._change_rights(is_over))
            for door in self._target.doors:
                group.create_task(self._rights.ask(door, is_over))
            await self._break_things()
            is_over.set()

    async def _change_rights(self, is_over: asyncio.Event) -> None:
        if not self._plan.is_long:
            await self._rights.change(is_over)
            return
        harmed = self._plan.faults[0].target if self._plan.faults else 0
        unharmed = self._target.doors[harmed - 1]
        await self._rights.revoke_for_long(unharmed, is_over, at=REVOKED_AT)

    async def _break_things(self) -> None:
        """Comes back when the history has lasted as planned, and everything has been mended for a while."""
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(self._plan.seconds - AFTERWARDS))
            for fault in self._plan.faults:
                group.create_task(faults.carry_out(self._target, fault))
        await asyncio.sleep(AFTERWARDS)

    async def _end(self) -> None:
        """Every key is read once more through every server, and every watcher has to come to the last write."""
        for number, door in enumerate(self._target.doors):
            last = self._client(f"last-{number}", only=number)
            for key in range(self._plan.keys):
                await last.get(f"key-{key}")
            await last.list()
            await self._rights.ask_once(door)
            self._clients.append(last)
        deadline = time.monotonic() + PATIENCE
        while not (reached := [one.version for one in self._marker.done if one.outcome == "ok"]):
            assert time.monotonic() < deadline, "nothing can be written any more"
            await self._marker.create(f"key-marker-{len(self._marker.done)}")
        await asyncio.gather(*(watcher.until_reached(reached[-1], PATIENCE) for watcher in self._watchers))

    def _written(self) -> History:
        done = [*self._clients, self._marker]
        return History(
            target=self._target.name,
            plan=self._plan,
            rights_bound=self._target.rights_bound,
            watch_bound=WATCH_BOUND if plans.has_a_way(self._plan) else None,
            operations=[*(one for client in done for one in client.done), *self._rights.done],
            watches=[watcher.seen for watcher in self._watchers],
        )

    def _client(self, name: str, *, only: int | None = None) -> Client:
        doors = self._target.doors if only is None else [self._target.doors[only]]
        return Client(name, doors, namespace=self._namespace, keys=self._plan.keys, dice=self._dice(name))

    def _dice(self, name: str) -> random.Random:
        return random.Random(f"{self._plan.seed} {name}")  # noqa: S311


async def play(target: Target, plan: Plan) -> History:
    return await Run(target, plan).history()


def must_hold(loop: Loop, target: Target, plan: Plan, folder: Path) -> History:
    """Make the history of a plan. If anything is wrong with it, it is saved to be looked at, and the test fails."""
    history = loop.run(play(target, plan))
    if found := verdict.problems(history):
        saved = history.save(folder / f"{history.target}-{plan.seed}.json")
        told = f"{verdict.report(history, found)}\nto check it again: PYTHONPATH=tests python -m linearizability {saved}"
        raise AssertionError(told)
    return history
