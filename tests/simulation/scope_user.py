"""Client actions on scopes: creates and deletes namespaces and CRDs, also forcibly while they have content."""

from __future__ import annotations

import random

from simulation import kinds
from simulation.client import MERGE, Client
from simulation.kinds import Kind

NAMESPACES = ("a", "b", "c")


class ScopeUser:
    """The scope actions of one client."""

    def __init__(self, client: Client, rng: random.Random) -> None:
        self._client = client
        self._rng = rng

    async def restore(self, kind: Kind, namespace: str) -> None:
        """Creates the scope of objects of this kind."""
        await (self.define() if kind.definition else self.make_namespace(namespace))

    async def make_namespace(self, name: str = "") -> None:
        await self._client.add(kinds.NAMESPACE, "", {"metadata": {"name": name or self._rng.choice(NAMESPACES)}})

    async def close(self, kind: Kind, namespace: str) -> None:
        """Deletes the scope of objects of this kind."""
        await (self.undefine(kind) if kind.definition else self.close_namespace(namespace))

    async def close_namespace(self, name: str = "") -> None:
        path = kinds.NAMESPACE.path(name=name or self._rng.choice(NAMESPACES))
        self._client.judge.acknowledged(await self._client.ask("DELETE", path), kinds.NAMESPACE, "")

    async def define(self) -> None:
        body = kinds.definition(self._rng.choice(kinds.CUSTOM))
        answer = await self._client.ask("POST", kinds.DEFINITION.path(), body=body)
        self._client.judge.acknowledged(answer, kinds.DEFINITION, "")

    async def undefine(self, kind: Kind | None = None) -> None:
        path = kinds.DEFINITION.path(name=(kind or self._rng.choice(kinds.CUSTOM)).resource)
        self._client.judge.acknowledged(await self._client.ask("DELETE", path), kinds.DEFINITION, "")

    async def force(self) -> None:
        """Deletes a scope and removes its finalizers."""
        if self._rng.random() < 0.5:
            await self.close_namespace()
            path = kinds.NAMESPACE.path(name=self._rng.choice(NAMESPACES))
            answer = await self._client.ask("GET", path)
            if answer.code == 200:
                body = {**answer.body, "spec": {"finalizers": []}}
                answer = await self._client.ask("PUT", f"{path}/finalize", body=body)
                self._client.judge.acknowledged(answer, kinds.NAMESPACE, "")
        else:
            await self.undefine()
            path = kinds.DEFINITION.path(name=self._rng.choice(kinds.CUSTOM).resource)
            answer = await self._client.ask("PATCH", path, body={"metadata": {"finalizers": None}}, media=MERGE)
            self._client.judge.acknowledged(answer, kinds.DEFINITION, "")
