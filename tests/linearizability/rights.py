"""Clients that use a permission as a register: one grants and revokes it, others check whether the server grants requests."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

from linearizability.api_client import Answer, ApiClient
from linearizability.history import Kind, Operation, Outcome

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = "linearizability-reader"
ROLE_OBJECT = {
    "metadata": {"name": ROLE},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
}
USER = "ann"
ATTEMPTS = 10
MAX_PAUSE_SECONDS = 0.3


class Rights:
    """The permission of one user to read the ConfigMaps of one namespace."""

    def __init__(self, apis: list[ApiClient], *, namespace: str, rng: random.Random) -> None:
        self._apis = apis
        self._bindings = f"{RBAC}/namespaces/{namespace}/rolebindings"
        self._object = f"/api/v1/namespaces/{namespace}/configmaps/key-0"
        self._rng = rng
        self._numbers = itertools.count(1)
        self.done: list[Operation] = []

    async def change(self, is_over: asyncio.Event) -> None:
        """Grants and revokes the permission in turn."""
        while not is_over.is_set():
            await self.grant(self._rng.choice(self._apis))
            await asyncio.sleep(self._rng.uniform(0, MAX_PAUSE_SECONDS))
            await self.revoke(self._rng.choice(self._apis))
            await asyncio.sleep(self._rng.uniform(0, MAX_PAUSE_SECONDS))

    async def grant_everywhere(self) -> None:
        """Grants the permission and waits until every server applies it."""
        await self._until_done(self.grant, self._apis[0])
        for api in self._apis:
            while await self.poll_once(api) != "ok":  # noqa: ASYNC110 - depends on another process
                await asyncio.sleep(MAX_PAUSE_SECONDS)

    async def revoke_for_long(self, api: ApiClient, is_over: asyncio.Event, *, at: float) -> None:
        """Revokes the permission at this time and never grants it again, so that a server that still applies it is wrong."""
        await asyncio.sleep(at)
        await self._until_done(self.revoke, api)
        await is_over.wait()

    async def _until_done(self, action: Callable[[ApiClient], Awaitable[Outcome]], api: ApiClient) -> None:
        for _ in range(ATTEMPTS):
            if await action(api) in {"ok", "exists", "absent"}:
                return

    async def poll(self, api: ApiClient, is_over: asyncio.Event, *, pause: float = 0.03) -> None:
        """Sends requests as the user, again and again."""
        while not is_over.is_set():
            await self.poll_once(api)
            await asyncio.sleep(pause)

    async def poll_once(self, api: ApiClient) -> Outcome:
        answer = await api.request("GET", self._object, headers={"Impersonate-User": USER})
        if answer.code in {200, 404}:
            self._record(api, answer, "decision", outcome="ok")
            return "ok"
        if answer.code == 403:
            self._record(api, answer, "decision", outcome="absent")
            return "absent"
        return "unknown"

    async def grant(self, api: ApiClient) -> Outcome:
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER}
        role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": ROLE}
        answer = await api.request("POST", self._bindings, {"metadata": {"name": USER}, "roleRef": role, "subjects": [subject]})
        self._record(api, answer, "create", value=f"granted.{next(self._numbers)}")
        return answer.outcome

    async def revoke(self, api: ApiClient) -> Outcome:
        answer = await api.request("DELETE", f"{self._bindings}/{USER}")
        self._record(api, answer, "delete")
        return answer.outcome

    def _record(self, api: ApiClient, answer: Answer, kind: Kind, **fields: Any) -> None:
        complete = {"outcome": answer.outcome, **fields}
        end = None if complete["outcome"] == "unknown" else answer.end
        self.done.append(
            Operation(client="rights", server=api.number, kind=kind, key=f"right/{USER}", start=answer.start, end=end, **complete)
        )
