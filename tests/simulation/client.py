"""One client's requests, whose responses are checked against the history."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from simulation.connection import Answer
from simulation.judge import Judge
from simulation.kinds import Kind
from simulation.known_objects import KnownObject, KnownObjects
from simulation.machine import Machine

MERGE = "application/merge-patch+json"


class Client:
    """Sends one client's requests. Objects that it creates become known to all clients."""

    def __init__(
        self, name: str, machine: Machine, judge: Judge, *, memory: KnownObjects, rng: random.Random, log: Callable[[str], None]
    ) -> None:
        self._name = name
        self._machine = machine
        self._memory = memory
        self._rng = rng
        self._log = log
        self.judge = judge

    async def ask(self, method: str, path: str, *, body: Any = None, **how: Any) -> Answer:
        """Returns the response. After `Lost` or `TimeoutError` the outcome is unknown."""
        connection = self._machine.connect(self._name, method, path, body=body, **how)
        self._log(f"{self._name}: {method} {path} {body if method == 'DELETE' else ''}")
        if self._rng.random() > 0.01:
            return await connection.answer()
        async with asyncio.timeout(self._rng.expovariate(100)):
            return await connection.answer()

    async def write(self, method: str, target: KnownObject, **how: Any) -> Answer:
        """Changes or deletes an object."""
        answer = await self.ask(method, target.path, **how)
        self.judge.acknowledged(answer, target.kind, target.namespace)
        return answer

    async def add(self, kind: Kind, namespace: str, body: dict[str, Any]) -> tuple[int, KnownObject | None]:
        """Creates an object. Returns the status code, and the object if it was created."""
        answer = await self.ask("POST", kind.path(namespace), body=body)
        self.judge.acknowledged(answer, kind, namespace)
        if answer.code != 201:
            return answer.code, None
        made = answer.body["metadata"]
        known = KnownObject(kind, namespace, made["name"], made["uid"])
        self._memory.add(known)
        return answer.code, known
