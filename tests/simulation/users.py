"""Clients that create, own, change and delete at random, with so few names that they conflict."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from simulation import kinds
from simulation.client import MERGE, Client
from simulation.connection import Lost
from simulation.judge import Judge
from simulation.kinds import Kind
from simulation.known_objects import KnownObject, KnownObjects
from simulation.machine import Machine
from simulation.scope_user import NAMESPACES, ScopeUser

HOLD = "sim.example.com/hold"
NAMES = ("one", "two", "three", "four", "five", "six")

FINALIZERS = (
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
POLICIES: tuple[dict[str, Any], ...] = (
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
    """One client. All clients know the same objects."""

    def __init__(
        self,
        name: str,
        machine: Machine,
        judge: Judge,
        *,
        known: deque[KnownObject],
        pace: float,
        seed: object,
        log: Callable[[str], None],
    ) -> None:
        self._machine = machine
        self._judge = judge
        self._pace = pace
        self._rng = random.Random(f"{name} {seed}")  # noqa: S311
        self._memory = KnownObjects(known, self._rng)
        self._client = Client(name, machine, judge, memory=self._memory, rng=self._rng, log=log)
        self._scopes = ScopeUser(self._client, self._rng)
        actions: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self._create, 34),
            (self._delete, 22),
            (self._own, 12),
            (self._make_cycle, 8),
            (self._create_late_dependents, 4),
            (self._create_invalid_dependents, 4),
            (self._create_in_closing_scope, 2),
            (self._delete_twice, 3),
            (self._finalize, 6),
            (self._read, 5),
            (self._list, 3),
            (self._delete_many, 1),
            (self._scopes.make_namespace, 2),
            (self._scopes.close_namespace, 2),
            (self._scopes.define, 2),
            (self._scopes.undefine, 2),
            (self._scopes.force, 1),
        ]
        self._actions = [action for action, _ in actions]
        self._weights = [weight for _, weight in actions]

    async def run(self, goes_on: Callable[[], bool]) -> None:
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / self._pace))
            if not self._machine.is_up:
                await asyncio.sleep(0.05)
                continue
            if not goes_on():
                break
            with suppress(Lost, TimeoutError):
                await self._rng.choices(self._actions, self._weights)[0]()

    # --- actions ---------------------------------------------------------------------------------------------------

    async def _create(self) -> None:
        kind = self._rng.choices(kinds.MADE, [one.weight for one in kinds.MADE])[0]
        if kind is kinds.NAMESPACE:
            await self._scopes.make_namespace()
            return
        namespace = self._rng.choice(NAMESPACES) if kind.is_namespaced else ""
        meta: dict[str, Any] = {"name": self._rng.choice(NAMES)}
        if self._rng.random() < 0.2:
            meta = {"generateName": "g-"}
        owners = self._memory.owners(namespace)
        if owners:
            meta["ownerReferences"] = owners
        finalizers = self._rng.choice(FINALIZERS)
        if finalizers:
            meta["finalizers"] = finalizers
        await self._add(kind, namespace, {"metadata": meta, **kinds.body(kind, is_bound=self._rng.random() < 0.3)})

    async def _add(self, kind: Kind, namespace: str, body: dict[str, Any]) -> KnownObject | None:
        """The new object, if it was made."""
        code, made = await self._client.add(kind, namespace, body)
        if code == 404:  # what it was to lie in is not there
            await self._scopes.restore(kind, namespace)
        return made

    async def _delete(self) -> None:
        target = self._memory.some()
        if target is None:
            return
        body = dict(self._rng.choice(POLICIES))
        if self._rng.random() < 0.3:
            body["preconditions"] = {"uid": target.uid}
        await self._client.write("DELETE", target, body=body)
        if self._rng.random() < 0.15:  # and again, with another policy
            await self._client.write("DELETE", target, body=self._rng.choice(POLICIES))

    async def _create_late_dependents(self) -> None:
        """Creates dependents of an owner while it is being deleted."""
        target = self._memory.some()
        if target is None or target.kind in (kinds.NAMESPACE, *kinds.CUSTOM):
            return
        policy = self._rng.choice(("Orphan", "Orphan", "Foreground", "Background"))
        namespace = target.namespace or self._rng.choice(NAMESPACES)
        meta = {"generateName": "c-", "ownerReferences": [self._memory.reference(target, is_blocking=True)]}
        adding = [self._add_soon(kinds.CONFIG, namespace, {"metadata": meta}) for _ in range(3)]
        deleting = self._client.write("DELETE", target, body={"propagationPolicy": policy})
        await asyncio.gather(deleting, *adding, return_exceptions=True)

    async def _create_invalid_dependents(self) -> None:
        """Refers to a deleting owner from other namespaces and from cluster-scoped objects, which it cannot own."""
        target = self._memory.some()
        if target is None or not target.namespace or target.kind in kinds.CUSTOM:
            return
        others = [one for one in NAMESPACES if one != target.namespace]
        places = [(kinds.CONFIG, self._rng.choice(others)), (kinds.SECRET, self._rng.choice(others)), (kinds.ROLE, "")]
        meta = {"generateName": "e-", "ownerReferences": [self._memory.reference(target, is_blocking=self._rng.random() < 0.5)]}
        adding = [self._add_soon(kind, namespace, {"metadata": meta}) for kind, namespace in places]
        policy = self._rng.choice(("Orphan", "Orphan", "Foreground"))
        deleting = self._client.write("DELETE", target, body={"propagationPolicy": policy})
        await asyncio.gather(deleting, *adding, return_exceptions=True)

    async def _delete_twice(self) -> None:
        """Deletes an owner in the foreground, and again with the policy Orphan a moment later."""
        target = self._memory.some()
        if target is None or target.kind in (kinds.NAMESPACE, *kinds.CUSTOM):
            return
        namespace = target.namespace or self._rng.choice(NAMESPACES)
        meta = {"generateName": "w-", "ownerReferences": [self._memory.reference(target, is_blocking=True)]}
        for _ in range(2):
            await self._add(kinds.CONFIG, namespace, {"metadata": meta})
        await self._client.write("DELETE", target, body={"propagationPolicy": "Foreground"})
        await asyncio.sleep(self._rng.expovariate(300))
        await self._client.write("DELETE", target, body={"propagationPolicy": "Orphan"})

    async def _create_in_closing_scope(self) -> None:
        """Creates objects while their scope is being deleted."""
        kind = self._rng.choice((kinds.CONFIG, kinds.THING, kinds.ORB))
        namespace = self._rng.choice(NAMESPACES) if kind.is_namespaced else ""
        body = {"metadata": {"generateName": "r-"}, **kinds.body(kind, is_bound=False)}
        adding = [self._add_soon(kind, namespace, body) for _ in range(3)]
        await asyncio.gather(self._scopes.close(kind, namespace), *adding, return_exceptions=True)

    async def _add_soon(self, kind: Kind, namespace: str, body: dict[str, Any]) -> None:
        await asyncio.sleep(self._rng.expovariate(100))
        await self._add(kind, namespace, body)

    async def _own(self) -> None:
        """Changes the owners of an object."""
        target = self._memory.some()
        if target is not None:
            await self._change(target, {"ownerReferences": self._memory.owners(target.namespace) or None})

    async def _make_cycle(self) -> None:
        """Makes a cycle of two owners, deletes one of them, and perhaps breaks the cycle."""
        target = self._memory.some()
        if target is None or target.kind in (kinds.NAMESPACE, kinds.POD):
            return
        kind, namespace = (kinds.SECRET, target.namespace) if target.namespace else (kinds.ROLE, "")
        meta = {"generateName": "t-", "ownerReferences": [self._memory.reference(target, is_blocking=True)]}
        other = await self._add(kind, namespace, {"metadata": meta})
        if other is None:
            return
        await self._change(target, {"ownerReferences": [self._memory.reference(other, is_blocking=True)]})
        one = self._rng.choice((target, other))
        await self._client.write("DELETE", one, body={"propagationPolicy": "Foreground"})
        if self._rng.random() < 0.7:
            await asyncio.sleep(self._rng.expovariate(60))
            await self._change(self._rng.choice((target, other)), {"ownerReferences": None})

    async def _finalize(self) -> None:
        target = self._memory.some()
        if target is not None:
            await self._change(target, {"finalizers": self._rng.choice(FINALIZERS) or None})

    async def _change(self, target: KnownObject, meta: dict[str, Any]) -> None:
        """Changes metadata by a patch, or by an update after a read."""
        if self._rng.random() < 0.5:
            await self._client.write("PATCH", target, body={"metadata": meta}, media=MERGE)
            return
        answer = await self._client.ask("GET", target.path)
        if answer.code != 200:
            return
        changed = {**answer.body["metadata"], **meta}
        body = {**answer.body, "metadata": {name: value for name, value in changed.items() if value is not None}}
        await self._client.write("PUT", target, body=body)

    async def _read(self) -> None:
        target = self._memory.some()
        if target is not None:
            since = self._judge.history.revision
            answer = await self._client.ask("GET", target.path)
            if not target.kind.definition:
                self._judge.got(answer, target.key, since)

    async def _list(self) -> None:
        kind = self._rng.choice(kinds.MADE)
        namespace = self._rng.choice(("", *NAMESPACES)) if kind.is_namespaced else ""
        since = self._judge.history.revision
        self._judge.listed(await self._client.ask("GET", kind.path(namespace)), kind, namespace, since=since)

    async def _delete_many(self) -> None:
        kind = self._rng.choice((kinds.CONFIG, kinds.SECRET, kinds.THING))
        path = kind.path(self._rng.choice(NAMESPACES))
        self._judge.sane(await self._client.ask("DELETE", path, body=self._rng.choice(POLICIES)))
