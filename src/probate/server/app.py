"""App: the ASGI application. One request in, one response or stream out. Every error leaves as a `Status`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from probate.api.rbac.users import NOT_AUTHENTICATED, UNSECURED, User
from probate.core import errors
from probate.core.aio.deadlines import Deadline, Task
from probate.core.logs import facts
from probate.http.header_cache import CachedHeaders
from probate.http.memory_limits import MAX_BODIES_MEMORY, MemoryBudget, MemoryShare
from probate.http.request_cycle import RequestCycle
from probate.server import body_reader, response_writer, routing
from probate.server.audit import request_audit as auditing
from probate.server.authz import impersonation
from probate.server.codec import compression
from probate.server.context import ServerContext
from probate.server.query import Query
from probate.server.request import Request, RequestInfo
from probate.server.request_limits import MAX_IN_FLIGHT, RequestLimits
from probate.server.response import Response, StreamingResponse
from probate.server.response_writer import Receive, Send
from probate.server.tenants import tenant_requests
from probate.server.tenants.tenant_requests import NoTenantViews, TenantViews
from probate.server.timeouts import REQUEST_TIMEOUT_SECONDS
from probate.settings import DEFAULT_PATIENCE

Scope: TypeAlias = MutableMapping[str, Any]
Authenticate: TypeAlias = Callable[[Scope], Awaitable[User]]
"""Returns the user that a request is from. Raises `Unauthorized` if its credentials are not valid."""
AuthenticateCached: TypeAlias = Callable[[Scope], User | None]
"""Fast path of `Authenticate`: returns the user if these credentials were checked before and are unchanged, else None."""

MAX_BODY_BYTES = 3 * 1024 * 1024

log = logging.getLogger(__name__)


class App:
    """The ASGI application of one server."""

    def __init__(
        self,
        context: ServerContext,
        *,
        body_timeout: float = DEFAULT_PATIENCE,
        authenticate: Authenticate | None = None,
        authenticate_cached: AuthenticateCached = lambda _: None,
        request_limits: RequestLimits | None = None,
        tenants: TenantViews | None = None,
    ) -> None:
        self._api = context
        self._tenants = NoTenantViews() if tenants is None else tenants
        self._authenticate = authenticate
        self._authenticate_cached = authenticate_cached if authenticate is not None else lambda _: UNSECURED
        self._body_timeout = body_timeout
        self.limit_log = context.limit_log
        self._under_way = Deadline(REQUEST_TIMEOUT_SECONDS)
        self._authenticating = Deadline(REQUEST_TIMEOUT_SECONDS)
        self._limits = request_limits or RequestLimits(context.limit_log)
        self._body_deadline = Deadline(body_timeout)
        self._body_memory = MemoryBudget("bodies", MAX_BODIES_MEMORY)
        self._stopping = asyncio.Event()
        self._metrics, self._flows = context.metrics, context.flow_classifier
        self._register_gauges()

    def _register_gauges(self) -> None:
        registry = self._metrics.registry
        about = "Requests that are being handled, without watches and without requests whose body has not arrived yet."
        registry.gauge("apiserver_current_inflight_requests", about, lambda: len(self._under_way))
        about = "Of all requests that may run at the same time, those that are reserved for a priority level by its shares."
        seats = "apiserver_flowcontrol_nominal_limit_seats"
        registry.gauges(seats, about, ("priority_level",), read=lambda: self._flows.seats(MAX_IN_FLIGHT))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        cycle: RequestCycle | None = scope.get("exchange")
        cached_headers: CachedHeaders | None = scope.get("known")
        user, share = self._authenticate_cached(scope) or NOT_AUTHENTICATED, None
        if cycle is not None and cached_headers is not None:
            request = Request(scope["method"], scope["path"], _query(scope), cached_headers.by_name, bytes(cycle.body), user)
        else:
            share = MemoryShare(self._body_memory)
            request = self._request(scope, receive, cycle, user=user, share=share)
        audited = None if self._api.audit.log is None else auditing.RequestAudit(self._api.audit.log, request, scope)
        task = _current_task() if cycle is None else cycle.task
        response: Response | StreamingResponse | None = None
        self._under_way.begin(task)
        try:
            response, info, flow_headers = await self._respond(request, scope, audited, task=task)
        finally:
            self._under_way.end(task)
            self._limits.end(task, is_watching=isinstance(response, StreamingResponse))
            if share is not None:
                share.release()
        if isinstance(response, StreamingResponse):
            if audited is None:  # frees the headers and the body, which a watch would hold for as long as it runs
                scope["headers"], request = [], request._replace(headers={}, body=b"")
            await self._stream(response, info, flow_headers, cycle=cycle, receive=receive, send=send, audited=audited)
            return
        if len(response.body) > compression.LEAST_BYTES and compression.is_wanted(request.headers, scope.get("client")):
            response = await compression.compressed(self._api.offloader, response)
        if cycle is None:
            await response_writer.send_response(response, flow_headers, send, is_head=request.method == "HEAD")
        else:
            if cycle.is_write_paused:
                await cycle.drain()
            response_writer.write_response(response, flow_headers, cycle, is_head=request.method == "HEAD")

    async def _stream(
        self,
        response: StreamingResponse,
        info: RequestInfo | None,
        flow_headers: bytes,
        *,
        cycle: RequestCycle | None,
        receive: Receive,
        send: Send,
        audited: auditing.RequestAudit | None,
    ) -> None:
        self._metrics.record_watch(info, 1)
        try:
            if cycle is not None:
                response.attach(cycle)
            await response_writer.send_stream(response, flow_headers, receive, send=send, stopping=self._stopping)
        finally:
            self._metrics.record_watch(info, -1)
            self._limits.release_connection(_current_task())
            if audited is not None:
                audited.end()

    def _request(self, scope: Scope, receive: Receive, cycle: RequestCycle | None, *, user: User, share: MemoryShare) -> Request:
        """Parses the request. A body that has not arrived yet is read later, and takes its memory from `share`."""
        headers = dict(scope["headers"])
        complete_body = None if cycle is None else cycle.complete_body()
        body: bytes | Callable[[], Awaitable[bytes]]
        if headers.get(b"content-encoding", b"identity") != b"identity":
            body = body_reader.reject_encoded_body
        elif complete_body is None or len(complete_body) > MAX_BODY_BYTES:
            body = lambda: self._wait_for_body(lambda: body_reader.read_body(headers, receive, share, max_bytes=MAX_BODY_BYTES))  # noqa: E731
        else:
            body = complete_body
        return Request(scope["method"], scope["path"], _query(scope), headers, body, user)

    def stop(self) -> None:
        """Ends all streams. Clients resume their watches elsewhere, or later."""
        self._stopping.set()

    async def _wait_for_body(self, read_body: Callable[[], Awaitable[bytes]]) -> bytes:
        """Reads the body within the body timeout. Meanwhile the request does not count against the request limits."""
        task = _current_task()
        self._limits.hold_connection(task)
        place = self._limits.suspend(task)
        self._under_way.end(task)
        try:
            with self._body_deadline.timeout():
                return await read_body()
        except TimeoutError:
            message = f"the body did not arrive within {self._body_timeout:g} seconds: nothing was done"
            raise errors.RequestTimeout(message) from None
        finally:
            self._under_way.begin(task)
            self._limits.resume(task, place)
            self._limits.release_connection(task)

    async def _run_authentication(self, authenticate: Authenticate, scope: Scope, task: Task) -> User:
        """Authenticates the request. That may take long, so meanwhile the request does not count as in flight."""
        self._under_way.end(task)
        try:
            with self._authenticating.timeout():
                return await authenticate(scope)
        finally:
            self._under_way.begin(task)

    async def _with_user(self, request: Request, scope: Scope, audited: auditing.RequestAudit | None, *, task: Task) -> Request:
        """Authenticates the request and applies impersonation. Request limits apply to the authenticated user."""
        user = request.user
        if user is NOT_AUTHENTICATED and self._authenticate is not None:
            user = await self._run_authentication(self._authenticate, scope, task)
        self._limits.begin(task, user, path=request.path, address=_address(scope))
        if audited is not None:
            request = audited.begin(request, user)
        if not user.tenant:
            user = await self._impersonated(self._api, user, request, scope=scope, audited=audited)
        return request if user is request.user else request._replace(user=user)

    async def _impersonated(
        self, context: ServerContext, user: User, request: Request, *, scope: Scope, audited: auditing.RequestAudit | None
    ) -> User:
        """Returns the user that the request impersonates, else the user itself."""
        impersonated = impersonation.parse(scope["headers"]) if impersonation.may_have_headers(request.headers) else None
        if impersonated is None:
            return user
        user = await impersonation.impersonate(context.authorizer, user, impersonated)
        if audited is not None:
            audited.set_impersonated_user(user)
        return user

    async def _respond(
        self, request: Request, scope: Scope, audited: auditing.RequestAudit | None, *, task: Task
    ) -> tuple[Response | StreamingResponse, RequestInfo | None, bytes]:
        """Handles the request. Returns the response, the request info as far as it was resolved, and the flow headers."""
        clock, info, flow_headers = self._api.clock, None, b""
        began = clock.monotonic()
        try:
            is_plain = request.user is not NOT_AUTHENTICATED and audited is None
            if not is_plain or (scope.get("known") is None and impersonation.may_have_headers(request.headers)):
                request = await self._with_user(request, scope, audited, task=task)
            else:
                self._limits.begin(task, request.user, path=request.path, address=_address(scope))
            if request.user.tenant:
                response, info, flow_headers = await self._respond_to_tenant(request, scope, audited, task=task)
            else:
                info = routing.resolve(self._api, request)
                flow_headers = self._admit(request.user, request, info, task=task)
                response = await routing.handle_resolved(self._api, request, info)
        except BaseException as error:  # noqa: BLE001 `_handle_error` raises again what is not an error response
            response = self._handle_error(error, request, audited, task=task)
        self._metrics.record_request(request.method, info, response.code, seconds=clock.monotonic() - began)
        return response if audited is None else audited.record_answer(response), info, flow_headers

    def _admit(self, user: User, request: Request, info: RequestInfo | None, *, task: Task) -> bytes:
        """Returns the flow headers of the request. A watch holds its connection from now on."""
        if info is None:
            return self._flows.headers_for_path(user, request.method, request.path)
        if info.verb == "watch":
            self._limits.hold_connection(task)
        return self._flows.headers_for(user, info)

    async def _respond_to_tenant(
        self, request: Request, scope: Scope, audited: auditing.RequestAudit | None, *, task: Task
    ) -> tuple[Response | StreamingResponse, RequestInfo | None, bytes]:
        """Handles the request of a tenant's user in the tenant's view. Limits and flows know the user by its physical name."""
        sender = request.user
        context, user = await self._tenants.view(sender)
        if audited is not None:
            audited.set_tenant(sender.tenant, user)
        acting = await self._impersonated(context, user, request, scope=scope, audited=audited)
        request = request._replace(user=user if acting is user else tenant_requests.without_masters(acting))
        request = tenant_requests.without_path_of(sender.tenant, request)
        info = tenant_requests.resolve(context, request)
        flow_headers = self._admit(sender, request, info, task=task)
        response = await tenant_requests.handle(context, request, info)
        if isinstance(response, StreamingResponse):
            response = self._tenants.keep_open(sender.tenant, response)
        return response, tenant_requests.measured_info(info), flow_headers

    def _handle_error(
        self, error: BaseException, request: Request, audited: auditing.RequestAudit | None, *, task: Task
    ) -> Response:
        """Returns the response to a request that failed. Raises the error again if it is a cancellation."""
        if isinstance(error, TimeoutError) or self._under_way.has_missed(task):
            hint = "try again" if request.method == "GET" else "read to see what was done"
            error = errors.OutcomeUnknown(f"the request did not finish in time: {hint}")
        if isinstance(error, errors.ApiError):
            if audited is not None:
                audited.record_error(error)
            return response_writer.error_response(error, request)
        if audited is not None:
            audited.panic()
        if not isinstance(error, Exception):
            raise error
        log.error("request failed with an unexpected error", exc_info=error, extra=facts(method=request.method, path=request.path))
        return response_writer.error_response(errors.ApiError("an internal error occurred: the server's log says more"), request)


def _current_task() -> Task:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 coroutines always run in a task
    return task


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _query(scope: Scope) -> Query:
    query_string = scope["query_string"]
    return parse_qs(query_string.decode("latin-1"), keep_blank_values=True) if query_string else {}
