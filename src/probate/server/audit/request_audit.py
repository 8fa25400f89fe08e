"""One request on its way through the door, and through our own: what of it the audit log is told, and when.

There is one for each request while something is audited at all. Whether this request is, is known once it is known who asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from contextvars import Token
from typing import Any
from urllib.parse import quote

from probate.api.audit.policy import Level
from probate.api.rbac.users import User
from probate.core import errors
from probate.server.audit.audit_log import Audit, Told
from probate.server.audit.request_bodies import Body
from probate.server.audit.request_trail import TRAIL, Trail
from probate.server.codec.negotiation import media_type
from probate.server.context import Answer, Stream
from probate.server.request import Request

HEADER = "audit-id"
REFUSED = 400


class Audited:
    """One request."""

    def __init__(self, audit: Audit, request: Request, scope: Mapping[str, Any]) -> None:
        self._audit = audit
        self._told = _told(request, scope)
        self._trail: Trail | None = None
        self._is_known = self._is_over = False
        self._token: Token[Trail | None] | None = None

    def begin(self, request: Request, user: User) -> Request:
        """It is known who asks: the request, with its body read so that the log knows it too."""
        self._is_known = True
        self._trail = trail = self._audit.begin(self._told, user)
        self._token = TRAIL.set(trail)
        return request if trail is None else request._replace(body=trail.reading(request.read_body))

    def note_impersonated(self, user: User) -> None:
        """They ask as somebody else."""
        if self._trail is not None:
            self._trail.impersonated = user

    def refuse(self, error: errors.ApiError) -> None:
        """It is refused."""
        if not self._is_known:
            self._is_known = True
            with suppress(errors.ApiError):  # it is refused already
                self._trail = self._audit.begin(self._told, None)
        if self._trail is not None:
            self._trail.refuse(error)

    def panic(self) -> None:
        """It failed in a way nobody foresaw, or is cut off."""
        self._leave()
        if self._trail is not None:
            self._is_over = True
            self._audit.panicked(self._trail)

    def answer(self, answer: Answer | Stream) -> Answer | Stream:
        """It is answered: the answer, which says under which id it is in the log."""
        self._leave()
        trail = self._trail
        if trail is None:
            return answer
        if isinstance(answer, Stream):
            self._audit.started(trail, answer.code)
            return answer._replace(id=trail.request.id)
        if not self._is_over:
            self._audit.complete(trail, answer.code, _kept(trail, answer))
        id_ = trail.request.id
        return answer._replace(headers=(*answer.headers, (HEADER, id_))) if id_ else answer

    def end(self) -> None:
        """A stream has ended."""
        if self._trail is not None:
            self._audit.complete(self._trail, 200)

    def _leave(self) -> None:
        if self._token is not None:
            TRAIL.reset(self._token)
            self._token = None


def _kept(trail: Trail, answer: Answer) -> Body | None:
    """What is needed of the answer: of a list nobody wants to see, nothing."""
    is_one = bool(trail.request.asked.resource) and trail.request.asked.verb not in {"list", "deletecollection"}
    is_wanted = trail.request.verdict.level >= Level.REQUEST_RESPONSE and bool(trail.request.asked.resource)
    if not is_one and not is_wanted and answer.code < REFUSED:
        return None
    return Body(answer.said) if answer.said else Body(answer.body, media_type(answer.content_type.encode()))


def _told(request: Request, scope: Mapping[str, Any]) -> Told:
    raw, query = scope.get("raw_path"), scope.get("query_string", b"")
    path = quote(request.path) if raw is None else raw.decode("latin-1")
    url = f"{path}?{query.decode('latin-1')}" if query else path
    address = scope.get("client") or ("",)
    return Told(request.method, request.path, request.query, request.headers, url, str(address[0]))
