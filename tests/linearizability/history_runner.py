"""Creates one history: runs clients, watchers and faults concurrently, then recovers the target and reads everything once more."""

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

from linearizability import fault_plans, faults, history_checks
from linearizability.api_client import RECOVERY_SECONDS
from linearizability.clients import Client
from linearizability.history import History, Plan
from linearizability.rights import Rights
from linearizability.targets import Target
from linearizability.watchers import Watcher

T = TypeVar("T")
WATCH_BOUND = 7.0
"""Seconds by which an event may be late while its server runs and reaches a member: 5, plus a margin for a busy machine."""
SECONDS_AFTER_FAULTS = 0.4
"""Seconds for which clients go on after the last fault."""
REVOKE_AT = 0.8
"""Seconds after which a long history revokes the permission: its fault has begun by then."""
_numbers = itertools.count(1)


class LoopThread:
    """An event loop on its own thread, so that proxies go on while a history is checked."""

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
def running(target: Target) -> Iterator[LoopThread]:
    """Yields the loop on which a target runs."""
    loop = LoopThread()
    try:
        loop.run(target.__aenter__())
        try:
            yield loop
        finally:
            loop.run(target.__aexit__(None, None, None))
    finally:
        loop.close()


class HistoryRun:
    """The creation of one history, in its own namespace, so that unfinished requests of an earlier history cannot affect it."""

    def __init__(self, target: Target, plan: Plan) -> None:
        self._target = target
        self._plan = plan
        self._namespace = f"history-{plan.seed}-{next(_numbers)}"
        self._clients = [self._client(f"c{number}") for number in range(plan.clients)]
        self._marker = self._client("marker")
        self._rights = Rights(target.apis, namespace=self._namespace, rng=self._rng("rights"))
        self._watchers: list[Watcher] = []

    async def history(self) -> History:
        await self._target.recover()
        if self._plan.is_long:
            await self._target.restart_servers()
        self._watchers = await self._prepare()
        if self._plan.is_long:
            async with asyncio.timeout(RECOVERY_SECONDS):
                await self._rights.grant_everywhere()
        watching = [asyncio.create_task(watcher.run()) for watcher in self._watchers]
        try:
            await self._run_clients()
            await self._target.recover()
            await self._read_final_state()
        finally:
            for task in watching:
                task.cancel()
            ends = await asyncio.gather(*watching, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):  # the watcher itself failed
                raise end
        return self._collect()

    async def _prepare(self) -> list[Watcher]:
        api = self._target.apis[0]
        await api.request_until_done("POST", "/api/v1/namespaces", {"metadata": {"name": self._namespace}})
        listed = await api.request_until_done("GET", f"/api/v1/namespaces/{self._namespace}/configmaps")
        after = int(listed.body["metadata"]["resourceVersion"])
        apis = self._target.apis
        steady = [Watcher(f"steady-{api.number}", [api], namespace=self._namespace, after=after) for api in apis]
        restless = Watcher("restless", apis, namespace=self._namespace, after=after, connection_events=5)
        return [*steady, restless]

    async def _run_clients(self) -> None:
        is_over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for client in self._clients:
                group.create_task(client.run(is_over))
            group.create_task(self._change_rights(is_over))
            for api in self._target.apis:
                group.create_task(self._rights.poll(api, is_over))
            await self._inject_faults()
            is_over.set()

    async def _change_rights(self, is_over: asyncio.Event) -> None:
        if not self._plan.is_long:
            await self._rights.change(is_over)
            return
        faulty = self._plan.faults[0].target if self._plan.faults else 0
        healthy = self._target.apis[faulty - 1]
        await self._rights.revoke_for_long(healthy, is_over, at=REVOKE_AT)

    async def _inject_faults(self) -> None:
        """Injects the faults. Returns when the planned time is over and all faults have been repaired for a while."""
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(self._plan.seconds - SECONDS_AFTER_FAULTS))
            for fault in self._plan.faults:
                group.create_task(faults.inject(self._target, fault))
        await asyncio.sleep(SECONDS_AFTER_FAULTS)

    async def _read_final_state(self) -> None:
        """Reads every key once more through every server, and waits until every watcher has received the last write."""
        for number, api in enumerate(self._target.apis):
            last = self._client(f"last-{number}", only=number)
            for key in range(self._plan.keys):
                await last.get(f"key-{key}")
            await last.list()
            await self._rights.poll_once(api)
            self._clients.append(last)
        deadline = time.monotonic() + RECOVERY_SECONDS
        while not (reached := [one.version for one in self._marker.done if one.outcome == "ok"]):
            assert time.monotonic() < deadline, "writes do not succeed any more"
            await self._marker.create(f"key-marker-{len(self._marker.done)}")
        await asyncio.gather(*(watcher.wait_until_reached(reached[-1], RECOVERY_SECONDS) for watcher in self._watchers))

    def _collect(self) -> History:
        done = [*self._clients, self._marker]
        return History(
            target=self._target.name,
            plan=self._plan,
            rights_bound=self._target.rights_bound,
            watch_bound=WATCH_BOUND if fault_plans.keeps_servers_connected(self._plan) else None,
            operations=[*(one for client in done for one in client.done), *self._rights.done],
            watches=[watcher.seen for watcher in self._watchers],
        )

    def _client(self, name: str, *, only: int | None = None) -> Client:
        apis = self._target.apis if only is None else [self._target.apis[only]]
        return Client(name, apis, namespace=self._namespace, keys=self._plan.keys, rng=self._rng(name))

    def _rng(self, name: str) -> random.Random:
        return random.Random(f"{self._plan.seed} {name}")  # noqa: S311


async def create_history(target: Target, plan: Plan) -> History:
    return await HistoryRun(target, plan).history()


def check_plan(loop: LoopThread, target: Target, plan: Plan, *, folder: Path) -> History:
    """Creates the history of a plan and checks it. If there are problems, saves the history and fails the test."""
    history = loop.run(create_history(target, plan))
    if found := history_checks.problems(history):
        saved = history.save(folder / f"{history.target}-{plan.seed}.json")
        message = f"{history_checks.report(history, found)}\nto check it again: PYTHONPATH=tests python -m linearizability {saved}"
        raise AssertionError(message)
    return history
