"""The line between controllers and their server: a test can hold back news of a kind, and have requests refused."""

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
from probate.server.context import Api
from probate.server.local_transport import Local


class Line(Local):
    """Carries everything at once, as long as nobody interferes."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.asked: list[str] = []  # of the server, as "GET /api/v1/pods"; until the test forgets it
        self.ungranted: list[str] = []  # what was refused because no role grants it
        self._lost: set[str] = set()
        self._gates: dict[str, asyncio.Event] = {}
        self._refusals: dict[re.Pattern[str], errors.ApiError] = {}

    def by(self, user: User) -> Line:
        """The same line, as somebody else uses it."""
        other = copy.copy(self)
        other._user = user
        return other

    @contextmanager
    def holding(self, plural: str) -> Generator[None, None, None]:
        """No news of this kind arrives meanwhile; afterwards all of it does."""
        gate = self._gates[plural] = asyncio.Event()
        try:
            yield
        finally:
            del self._gates[plural]
            gate.set()

    @contextmanager
    def losing(self, plural: str) -> Generator[None, None, None]:
        """No news of this kind arrives meanwhile, nor later: the connection breaks."""
        with self.holding(plural):
            yield
            self._lost.add(plural)

    @contextmanager
    def refusing(self, asked: str, error: errors.ApiError) -> Generator[None, None, None]:
        """Requests like this ("PATCH .*/pods/a/status") are refused meanwhile."""
        pattern = re.compile(asked)
        self._refusals[pattern] = error
        try:
            yield
        finally:
            self._refusals.pop(pattern, None)

    def let_all_pass(self) -> None:
        """Nothing is refused any more."""
        self._refusals.clear()

    async def send(self, method: str, path: str, query: Mapping[str, str], body: bytes, media: str) -> tuple[int, bytes]:
        self.asked.append(f"{method} {path}")
        for pattern, error in self._refusals.items():
            if pattern.fullmatch(self.asked[-1]):
                return error.code, orjson.dumps(status.failure(error))
        code, told = await super().send(method, path, query, body, media)
        if code == 403 and forbidden_message.RULE.encode() in told:
            self.ungranted.append(orjson.loads(told)["message"])
        return code, told

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[bytes], None]:
        async with super().stream(path, query) as lines:
            yield self._gated(path.rpartition("/")[2], lines)

    async def _gated(self, plural: str, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            if plural in self._gates:
                await self._gates[plural].wait()
            if plural in self._lost:
                self._lost.remove(plural)
                raise errors.Gone("the connection broke")
            yield line
