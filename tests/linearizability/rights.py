"""Clients for whom a right is a register: one grants and revokes it, others ask whether the server honours it."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

from linearizability.door import Answer, Door
from linearizability.history import Kind, Operation, Outcome

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = "linearizability-reader"
ROLE_OBJECT = {
    "metadata": {"name": ROLE},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
}
USER = "ann"
ATTEMPTS = 10
LONGEST_PAUSE = 0.3


class Rights:
    """The right of one user to read the ConfigMaps of one namespace."""

    def __init__(self, doors: list[Door], *, namespace: str, dice: random.Random) -> None:
        self._doors = doors
        self._bindings = f"{RBAC}/namespaces/{namespace}/rolebindings"
        self._object = f"/api/v1/namespaces/{namespace}/configmaps/key-0"
        self._dice = dice
        self._numbers = itertools.count(1)
        self.done: list[Operation] = []

    async def change(self, is_over: asyncio.Event) -> None:
        """Grant and revoke it in turn."""
        while not is_over.is_set():
            await self.grant(self._dice.choice(self._doors))
            await asyncio.sleep(self._dice.uniform(0, LONGEST_PAUSE))
            await self.revoke(self._dice.choice(self._doors))
            await asyncio.sleep(self._dice.uniform(0, LONGEST_PAUSE))

    async def grant_everywhere(self) -> None:
        """Grant it, and come back once every server honours it."""
        await self._until_done(self.grant, self._doors[0])
        for door in self._doors:
            while await self.ask_once(door) != "ok":  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(LONGEST_PAUSE)

    async def revoke_for_long(self, door: Door, is_over: asyncio.Event, *, at: float) -> None:
        """Revoke it at this time, and leave it so: whoever still honours it does so for too long."""
        await asyncio.sleep(at)
        await self._until_done(self.revoke, door)
        await is_over.wait()

    async def _until_done(self, action: Callable[[Door], Awaitable[Outcome]], door: Door) -> None:
        for _ in range(ATTEMPTS):
            if await action(door) in {"ok", "exists", "absent"}:
                return

    async def ask(self, door: Door, is_over: asyncio.Event, *, pause: float = 0.03) -> None:
        """Ask as the user, again and again."""
        while not is_over.is_set():
            await self.ask_once(door)
            await asyncio.sleep(pause)

    async def ask_once(self, door: Door) -> Outcome:
        answer = await door.ask("GET", self._object, headers={"Impersonate-User": USER})
        if answer.code in {200, 404}:
            self._note(door, answer, "decision", outcome="ok")
            return "ok"
        if answer.code == 403:
            self._note(door, answer, "decision", outcome="absent")
            return "absent"
        return "unknown"

    async def grant(self, door: Door) -> Outcome:
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER}
        role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": ROLE}
        answer = await door.ask("POST", self._bindings, {"metadata": {"name": USER}, "roleRef": role, "subjects": [subject]})
        self._note(door, answer, "create", value=f"granted.{next(self._numbers)}")
        return answer.outcome

    async def revoke(self, door: Door) -> Outcome:
        answer = await door.ask("DELETE", f"{self._bindings}/{USER}")
        self._note(door, answer, "delete")
        return answer.outcome

    def _note(self, door: Door, answer: Answer, kind: Kind, **more: Any) -> None:
        given = {"outcome": answer.outcome, **more}
        end = None if given["outcome"] == "unknown" else answer.end
        self.done.append(
            Operation(client="rights", server=door.number, kind=kind, key=f"right/{USER}", start=answer.start, end=end, **given)
        )
