"""Clients that read, write and compare-and-swap the same few objects, and record their requests and the answers.

Each has its own random generator, so a seed gives each client the same choices in every run. (The results depend on timing, because
the processes are real.)
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

from linearizability.api_client import Answer, ApiClient, object_version
from linearizability.history import Kind, ObjectVersion, Operation

MAX_PAUSE_SECONDS = 0.05
KEY = "key-"
"""The prefix of the names of a history's objects: objects that controllers create are ignored."""


class Client:
    """A client that sends each request to a random server, on the ConfigMaps of one namespace."""

    def __init__(self, name: str, apis: list[ApiClient], *, namespace: str, keys: int, rng: random.Random) -> None:
        self._name = name
        self._apis = apis
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._keys = [f"{KEY}{number}" for number in range(keys)]
        self._rng = rng
        self._numbers = itertools.count(1)
        self._known: dict[str, ObjectVersion] = {}  # the last version read of each object, for compare-and-swap
        self.done: list[Operation] = []

    async def run(self, is_over: asyncio.Event) -> None:
        """Sends one request after the other until the history is over."""
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
            action = self._rng.choices(list(actions), list(actions.values()))[0]
            await action(self._rng.choice(self._keys))
            await asyncio.sleep(self._rng.uniform(0, MAX_PAUSE_SECONDS))

    async def get(self, key: str) -> None:
        await self._read("get", key)

    async def stale_get(self, key: str) -> None:
        await self._read("stale-get", key, params={"resourceVersion": "0"})

    async def list(self, _key: str = "") -> None:
        api = self._api()
        answer = await api.request("GET", self._path)
        if answer.outcome == "ok":
            items = {one["metadata"]["name"]: object_version(one) for one in answer.body["items"]}
            items = {name: one for name, one in items.items() if name.startswith(KEY)}
            version = int(answer.body["metadata"]["resourceVersion"])
            self._record(api, answer, "list", key="", items=items, version=version)

    async def create(self, key: str) -> None:
        value = self._value()
        await self._write("create", key, method="POST", path=self._path, body=self._object(key, value), value=value)

    async def update(self, key: str) -> None:
        """Compares and swaps with the last version read; reads the object first if there is none."""
        if key not in self._known:
            await self.get(key)
        if expected := self._known.get(key):
            value = self._value()
            body = self._object(key, value, resourceVersion=str(expected.version))
            await self._write("update", key, method="PUT", path=f"{self._path}/{key}", body=body, value=value, expected=expected)

    async def put(self, key: str) -> None:
        value = self._value()
        await self._write("put", key, method="PUT", path=f"{self._path}/{key}", body=self._object(key, value), value=value)

    async def delete(self, key: str) -> None:
        await self._write("delete", key, method="DELETE", path=f"{self._path}/{key}", body=None)

    async def delete_unchanged(self, key: str) -> None:
        if expected := self._known.get(key):
            body = {"preconditions": {"resourceVersion": str(expected.version)}}
            await self._write("delete", key, method="DELETE", path=f"{self._path}/{key}", body=body, expected=expected)

    async def _read(self, kind: Kind, key: str, **fields: Any) -> None:
        api = self._api()
        answer = await api.request("GET", f"{self._path}/{key}", **fields)
        if answer.outcome == "ok":
            current = self._known[key] = object_version(answer.body)
            self._record(api, answer, kind, key=key, found=current.value, version=current.version)
        elif answer.outcome == "absent":
            self._known.pop(key, None)
            self._record(api, answer, kind, key=key, outcome="ok")

    async def _write(self, kind: Kind, key: str, *, method: str, path: str, body: Any, **fields: Any) -> None:
        api = self._api()
        answer = await api.request(method, path, body)
        if answer.outcome == "ok" and kind != "delete":
            now = object_version(answer.body)
            assert now.value == fields["value"], answer
            self._known[key], fields["version"] = now, now.version
        if answer.outcome == "conflict" and "expected" not in fields:  # the server gave up: other writers were faster each time
            fields["outcome"] = "failed"
        self._record(api, answer, kind, key=key, **fields)

    def _record(self, api: ApiClient, answer: Answer, kind: Kind, *, key: str, **fields: Any) -> None:
        complete = {"outcome": answer.outcome, **fields}
        end = None if complete["outcome"] == "unknown" else answer.end
        self.done.append(
            Operation(client=self._name, server=api.number, kind=kind, key=key, start=answer.start, end=end, **complete)
        )

    def _api(self) -> ApiClient:
        return self._rng.choice(self._apis)

    def _value(self) -> str:
        return f"{self._name}.{next(self._numbers)}"

    @staticmethod
    def _object(name: str, value: str, **metadata: str) -> dict[str, Any]:
        return {"metadata": {"name": name, **metadata}, "data": {"value": value}}
