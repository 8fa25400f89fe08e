"""Writes responses to the ASGI connection: complete ones, streams, and errors as `Status`."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any, TypeAlias

import orjson

from probate.api import status
from probate.core import errors
from probate.http.request_cycle import RequestCycle, encode_headers
from probate.server import flow_classification
from probate.server.codec import negotiation, responses, warning_headers
from probate.server.request import Request
from probate.server.response import Response, StreamingResponse

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_AUDIT_ID, _response_numbers = str(uuid.uuid4())[:24].encode() + b"%012x", itertools.count(1)
"""Every response has an Audit-Id header, as in Kubernetes. If the request is audited, it is the id of the audit event."""
_NO_CACHE = (b"cache-control", b"no-cache, private")
_COMMON_HEADERS = (
    b"audit-id: " + _AUDIT_ID + b"\r\ncache-control: no-cache, private\r\n%bcontent-type: %b\r\ncontent-length: %d\r\n"
)


def error_response(error: errors.ApiError, request: Request) -> Response:
    """Returns the error as a `Status`, in the encoding that the client accepts."""
    retry_after = error.details.retry_after_seconds
    headers = (("retry-after", str(retry_after)),) if retry_after else ()
    response = Response(error.code, orjson.dumps(status.failure_status(error)), negotiation.JSON, headers=headers)
    form = negotiation.of_refusal(request.headers.get(b"accept", b""))
    if form.is_protobuf:
        return responses.as_protobuf(response)
    return responses.as_yaml(response) if form.is_yaml else response


def write_response(response: Response, flow_headers: bytes, cycle: RequestCycle, *, is_head: bool) -> None:
    """Fast path: writes a complete response to Probate's own HTTP protocol, with headers formatted in one step.

    Sends the same bytes as `send_response`.
    """
    headers = _COMMON_HEADERS % (next(_response_numbers), flow_headers, response.content_type.encode(), len(response.body))
    if response.headers or response.warnings:
        headers = encode_headers(_headers(response, flow_headers))
    cycle.respond(response.code, headers, b"" if is_head else response.body)


async def send_response(response: Response, flow_headers: bytes, send: Send, *, is_head: bool) -> None:
    """Sends a complete response to any ASGI server."""
    await send({"type": "http.response.start", "status": response.code, "headers": _headers(response, flow_headers)})
    await send({"type": "http.response.body", "body": b"" if is_head else response.body})


def _headers(response: Response, flow_headers: bytes) -> list[tuple[bytes, bytes]]:
    """Returns all headers of a response. The response's own headers replace common headers of the same name."""
    own = _own_headers(response.headers, response.warnings)
    own_names = {name for name, _ in own}
    defaults = ((b"audit-id", _AUDIT_ID % next(_response_numbers)), _NO_CACHE)
    common = [(name, value) for name, value in defaults if name not in own_names]
    content = [(b"content-type", response.content_type.encode()), (b"content-length", b"%d" % len(response.body))]
    return [*common, *content, *flow_classification.header_pairs(flow_headers), *own]


def _own_headers(headers: tuple[tuple[str, str], ...], warnings: tuple[str, ...]) -> list[tuple[bytes, bytes]]:
    encoded_warnings = [(b"warning", value) for value in warning_headers.encoded(warnings)]
    return [*((name.encode(), value.encode()) for name, value in headers), *encoded_warnings]


async def send_stream(
    response: StreamingResponse, flow_headers: bytes, receive: Receive, *, send: Send, stopping: asyncio.Event
) -> None:
    """Sends chunks until the stream ends, the client disconnects, or the server stops."""
    headers = [
        (b"content-type", response.content_type.encode()),
        (b"audit-id", response.audit_id.encode() or _AUDIT_ID % next(_response_numbers)),
        _NO_CACHE,
        *flow_classification.header_pairs(flow_headers),
        *_own_headers((), response.warnings),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    sending = asyncio.ensure_future(_send_chunks(response.chunks, send))
    ends = (sending, asyncio.ensure_future(_wait_for_disconnect(receive)), asyncio.ensure_future(stopping.wait()))
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
    await send({"type": "http.response.body", "body": b""})


async def _send_chunks(chunks: AsyncGenerator[bytes, None], send: Send) -> None:
    async with aclosing(chunks):
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
