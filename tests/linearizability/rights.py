"""Clients for whom a right is a register: one grants and revokes it, others ask whether the server honours it."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

from linearizability.door import Answer, Door
from linearizability.history import Kind, Operation

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = "linearizability-reader"
ROLE_OBJECT = {
    "metadata": {"name": ROLE},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
}
USER = "ann"


class Rights:
    """The right of one user to read the ConfigMaps of one namespace."""

    def __init__(self, doors: list[Door], *, namespace: str, dice: random.Random, longest_pause: float = 0.3) -> None:
        self._doors = doors
        self._bindings = f"{RBAC}/namespaces/{namespace}/rolebindings"
        self._object = f"/api/v1/namespaces/{namespace}/configmaps/key-0"
        self._dice = dice
        self._longest_pause = longest_pause
        self._numbers = itertools.count(1)
        self.done: list[Operation] = []

    async def change(self, is_over: asyncio.Event) -> None:
        """Grant and revoke it in turn."""
        while not is_over.is_set():
            await self.grant(self._dice.choice(self._doors))
            await asyncio.sleep(self._dice.uniform(0, self._longest_pause))
            await self.revoke(self._dice.choice(self._doors))
            await asyncio.sleep(self._dice.uniform(0, self._longest_pause))

    async def ask(self, door: Door, is_over: asyncio.Event, *, pause: float = 0.03) -> None:
        """Ask as the user, again and again."""
        while not is_over.is_set():
            await self.ask_once(door)
            await asyncio.sleep(pause)

    async def ask_once(self, door: Door) -> None:
        answer = await door.ask("GET", self._object, headers={"Impersonate-User": USER})
        if answer.code in {200, 404}:
            self._note(door, answer, "decision", outcome="ok")
        elif answer.code == 403:
            self._note(door, answer, "decision", outcome="absent")

    async def grant(self, door: Door) -> None:
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER}
        role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": ROLE}
        answer = await door.ask("POST", self._bindings, {"metadata": {"name": USER}, "roleRef": role, "subjects": [subject]})
        self._note(door, answer, "create", value=f"granted.{next(self._numbers)}")

    async def revoke(self, door: Door) -> None:
        self._note(door, await door.ask("DELETE", f"{self._bindings}/{USER}"), "delete")

    def _note(self, door: Door, answer: Answer, kind: Kind, **more: Any) -> None:
        end = None if answer.outcome == "unknown" else answer.end
        given = {"outcome": answer.outcome, **more}
        self.done.append(
            Operation(
                client="rights", server=door.number, kind=kind, key=f"right/{USER}", start=answer.start, end=end, **given
            )
        )
