"""What clients do to what objects lie in: namespaces and definitions come, go, and are pulled from under their content."""

from __future__ import annotations

import random

from simulation import kinds
from simulation.hand import MERGE, Hand
from simulation.kinds import Kind

NAMESPACES = ("a", "b", "c")


class Founder:
    """One client's dealings with scopes."""

    def __init__(self, hand: Hand, dice: random.Random) -> None:
        self._hand = hand
        self._dice = dice

    async def restore(self, kind: Kind, namespace: str) -> None:
        """Make what objects of this kind lie in."""
        await (self.define() if kind.definition else self.make_namespace(namespace))

    async def make_namespace(self, name: str = "") -> None:
        await self._hand.add(kinds.NAMESPACE, "", {"metadata": {"name": name or self._dice.choice(NAMESPACES)}})

    async def close(self, kind: Kind, namespace: str) -> None:
        """Delete what objects of this kind lie in."""
        await (self.undefine(kind) if kind.definition else self.close_namespace(namespace))

    async def close_namespace(self, name: str = "") -> None:
        path = kinds.NAMESPACE.path(name=name or self._dice.choice(NAMESPACES))
        self._hand.court.acknowledged(await self._hand.ask("DELETE", path), kinds.NAMESPACE, "")

    async def define(self) -> None:
        body = kinds.definition(self._dice.choice(kinds.CUSTOM))
        answer = await self._hand.ask("POST", kinds.DEFINITION.path(), body=body)
        self._hand.court.acknowledged(answer, kinds.DEFINITION, "")

    async def undefine(self, kind: Kind | None = None) -> None:
        path = kinds.DEFINITION.path(name=(kind or self._dice.choice(kinds.CUSTOM)).resource)
        self._hand.court.acknowledged(await self._hand.ask("DELETE", path), kinds.DEFINITION, "")

    async def force(self) -> None:
        """Delete a scope and take off by hand what holds it."""
        if self._dice.random() < 0.5:
            await self.close_namespace()
            path = kinds.NAMESPACE.path(name=self._dice.choice(NAMESPACES))
            answer = await self._hand.ask("GET", path)
            if answer.code == 200:
                body = {**answer.body, "spec": {"finalizers": []}}
                answer = await self._hand.ask("PUT", f"{path}/finalize", body=body)
                self._hand.court.acknowledged(answer, kinds.NAMESPACE, "")
        else:
            await self.undefine()
            path = kinds.DEFINITION.path(name=self._dice.choice(kinds.CUSTOM).resource)
            answer = await self._hand.ask("PATCH", path, body={"metadata": {"finalizers": None}}, media=MERGE)
            self._hand.court.acknowledged(answer, kinds.DEFINITION, "")
