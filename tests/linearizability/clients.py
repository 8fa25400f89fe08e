"""Clients that read, write and compare-and-swap the same few objects, and write down what they did and were told.

Each draws from dice of its own, so that a seed gives each client the same choices in every run. (What comes of them depends on
the moment: processes are real here.)
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

from linearizability.door import Answer, Door, seen
from linearizability.history import Kind, Operation, Seen

LONGEST_PAUSE = 0.05
KEY = "key-"
"""Names of objects that belong to a history begin so: what controllers make besides is not looked at."""


class Client:
    """One client of one server after the other, on the ConfigMaps of one namespace."""

    def __init__(self, name: str, doors: list[Door], *, namespace: str, keys: int, dice: random.Random) -> None:
        self._name = name
        self._doors = doors
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._keys = [f"{KEY}{number}" for number in range(keys)]
        self._dice = dice
        self._numbers = itertools.count(1)
        self._known: dict[str, Seen] = {}  # what it saw last: what it compares with
        self.done: list[Operation] = []

    async def run(self, is_over: asyncio.Event) -> None:
        """Do one thing after the other until the history is over."""
        actions: dict[Callable[[str], Awaitable[None]], int] = {
            self.get: 26,
            self.create: 16,
            self.update: 26,
            self.put: 10,
            self.delete: 6,
            self.delete_unchanged: 6,
            self.list: 7,
            self.stale_get: 3,
        }
        while not is_over.is_set():
            action = self._dice.choices(list(actions), list(actions.values()))[0]
            await action(self._dice.choice(self._keys))
            await asyncio.sleep(self._dice.uniform(0, LONGEST_PAUSE))

    async def get(self, key: str) -> None:
        await self._read("get", key)

    async def stale_get(self, key: str) -> None:
        await self._read("stale-get", key, params={"resourceVersion": "0"})

    async def list(self, _key: str = "") -> None:
        door = self._door()
        answer = await door.ask("GET", self._path)
        if answer.outcome == "ok":
            items = {one["metadata"]["name"]: seen(one) for one in answer.body["items"]}
            items = {name: one for name, one in items.items() if name.startswith(KEY)}
            version = int(answer.body["metadata"]["resourceVersion"])
            self._note(door, answer, "list", "", items=items, version=version)

    async def create(self, key: str) -> None:
        value = self._value()
        await self._write("create", key, "POST", self._path, self._object(key, value), value=value)

    async def update(self, key: str) -> None:
        """Compare and swap, with what it saw last; it looks first if it saw nothing yet."""
        if key not in self._known:
            await self.get(key)
        if expected := self._known.get(key):
            value = self._value()
            body = self._object(key, value, resourceVersion=str(expected.version))
            await self._write("update", key, "PUT", f"{self._path}/{key}", body, value=value, expected=expected)

    async def put(self, key: str) -> None:
        value = self._value()
        await self._write("put", key, "PUT", f"{self._path}/{key}", self._object(key, value), value=value)

    async def delete(self, key: str) -> None:
        await self._write("delete", key, "DELETE", f"{self._path}/{key}", None)

    async def delete_unchanged(self, key: str) -> None:
        if expected := self._known.get(key):
            body = {"preconditions": {"resourceVersion": str(expected.version)}}
            await self._write("delete", key, "DELETE", f"{self._path}/{key}", body, expected=expected)

    async def _read(self, kind: Kind, key: str, **more: Any) -> None:
        door = self._door()
        answer = await door.ask("GET", f"{self._path}/{key}", **more)
        if answer.outcome == "ok":
            found = self._known[key] = seen(answer.body)
            self._note(door, answer, kind, key, found=found.value, version=found.version)
        elif answer.outcome == "absent":
            self._known.pop(key, None)
            self._note(door, answer, kind, key, outcome="ok")

    async def _write(self, kind: Kind, key: str, method: str, path: str, body: Any, **more: Any) -> None:
        door = self._door()
        answer = await door.ask(method, path, body)
        if answer.outcome == "ok" and kind != "delete":
            now = seen(answer.body)
            assert now.value == more["value"], answer
            self._known[key], more["version"] = now, now.version
        if answer.outcome == "conflict" and "expected" not in more:  # it gave up: others were faster each time
            more["outcome"] = "failed"
        self._note(door, answer, kind, key, **more)

    def _note(self, door: Door, answer: Answer, kind: Kind, key: str, **more: Any) -> None:
        given = {"outcome": answer.outcome, **more}
        end = None if given["outcome"] == "unknown" else answer.end
        self.done.append(Operation(client=self._name, server=door.number, kind=kind, key=key, start=answer.start, end=end, **given))

    def _door(self) -> Door:
        return self._dice.choice(self._doors)

    def _value(self) -> str:
        return f"{self._name}.{next(self._numbers)}"

    @staticmethod
    def _object(name: str, value: str, **metadata: str) -> dict[str, Any]:
        return {"metadata": {"name": name, **metadata}, "data": {"value": value}}
