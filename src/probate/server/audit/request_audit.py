"""Audits one request, from HTTP or from the server's own controllers, as it passes through its stages.

There is a `RequestAudit` for each request while any audit log is open. Whether this request is audited is known once its user is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from contextvars import Token
from typing import Any
from urllib.parse import quote

from probate.api.audit import audit_event
from probate.api.audit.policy import Level
from probate.api.rbac.users import User
from probate.core import errors
from probate.server.audit.audit_log import AuditLog, IncomingRequest
from probate.server.audit.request_bodies import Body
from probate.server.audit.request_trail import CURRENT_TRAIL, AuditTrail
from probate.server.codec.negotiation import media_type
from probate.server.request import Request
from probate.server.response import Response, StreamingResponse

HEADER = "audit-id"
FIRST_ERROR_CODE = 400


class RequestAudit:
    """The audit of one request."""

    def __init__(self, audit: AuditLog, request: Request, scope: Mapping[str, Any]) -> None:
        self._audit = audit
        self._incoming = _incoming(request, scope)
        self._trail: AuditTrail | None = None
        self._is_known = self._is_over = False
        self._token: Token[AuditTrail | None] | None = None

    def begin(self, request: Request, user: User) -> Request:
        """Starts the trail, as the user is known now. Returns the request with a body reader that also records the body."""
        self._is_known = True
        self._trail = trail = self._audit.begin(self._incoming, user)
        self._token = CURRENT_TRAIL.set(trail)
        return request if trail is None else request._replace(body=trail.recording(request.read_body))

    def set_impersonated_user(self, user: User) -> None:
        """Records whom the request impersonates."""
        if self._trail is not None:
            self._trail.impersonated = user

    def set_tenant(self, tenant: str, user: User) -> None:
        """Records that the request is handled in the view of a tenant, in which the user has this name."""
        if self._trail is not None:
            self._trail.annotations |= audit_event.tenant_annotations(tenant, user)

    def record_error(self, error: errors.ApiError) -> None:
        """Records that the request is refused."""
        if not self._is_known:
            self._is_known = True
            with suppress(errors.ApiError):  # a full strict log refuses it too, but it is refused already
                self._trail = self._audit.begin(self._incoming, None)
        if self._trail is not None:
            self._trail.set_error(error)

    def panic(self) -> None:
        """Records that the request failed unexpectedly, or was cut off."""
        self._reset_trail()
        if self._trail is not None:
            self._is_over = True
            self._audit.log_panic(self._trail)

    def record_answer(self, answer: Response | StreamingResponse) -> Response | StreamingResponse:
        """Records the answer. Returns it with its audit id."""
        self._reset_trail()
        trail = self._trail
        if trail is None:
            return answer
        if isinstance(answer, StreamingResponse):
            self._audit.log_response_started(trail, answer.code)
            return answer._replace(audit_id=trail.request.id)
        if not self._is_over:
            self._audit.log_response_complete(trail, answer.code, _body_to_record(trail, answer))
        id_ = trail.request.id
        return answer._replace(headers=(*answer.headers, (HEADER, id_))) if id_ else answer

    def end(self) -> None:
        """Records that a stream has ended."""
        if self._trail is not None:
            self._audit.log_response_complete(self._trail, 200)

    def _reset_trail(self) -> None:
        if self._token is not None:
            CURRENT_TRAIL.reset(self._token)
            self._token = None


def _body_to_record(trail: AuditTrail, answer: Response) -> Body | None:
    """Returns what the event needs of the answer. A list that the policy does not record needs nothing."""
    is_single_object = bool(trail.request.info.resource) and trail.request.info.verb not in {"list", "deletecollection"}
    is_recorded = trail.request.config.level >= Level.REQUEST_RESPONSE and bool(trail.request.info.resource)
    if not is_single_object and not is_recorded and answer.code < FIRST_ERROR_CODE:
        return None
    return Body(answer.json_body) if answer.json_body else Body(answer.body, media_type(answer.content_type.encode()))


def _incoming(request: Request, scope: Mapping[str, Any]) -> IncomingRequest:
    raw, query = scope.get("raw_path"), scope.get("query_string", b"")
    path = quote(request.path) if raw is None else raw.decode("latin-1")
    url = f"{path}?{query.decode('latin-1')}" if query else path
    address = scope.get("client") or ("",)
    return IncomingRequest(request.method, request.path, request.query, request.headers, url, str(address[0]))
