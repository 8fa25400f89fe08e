"""Clients that create, own, change and delete at random, in a world small enough that they get into each other's way."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from simulation import kinds
from simulation.connection import Lost
from simulation.court import Court
from simulation.founders import NAMESPACES, Founder
from simulation.hand import MERGE, Hand
from simulation.kinds import Kind
from simulation.machine import Machine
from simulation.memory import Known, Memory

HOLD = "sim.example.com/hold"
NAMES = ("one", "two", "three", "four", "five", "six")

_FINALIZERS = (
    (),
    (),
    (),
    (),
    (),
    (HOLD,),
    (HOLD,),
    ("foregroundDeletion",),
    ("orphan",),
    (HOLD, "foregroundDeletion"),
    ("orphan", HOLD),
)
_POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"propagationPolicy": "Background"},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Orphan"},
    {"propagationPolicy": "Orphan"},
    {"orphanDependents": True},
    {"orphanDependents": False},
    {"garbageCollectionPolicy": "SynchronousGarbageCollection"},
)


class User:
    """One client. All clients know of the same objects."""

    def __init__(
        self,
        name: str,
        machine: Machine,
        court: Court,
        known: deque[Known],
        *,
        pace: float,
        seed: object,
        tell: Callable[[str], None],
    ) -> None:
        self._machine = machine
        self._court = court
        self._pace = pace
        self._dice = random.Random(f"{name} {seed}")  # noqa: S311
        self._memory = Memory(known, self._dice)
        self._hand = Hand(name, machine, court, self._memory, self._dice, tell)
        self._founder = Founder(self._hand, self._dice)
        ways: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self._create, 34),
            (self._delete, 22),
            (self._own, 12),
            (self._tie, 8),
            (self._crowd, 4),
            (self._crowd_from_elsewhere, 4),
            (self._rush, 2),
            (self._waver, 3),
            (self._finalize, 6),
            (self._read, 5),
            (self._list, 3),
            (self._delete_many, 1),
            (self._founder.make_namespace, 2),
            (self._founder.close_namespace, 2),
            (self._founder.define, 2),
            (self._founder.undefine, 2),
            (self._founder.force, 1),
        ]
        self._ways = [way for way, _ in ways]
        self._weights = [weight for _, weight in ways]

    async def run(self, goes_on: Callable[[], bool]) -> None:
        while True:
            await asyncio.sleep(self._dice.expovariate(1 / self._pace))
            if not self._machine.is_up:
                await asyncio.sleep(0.05)
                continue
            if not goes_on():
                break
            with suppress(Lost, TimeoutError):
                await self._dice.choices(self._ways, self._weights)[0]()

    # --- what it does ---------------------------------------------------------------------------------------------------

    async def _create(self) -> None:
        kind = self._dice.choices(kinds.MADE, [one.weight for one in kinds.MADE])[0]
        if kind is kinds.NAMESPACE:
            await self._founder.make_namespace()
            return
        namespace = self._dice.choice(NAMESPACES) if kind.is_namespaced else ""
        meta: dict[str, Any] = {"name": self._dice.choice(NAMES)}
        if self._dice.random() < 0.2:
            meta = {"generateName": "g-"}
        owners = self._memory.owners(namespace)
        if owners:
            meta["ownerReferences"] = owners
        finalizers = self._dice.choice(_FINALIZERS)
        if finalizers:
            meta["finalizers"] = finalizers
        await self._add(kind, namespace, {"metadata": meta, **kinds.body(kind, is_bound=self._dice.random() < 0.3)})

    async def _add(self, kind: Kind, namespace: str, body: dict[str, Any]) -> Known | None:
        """The new object, if it was made."""
        code, made = await self._hand.add(kind, namespace, body)
        if code == 404:  # what it was to lie in is not there
            await self._founder.restore(kind, namespace)
        return made

    async def _delete(self) -> None:
        target = self._memory.some()
        if target is None:
            return
        body = dict(self._dice.choice(_POLICIES))
        if self._dice.random() < 0.3:
            body["preconditions"] = {"uid": target.uid}
        await self._hand.write("DELETE", target, body=body)
        if self._dice.random() < 0.15:  # and again, with another wish
            await self._hand.write("DELETE", target, body=self._dice.choice(_POLICIES))

    async def _crowd(self) -> None:
        """Make dependents of an owner at the very moment it goes."""
        target = self._memory.some()
        if target is None or target.kind in (kinds.NAMESPACE, *kinds.CUSTOM):
            return
        policy = self._dice.choice(("Orphan", "Orphan", "Foreground", "Background"))
        namespace = target.namespace or self._dice.choice(NAMESPACES)
        meta = {"generateName": "c-", "ownerReferences": [self._memory.reference(target, is_blocking=True)]}
        adding = [self._add_soon(kinds.CONFIG, namespace, {"metadata": meta}) for _ in range(3)]
        deleting = self._hand.write("DELETE", target, body={"propagationPolicy": policy})
        await asyncio.gather(deleting, *adding, return_exceptions=True)

    async def _crowd_from_elsewhere(self) -> None:
        """Name an owner in a namespace from where it cannot own, while it goes: from other namespaces, and from none."""
        target = self._memory.some()
        if target is None or not target.namespace or target.kind in kinds.CUSTOM:
            return
        others = [one for one in NAMESPACES if one != target.namespace]
        places = [(kinds.CONFIG, self._dice.choice(others)), (kinds.SECRET, self._dice.choice(others)), (kinds.ROLE, "")]
        meta = {"generateName": "e-", "ownerReferences": [self._memory.reference(target, is_blocking=self._dice.random() < 0.5)]}
        adding = [self._add_soon(kind, namespace, {"metadata": meta}) for kind, namespace in places]
        policy = self._dice.choice(("Orphan", "Orphan", "Foreground"))
        deleting = self._hand.write("DELETE", target, body={"propagationPolicy": policy})
        await asyncio.gather(deleting, *adding, return_exceptions=True)

    async def _waver(self) -> None:
        """Delete an owner with its dependents, and wish to keep them a moment later."""
        target = self._memory.some()
        if target is None or target.kind in (kinds.NAMESPACE, *kinds.CUSTOM):
            return
        namespace = target.namespace or self._dice.choice(NAMESPACES)
        meta = {"generateName": "w-", "ownerReferences": [self._memory.reference(target, is_blocking=True)]}
        for _ in range(2):
            await self._add(kinds.CONFIG, namespace, {"metadata": meta})
        await self._hand.write("DELETE", target, body={"propagationPolicy": "Foreground"})
        await asyncio.sleep(self._dice.expovariate(300))
        await self._hand.write("DELETE", target, body={"propagationPolicy": "Orphan"})

    async def _rush(self) -> None:
        """Make objects at the very moment that what they lie in is closed."""
        kind = self._dice.choice((kinds.CONFIG, kinds.THING, kinds.ORB))
        namespace = self._dice.choice(NAMESPACES) if kind.is_namespaced else ""
        body = {"metadata": {"generateName": "r-"}, **kinds.body(kind, is_bound=False)}
        adding = [self._add_soon(kind, namespace, body) for _ in range(3)]
        await asyncio.gather(self._founder.close(kind, namespace), *adding, return_exceptions=True)

    async def _add_soon(self, kind: Kind, namespace: str, body: dict[str, Any]) -> None:
        await asyncio.sleep(self._dice.expovariate(100))
        await self._add(kind, namespace, body)

    async def _own(self) -> None:
        """Give an object other owners."""
        target = self._memory.some()
        if target is not None:
            await self._change(target, {"ownerReferences": self._memory.owners(target.namespace) or None})

    async def _tie(self) -> None:
        """Make an owner depend on its own dependent, delete one of them, and perhaps think better of it."""
        target = self._memory.some()
        if target is None or target.kind in (kinds.NAMESPACE, kinds.POD):
            return
        kind, namespace = (kinds.SECRET, target.namespace) if target.namespace else (kinds.ROLE, "")
        meta = {"generateName": "t-", "ownerReferences": [self._memory.reference(target, is_blocking=True)]}
        other = await self._add(kind, namespace, {"metadata": meta})
        if other is None:
            return
        await self._change(target, {"ownerReferences": [self._memory.reference(other, is_blocking=True)]})
        one = self._dice.choice((target, other))
        await self._hand.write("DELETE", one, body={"propagationPolicy": "Foreground"})
        if self._dice.random() < 0.7:
            await asyncio.sleep(self._dice.expovariate(60))
            await self._change(self._dice.choice((target, other)), {"ownerReferences": None})

    async def _finalize(self) -> None:
        target = self._memory.some()
        if target is not None:
            await self._change(target, {"finalizers": self._dice.choice(_FINALIZERS) or None})

    async def _change(self, target: Known, meta: dict[str, Any]) -> None:
        """Change metadata: by a patch, or by an update of what was read."""
        if self._dice.random() < 0.5:
            await self._hand.write("PATCH", target, body={"metadata": meta}, media=MERGE)
            return
        answer = await self._hand.ask("GET", target.path)
        if answer.code != 200:
            return
        changed = {**answer.body["metadata"], **meta}
        body = {**answer.body, "metadata": {name: value for name, value in changed.items() if value is not None}}
        await self._hand.write("PUT", target, body=body)

    async def _read(self) -> None:
        target = self._memory.some()
        if target is not None:
            since = self._court.history.revision
            answer = await self._hand.ask("GET", target.path)
            if not target.kind.definition:
                self._court.got(answer, target.key, since)

    async def _list(self) -> None:
        kind = self._dice.choice(kinds.MADE)
        namespace = self._dice.choice(("", *NAMESPACES)) if kind.is_namespaced else ""
        since = self._court.history.revision
        self._court.listed(await self._hand.ask("GET", kind.path(namespace)), kind, namespace, since)

    async def _delete_many(self) -> None:
        kind = self._dice.choice((kinds.CONFIG, kinds.SECRET, kinds.THING))
        path = kind.path(self._dice.choice(NAMESPACES))
        self._court.sane(await self._hand.ask("DELETE", path, body=self._dice.choice(_POLICIES)))
