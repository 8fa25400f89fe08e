"""The ASGI door: one request in, one answer or stream out. Every failure leaves as a `Status`."""

from __future__ import annotations

import asyncio
import itertools
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import orjson

from probate.api import status
from probate.api.rbac.users import UNRECOGNISED, UNSECURED, User
from probate.core import errors
from probate.core.aio.deadlines import Deadline, Task
from probate.http.header_cache import Known
from probate.http.memory_limits import MAX_BODIES, Room, Share
from probate.http.request_cycle import Exchange, lines
from probate.server import flow_classification, routing
from probate.server.audit import request_audit as auditing
from probate.server.authz import impersonation
from probate.server.codec import compression, negotiation, responses, warning_headers
from probate.server.context import PATIENCE, Answer, Api, Stream
from probate.server.query import Query
from probate.server.request import Asked, Request
from probate.server.request_limits import MAX_UNDER_WAY, RequestLimits
from probate.settings import DEFAULT_PATIENCE

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Recognise: TypeAlias = Callable[[Scope], Awaitable[User]]
"""Who a request is from. `Unauthorized` if that cannot be told."""
Recall: TypeAlias = Callable[[Scope], User | None]
"""Who a request is from, if that was found out before and nothing has changed since; None if it has to be found out."""

MAX_BODY_BYTES = 3 * 1024 * 1024

_RUN, _numbers = str(uuid.uuid4())[:24].encode() + b"%012x", itertools.count(1)
"""Each answer has an id, as clients expect; that of an audited one is the log's."""
_NOT_KEPT = (b"cache-control", b"no-cache, private")
_ABOUT = b"audit-id: " + _RUN + b"\r\ncache-control: no-cache, private\r\n%bcontent-type: %b\r\ncontent-length: %d\r\n"

log = logging.getLogger(__name__)


