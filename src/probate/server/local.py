"""Requests of our own process: they go the same way as those over HTTP, less the network. `client.transport` has the promises."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

import orjson

from probate import errors
from probate.machinery import status
from probate.machinery.rbac import missing
from probate.machinery.rbac.users import INTERNAL, User
from probate.server import dispatch
from probate.server.api import Answer, Api
from probate.server.request import Request

log = logging.getLogger(__name__)

AGENT = b"probate"
"""What those are called, in `managedFields`, who act in our own process."""


class Local:
    """Carries requests to the API of this process, as this user."""

    def __init__(self, api: Api, user: User = INTERNAL) -> None:
        self._api = api
        self._user = user

    async def send(self, method: str, path: str, query: Mapping[str, str], body: bytes, media: str) -> tuple[int, bytes]:
        async def read_body() -> bytes:
            return body

        headers = {b"content-type": media.encode(), b"user-agent": AGENT}
        try:
            answer = await dispatch.answer(self._api, Request(method, path, _asked(query), headers, read_body, self._user))
        except errors.ApiError as error:
            if missing.is_told_by(error):
                log.warning("what one of our own wants to do is not granted to them: %s", error)
            return error.code, orjson.dumps(status.failure(error))
        if not isinstance(answer, Answer):
            raise errors.InvariantViolation(f"{path} answers with a stream")
        return answer.code, answer.body

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[bytes], None]:
        async def read_body() -> bytes:
            return b""

        answer = await dispatch.answer(self._api, Request("GET", path, _asked(query), {}, read_body, self._user))
        if isinstance(answer, Answer):
            raise errors.InvariantViolation(f"{path} does not answer with a stream")
        async with aclosing(answer.chunks) as chunks:
            yield _lines(chunks)


def _asked(query: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: [value] for name, value in query.items()}


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """A chunk holds whole lines."""
    async for chunk in chunks:
        for line in chunk.splitlines():
            yield line
