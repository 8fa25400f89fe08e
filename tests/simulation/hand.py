"""How one client asks the server: what it is told is held against what has happened."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from simulation.connection import Answer
from simulation.court import Court
from simulation.kinds import Kind
from simulation.machine import Machine
from simulation.memory import Known, Memory

MERGE = "application/merge-patch+json"


class Hand:
    """One client's way to the server. What it makes, everybody remembers."""

    def __init__(
        self, name: str, machine: Machine, court: Court, memory: Memory, dice: random.Random, tell: Callable[[str], None]
    ) -> None:
        self._name = name
        self._machine = machine
        self._memory = memory
        self._dice = dice
        self._tell = tell
        self.court = court

    async def ask(self, method: str, path: str, *, query: str = "", body: Any = None, media: str = "") -> Answer:
        """The answer. `Lost` or `TimeoutError`, and nobody knows what became of the request."""
        connection = self._machine.connect(self._name, method, path, query=query, body=body, media=media)
        self._tell(f"{self._name}: {method} {path} {body if method == 'DELETE' else ''}")
        if self._dice.random() > 0.01:
            return await connection.whole()
        async with asyncio.timeout(self._dice.expovariate(100)):
            return await connection.whole()

    async def write(self, method: str, target: Known, **how: Any) -> Answer:
        """Change or delete an object."""
        answer = await self.ask(method, target.path, **how)
        self.court.acknowledged(answer, target.kind, target.namespace)
        return answer

    async def add(self, kind: Kind, namespace: str, body: dict[str, Any]) -> tuple[int, Known | None]:
        """Make an object. The code of the answer, and the object if it was made."""
        answer = await self.ask("POST", kind.path(namespace), body=body)
        self.court.acknowledged(answer, kind, namespace)
        if answer.code != 201:
            return answer.code, None
        made = answer.body["metadata"]
        known = Known(kind, namespace, made["name"], made["uid"])
        self._memory.add(known)
        return answer.code, known