class App:
    """One ASGI application on one API."""

    def __init__(
        self,
        api: Api,
        *,
        patience: float = DEFAULT_PATIENCE,
        recognise: Recognise | None = None,
        recall: Recall = lambda _: None,
        limits: RequestLimits | None = None,
    ) -> None:
        self._api = api
        self._recognise = recognise
        self._recall = recall if recognise is not None else lambda _: UNSECURED
        self._patience = patience
        self.limit_log = api.limits
        self._under_way = Deadline(PATIENCE)
        self._authenticating = Deadline(PATIENCE)
        self._limits = limits or RequestLimits(api.limits)
        self._deadline = Deadline(patience)  # for bodies
        self._room = Room("bodies", MAX_BODIES)
        self._stopping = asyncio.Event()
        self._figures, self._flows = api.figures, api.flows
        about = "Requests that are being answered, watches and those that wait for their own bodies aside."
        self._figures.registry.gauge("apiserver_current_inflight_requests", about, lambda: len(self._under_way))
        told = "Of all requests that may be under way, those that a priority level would have by its shares."
        seats = "apiserver_flowcontrol_nominal_limit_seats"
        self._figures.registry.gauges(seats, told, ("priority_level",), lambda: self._flows.seats(MAX_UNDER_WAY))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        exchange: Exchange | None = scope.get("exchange")
        known: Known | None = scope.get("known")
        user, share = self._recall(scope) or UNRECOGNISED, None
        if exchange is not None and known is not None:
            request = Request(scope["method"], scope["path"], _query(scope), known.by_name, bytes(exchange.body), user)
        else:
            share = Share(self._room)
            request = self._request(scope, receive, exchange, user, share)
        audited = None if self._api.audit is None else auditing.Audited(self._api.audit, request, scope)
        task = _current() if exchange is None else exchange.task
        answer: Answer | Stream | None = None
        self._under_way.begin(task)
        try:
            answer, asked, flow = await self._answer(request, scope, audited, task)
        finally:
            self._under_way.end(task)
            self._limits.end(task, is_watching=isinstance(answer, Stream))
            if share is not None:
                share.drop()
        if isinstance(answer, Stream):
            if audited is None:  # a watch may be long, and so may they be
                scope["headers"], request = [], request._replace(headers={}, body=b"")
            await self._stream(answer, asked, flow, exchange, receive, send, audited)
            return
        if len(answer.body) > compression.LEAST_BYTES and compression.is_wanted(request.headers, scope.get("client")):
            answer = await compression.compressed(self._api, answer)
        if exchange is None:
            await _send_whole(answer, flow, send, is_head=request.method == "HEAD")
        else:
            if exchange.is_behind:
                await exchange.drain()
            _answer_whole(answer, flow, exchange, is_head=request.method == "HEAD")

    async def _stream(
        self,
        answer: Stream,
        asked: Asked | None,
        flow: bytes,
        exchange: Exchange | None,
        receive: Receive,
        send: Send,
        audited: auditing.Audited | None,
    ) -> None:
        self._figures.note_watcher(asked, 1)
        try:
            if exchange is not None:
                answer.attach(exchange)
            await _send_stream(answer, flow, receive, send, self._stopping)
        finally:
            self._figures.note_watcher(asked, -1)
            self._limits.let_go(_current())
            if audited is not None:
                audited.end()

    def _request(self, scope: Scope, receive: Receive, exchange: Exchange | None, user: User, share: Share) -> Request:
        """The request. Its body is there, or takes its share of the room while it comes."""
        headers = dict(scope["headers"])
        whole = None if exchange is None else exchange.whole_body()
        body: bytes | Callable[[], Awaitable[bytes]]
        if headers.get(b"content-encoding", b"identity") != b"identity":
            body = _encoded
        elif whole is None or len(whole) > MAX_BODY_BYTES:
            body = lambda: self._waiting_for(lambda: _body(headers, receive, share))  # noqa: E731
        else:
            body = whole
        return Request(scope["method"], scope["path"], _query(scope), headers, body, user)

    def stop(self) -> None:
        """End all streams: clients go on from where they were, elsewhere or later."""
        self._stopping.set()

    async def _waiting_for(self, body: Callable[[], Awaitable[bytes]]) -> bytes:
        """A request that waits for its own body keeps nobody else out, and does not wait for ever."""
        task = _current()
        self._limits.hold(task)
        place = self._limits.leave(task)
        self._under_way.end(task)
        try:
            with self._deadline.running():
                return await body()
        except TimeoutError:
            raise errors.RequestTimeout(f"the body did not come within {self._patience:g} seconds: nothing was done") from None
        finally:
            self._under_way.begin(task)
            self._limits.come_back(task, place)
            self._limits.let_go(task)

    async def _authenticated(self, recognise: Recognise, scope: Scope, task: Task) -> User:
        """Who asks. While that is looked up, which may take long, the request is not counted as one that is under way."""
        self._under_way.end(task)
        try:
            with self._authenticating.running():
                return await recognise(scope)
        finally:
            self._under_way.begin(task)

    async def _with_user(self, request: Request, scope: Scope, audited: auditing.Audited | None, task: Task) -> Request:
        """The request with who asks, and as whom. It has its place by who really asks."""
        user = request.user
        if user is UNRECOGNISED and self._recognise is not None:
            user = await self._authenticated(self._recognise, scope, task)
        self._limits.begin(task, user, path=request.path, address=_address(scope))
        if audited is not None:
            request = audited.begin(request, user)
        if impersonation.is_meant(request.headers):
            wanted = impersonation.read(scope["headers"])
            if wanted is not None:
                user = await impersonation.assume(self._api.access, user, wanted)
                if audited is not None:
                    audited.note_impersonated(user)
        return request if user is request.user else request._replace(user=user)

    async def _answer(
        self, request: Request, scope: Scope, audited: auditing.Audited | None, task: Task
    ) -> tuple[Answer | Stream, Asked | None, bytes]:
        """The answer, and to what, as far as that was understood, and the headers that tell how it was sorted. It is counted."""
        clock, asked, flow = self._api.clock, None, b""
        began = clock.monotonic()
        try:
            is_plain = request.user is not UNRECOGNISED and audited is None
            if not is_plain or (scope.get("known") is None and impersonation.is_meant(request.headers)):
                request = await self._with_user(request, scope, audited, task)
            else:
                self._limits.begin(task, request.user, path=request.path, address=_address(scope))
            asked = routing.asked(self._api, request)
            if asked is None:
                flow = self._flows.headers_for_path(request.user, request.method, request.path)
            else:
                flow = self._flows.headers_for(request.user, asked)
                if asked.verb == "watch":
                    self._limits.hold(task)
            answer = await routing.answer_to(self._api, request, asked)
        except BaseException as error:  # noqa: BLE001 what is not answered is raised again
            answer = self._refused(error, request, audited, task)
        self._figures.note(request.method, asked, answer.code, clock.monotonic() - began)
        return answer if audited is None else audited.answer(answer), asked, flow

    def _refused(self, error: BaseException, request: Request, audited: auditing.Audited | None, task: Task) -> Answer:
        """The answer to a request that came to this end. It is raised again if it is cut off in the middle."""
        if isinstance(error, TimeoutError) or self._under_way.has_missed(task):
            todo = "try again" if request.method == "GET" else "read to see what was done"
            error = errors.OutcomeUnknown(f"the request did not finish in time: {todo}")
        if isinstance(error, errors.ApiError):
            if audited is not None:
                audited.refuse(error)
            return _refusal(error, request)
        if audited is not None:
            audited.panic()
        if not isinstance(error, Exception):
            raise error
        log.error("a request failed in a way nobody foresaw: %s %s", request.method, request.path, exc_info=error)
        return _refusal(errors.ApiError("an internal error occurred: the server's log says more"), request)


