"""Clients that watch: each must see every change of its range once and in order, however often its watch is cut."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import orjson

from simulation.connection import Lost
from simulation.history import Change
from simulation.judge import Judge, Violation
from simulation.kinds import Kind
from simulation.machine import Machine


class Watcher:
    """Lists once, then watches and resumes forever."""

    def __init__(
        self, name: str, machine: Machine, judge: Judge, *, kind: Kind, namespace: str, patience: float, seed: object
    ) -> None:
        self.name = name
        self._machine = machine
        self._judge = judge
        self._kind = kind
        self._namespace = namespace
        self._patience = patience
        self._rng = random.Random(f"{name} {seed}")  # noqa: S311
        self._position: int | None = None  # the revision up to which everything was seen
        self.is_calm = False
        self.seen = 0

    async def run(self) -> None:
        while True:
            try:
                if self._position is None:
                    await self._list()
                else:
                    await self._watch(self._position)
            except Lost:
                pass
            await asyncio.sleep(self._rng.expovariate(1 / self._patience))

    async def _list(self) -> None:
        since = self._judge.history.revision
        answer = await self._machine.ask(self.name, "GET", self._path)
        self._judge.listed(answer, self._kind, self._namespace, since=since)
        if answer.code == 200:
            self._position = int(answer.body["metadata"]["resourceVersion"])

    @property
    def _path(self) -> str:
        return self._kind.path(self._namespace)

    async def _watch(self, position: int) -> None:
        seconds = 600 if self.is_calm else self._rng.randint(1, 60)
        query = f"watch=1&resourceVersion={position}&allowWatchBookmarks=true&timeoutSeconds={seconds}"
        connection = self._machine.connect(self.name, "GET", self._path, query=query)
        try:
            if await connection.begin() != 200:
                return
            while lines := await connection.lines():
                for line in lines:
                    if not self._take(orjson.loads(line)):
                        return
                if not self.is_calm and self._rng.random() < 0.02:
                    return
        finally:
            connection.leave()

    def _take(self, event: dict[str, Any]) -> bool:
        """Checks an event. Returns whether more can follow."""
        if event["type"] == "ERROR":
            if event["object"]["code"] == 410:
                self._position = None
            return False
        meta = event["object"]["metadata"]
        revision = int(meta["resourceVersion"])
        expected = self.missing()
        if event["type"] == "BOOKMARK":
            if expected is not None and expected.revision <= revision:
                raise Violation(f"{self} was told that it had seen all up to {revision}, but not {expected}")
        elif expected is None or (event["type"], revision, meta["uid"]) != (_type(expected), expected.revision, _uid(expected)):
            got = f"{event['type']} of {meta.get('namespace', '')}/{meta['name']} ({meta['uid']}) at {revision}"
            raise Violation(f"{self}, which had seen all up to {self._position}, saw {got}, but what comes next is {expected}")
        self._position = revision
        self.seen += 1
        return True

    def missing(self) -> Change | None:
        """Returns the next change that it has not seen."""
        after = 0 if self._position is None else self._position
        return next(self._judge.history.within(self._kind.resource, self._namespace, after=after), None)

    def can_watch(self) -> bool:
        """Whether its kind is served."""
        return not self._kind.definition or self._kind.definition in self._judge.world.objects

    def __str__(self) -> str:
        return f"{self.name} of {self._kind.resource} in {self._namespace or 'all namespaces'}"


def _type(change: Change) -> str:
    if change.after is None:
        return "DELETED"
    return "ADDED" if change.before is None else "MODIFIED"


def _uid(change: Change) -> str:
    found = change.after or change.before
    return "" if found is None else found.metadata.uid
