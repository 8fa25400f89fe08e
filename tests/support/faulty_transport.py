"""The transport between controllers and their server: a test can delay watch events of a kind, and have requests refused."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager

import orjson

from probate.api import status
from probate.api.rbac import forbidden_message
from probate.api.rbac.users import User
from probate.core import errors
from probate.server.context import ServerContext
from probate.server.local_transport import LocalTransport


class FaultyTransport(LocalTransport):
    """Passes everything on at once, unless the test interferes."""

    def __init__(self, api: ServerContext) -> None:
        super().__init__(api)
        self.requests: list[str] = []  # as "GET /api/v1/pods", until the test clears it
        self.missing_grants: list[str] = []  # messages of requests that no role grants
        self._lost_kinds: set[str] = set()
        self._gates: dict[str, asyncio.Event] = {}
        self._refused: dict[re.Pattern[str], errors.ApiError] = {}

    def as_user(self, user: User) -> FaultyTransport:
        """Returns the same transport for another user."""
        other = copy.copy(self)
        other._user = user
        return other

    @contextmanager
    def hold_events(self, plural: str) -> Generator[None, None, None]:
        """Delays watch events of this kind until the end of the context."""
        gate = self._gates[plural] = asyncio.Event()
        try:
            yield
        finally:
            del self._gates[plural]
            gate.set()

    @contextmanager
    def lose_events(self, plural: str) -> Generator[None, None, None]:
        """Drops watch events of this kind: the connection breaks at the end of the context."""
        with self.hold_events(plural):
            yield
            self._lost_kinds.add(plural)

    @contextmanager
    def refuse(self, requests: str, error: errors.ApiError) -> Generator[None, None, None]:
        """Refuses requests that match a pattern ("PATCH .*/pods/a/status")."""
        pattern = re.compile(requests)
        self._refused[pattern] = error
        try:
            yield
        finally:
            self._refused.pop(pattern, None)

    def stop_refusing(self) -> None:
        """Refuses nothing any more."""
        self._refused.clear()

    async def send(self, method: str, path: str, *, query: Mapping[str, str], body: bytes, media: str) -> tuple[int, bytes]:
        self.requests.append(f"{method} {path}")
        for pattern, error in self._refused.items():
            if pattern.fullmatch(self.requests[-1]):
                return error.code, orjson.dumps(status.failure_status(error))
        code, response = await super().send(method, path, query=query, body=body, media=media)
        if code == 403 and forbidden_message.MISSING_RULE.encode() in response:
            self.missing_grants.append(orjson.loads(response)["message"])
        return code, response

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[bytes], None]:
        async with super().stream(path, query) as lines:
            yield self._gated(path.rpartition("/")[2], lines)

    async def _gated(self, plural: str, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            if plural in self._gates:
                await self._gates[plural].wait()
            if plural in self._lost_kinds:
                self._lost_kinds.remove(plural)
                raise errors.Gone("the connection broke")
            yield line