def _current() -> Task:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 there is always one where something can be awaited
    return task


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _query(scope: Scope) -> Query:
    asked = scope["query_string"]
    return parse_qs(asked.decode("latin-1"), keep_blank_values=True) if asked else {}


async def _encoded() -> bytes:
    raise errors.UnsupportedMediaType("the body is encoded (Content-Encoding), which nothing here can read: send it as it is")


async def _body(headers: dict[bytes, bytes], receive: Receive, share: Share) -> bytes:
    """The whole body; `TooLarge` as soon as it is known to be over the limit."""
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise errors.BadRequest("the client went away before its request was complete: nothing was done")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise _too_large()
        share.hold(size)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large() -> errors.TooLarge:
    return errors.TooLarge(f"the body is over the limit of {MAX_BODY_BYTES:,} bytes")


def _refusal(error: errors.ApiError, request: Request) -> Answer:
    later = error.details.retry_after_seconds
    headers = (("retry-after", str(later)),) if later else ()
    answer = Answer(error.code, orjson.dumps(status.failure(error)), negotiation.JSON, headers=headers)
    form = negotiation.of_refusal(request.headers.get(b"accept", b""))
    if form.is_protobuf:
        return responses.as_protobuf(answer)
    return responses.as_yaml(answer) if form.is_yaml else answer


def _answer_whole(answer: Answer, flow: bytes, exchange: Exchange, *, is_head: bool) -> None:
    about = _ABOUT % (next(_numbers), flow, answer.content_type.encode(), len(answer.body))
    if answer.headers or answer.warnings:
        about = lines(_headers(answer, flow))
    exchange.answer(answer.code, about, b"" if is_head else answer.body)


async def _send_whole(answer: Answer, flow: bytes, send: Send, *, is_head: bool) -> None:
    await send({"type": "http.response.start", "status": answer.code, "headers": _headers(answer, flow)})
    await send({"type": "http.response.body", "body": b"" if is_head else answer.body})


def _headers(answer: Answer, flow: bytes) -> list[tuple[bytes, bytes]]:
    """What is said about an answer. What it says itself comes in the place of what is said of all."""
    more = _more_headers(answer.headers, answer.warnings)
    said = {name for name, _ in more}
    usual = [(name, value) for name, value in ((b"audit-id", _RUN % next(_numbers)), _NOT_KEPT) if name not in said]
    about = [(b"content-type", answer.content_type.encode()), (b"content-length", b"%d" % len(answer.body))]
    return [*usual, *about, *flow_classification.pairs(flow), *more]


def _more_headers(headers: tuple[tuple[str, str], ...], warnings: tuple[str, ...]) -> list[tuple[bytes, bytes]]:
    """Those that not every answer has."""
    told = [(b"warning", value) for value in warning_headers.encoded(warnings)]
    return [*((name.encode(), value.encode()) for name, value in headers), *told]


async def _send_stream(answer: Stream, flow: bytes, receive: Receive, send: Send, stopping: asyncio.Event) -> None:
    """Send chunk by chunk until the stream ends, the client goes away, or the server stops."""
    headers = [
        (b"content-type", answer.content_type.encode()),
        (b"audit-id", answer.id.encode() or _RUN % next(_numbers)),
        _NOT_KEPT,
        *flow_classification.pairs(flow),
        *_more_headers((), answer.warnings),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    sending = asyncio.ensure_future(_send_chunks(answer.chunks, send))
    ends = (sending, asyncio.ensure_future(_left(receive)), asyncio.ensure_future(stopping.wait()))
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


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
