"""LocalTransport: requests from the server's own process. They take the same path as HTTP requests, without the network.

Implements the contract in `client.transport`.
"""

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
from probate.core.logs import facts
from probate.server import routing
from probate.server.audit import request_audit as auditing
from probate.server.context import ServerContext
from probate.server.request import Request
from probate.server.response import Response, StreamingResponse

log = logging.getLogger(__name__)

USER_AGENT = b"probate"
"""The user agent of the process's own clients, and so their field manager in `managedFields`."""


class LocalTransport:
    """Sends requests to the server in this process, as one user."""

    def __init__(self, context: ServerContext, user: User = INTERNAL) -> None:
        self._api = context
        self._user = user

    async def send(self, method: str, path: str, *, query: Mapping[str, str], body: bytes, media: str) -> tuple[int, bytes]:
        headers = {b"content-type": media.encode(), b"user-agent": USER_AGENT}
        request = Request(method, path, _multi_query(query), headers, body, self._user)
        try:
            response = await self._handle_in_time(request)
        except errors.ApiError as error:
            if forbidden_message.is_missing_rule_error(error):
                log.warning(
                    "controller request forbidden by RBAC, will retry when RBAC changes",
                    extra=facts(user=self._user.name, method=method, path=path, error=str(error)),
                )
            return error.code, orjson.dumps(status.failure_status(error))
        if not isinstance(response, Response):
            raise errors.InvariantViolation(f"{path} returned a stream: use `stream` instead of `send`")
        return response.code, response.body

    async def _handle_in_time(self, request: Request) -> Response | StreamingResponse:
        """Handles the request. A write has the request deadline; a read has none, because the store limits how long it waits."""
        if request.method == "GET":
            return await self._handle(request, self._audited(request))
        try:
            with self._api.request_deadline.timeout():
                return await self._handle(request, self._audited(request))
        except TimeoutError:
            raise errors.OutcomeUnknown("the request did not finish in time: read to see what was done") from None

    def _audited(self, request: Request) -> auditing.RequestAudit | None:
        return None if self._api.audit.log is None else auditing.RequestAudit(self._api.audit.log, request, _scope(request))

    async def _handle(self, request: Request, audited: auditing.RequestAudit | None) -> Response | StreamingResponse:
        """Handles the request, and writes audit events if there is an audit log."""
        if audited is None:
            return await routing.handle(self._api, request)
        try:
            response = await routing.handle(self._api, audited.begin(request, self._user))
        except errors.ApiError as error:
            audited.record_error(error)
            audited.record_answer(Response(error.code, orjson.dumps(status.failure_status(error))))
            raise
        except BaseException:
            audited.panic()
            raise
        return audited.record_answer(response)

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[bytes], None]:
        request = Request("GET", path, _multi_query(query), {b"user-agent": USER_AGENT}, user=self._user)
        audited = self._audited(request)
        response = await self._handle(request, audited)
        if isinstance(response, Response):
            raise errors.InvariantViolation(f"{path} did not return a stream")
        try:
            async with aclosing(response.chunks) as chunks:
                yield _lines(chunks)
        finally:
            if audited is not None:
                audited.end()


def _scope(request: Request) -> dict[str, Any]:
    """Returns the parts of the ASGI scope that audit events use."""
    query = urlencode({name: values[0] for name, values in request.query.items()}).encode()
    return {"raw_path": request.path.encode(), "query_string": query}


def _multi_query(query: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: [value] for name, value in query.items()}


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Splits chunks into lines. Each chunk holds complete lines."""
    async for chunk in chunks:
        for line in chunk.splitlines():
            yield line
