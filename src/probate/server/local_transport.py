"""Requests of our own process: they go the same way as those over HTTP, less the network. `client.transport` has the promises."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import orjson

from probate.api import status
from probate.api.rbac import forbidden_message
from probate.api.rbac.users import INTERNAL, User
from probate.core import errors
from probate.server import routing
from probate.server.audit import request_audit as auditing
from probate.server.context import Answer, Api, Stream
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
        headers = {b"content-type": media.encode(), b"user-agent": AGENT}
        request = Request(method, path, _asked(query), headers, body, self._user)
        try:
            answer = await self._in_time(request)
        except errors.ApiError as error:
            if forbidden_message.is_told_by(error):
                log.warning("what one of our own wants to do is not granted to them: %s", error)
            return error.code, orjson.dumps(status.failure(error))
        if not isinstance(answer, Answer):
            raise errors.InvariantViolation(f"{path} answers with a stream")
        return answer.code, answer.body

    async def _in_time(self, request: Request) -> Answer | Stream:
        """The answer. What is to be read is waited for: nobody else does, and the store knows how long to wait for itself."""
        if request.method == "GET":
            return await self._answer(request, self._audited(request))
        try:
            with self._api.patience.running():
                return await self._answer(request, self._audited(request))
        except TimeoutError:
            raise errors.OutcomeUnknown("the request did not finish in time: read to see what was done") from None

    def _audited(self, request: Request) -> auditing.Audited | None:
        return None if self._api.audit is None else auditing.Audited(self._api.audit, request, _scope(request))

    async def _answer(self, request: Request, audited: auditing.Audited | None) -> Answer | Stream:
        """The answer, of which the audit log is told if there is one."""
        if audited is None:
            return await routing.answer(self._api, request)
        try:
            answer = await routing.answer(self._api, audited.begin(request, self._user))
        except errors.ApiError as error:
            audited.refuse(error)
            audited.answer(Answer(error.code, orjson.dumps(status.failure(error))))
            raise
        except BaseException:
            audited.panic()
            raise
        return audited.answer(answer)

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[bytes], None]:
        request = Request("GET", path, _asked(query), {b"user-agent": AGENT}, user=self._user)
        audited = self._audited(request)
        answer = await self._answer(request, audited)
        if isinstance(answer, Answer):
            raise errors.InvariantViolation(f"{path} does not answer with a stream")
        try:
            async with aclosing(answer.chunks) as chunks:
                yield _lines(chunks)
        finally:
            if audited is not None:
                audited.end()


def _scope(request: Request) -> dict[str, Any]:
    """The request as the door would have it."""
    query = urlencode({name: values[0] for name, values in request.query.items()}).encode()
    return {"raw_path": request.path.encode(), "query_string": query}


def _asked(query: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: [value] for name, value in query.items()}


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """A chunk holds whole lines."""
    async for chunk in chunks:
        for line in chunk.splitlines():
            yield line
