"""What is noted of one request while it is answered, and what becomes of that in the audit log, stage by stage.

`TRAIL` has that of the request that the code runs for. So those deep inside who have something to add need not be handed it: a
policy's annotations, which object was deleted. It is None while nothing is audited, and for requests that the policy leaves out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import orjson

from probate.api.audit import audit_event, policy, redaction
from probate.api.audit.audit_event import NOBODY, Known
from probate.api.audit.policy import Level
from probate.api.rbac.users import User
from probate.core import errors
from probate.server.audit import request_bodies
from probate.server.audit.request_bodies import Body

TRAIL: ContextVar[Trail | None] = ContextVar("trail", default=None)
ROUGHLY = 1_000
"""Bytes of an event, besides bodies."""
MAX_ANNOTATION = 10_000
_OF_MANY = {"list", "watch", "deletecollection"}

Object = dict[str, Any]


class Trail:
    """One request."""

    __slots__ = ("annotations", "body", "error", "impersonated", "media", "request")

    def __init__(self, request: audit_event.Request, media: str) -> None:
        self.request = request
        self.media = media
        self.body: bytes | None = None  # the request's, once it was read
        self.impersonated: User | None = None
        self.error: errors.ApiError | None = None  # by which it is refused
        self.annotations: dict[str, str] = {}

    def reading(self, read: Callable[[], Awaitable[bytes]]) -> Callable[[], Awaitable[bytes]]:
        """How the body is read: so that it is known here too, if it is to be written down."""
        if self.request.verdict.level < Level.REQUEST:
            return read

        async def read_body() -> bytes:
            self.body = await read()
            return self.body

        return read_body

    def note_decision(self, *, is_allowed: bool, reason: str) -> None:
        """Whether who asks may ask that."""
        self.annotations[audit_event.DECISION] = "allow" if is_allowed else "forbid"
        self.annotations[audit_event.REASON] = reason

    def refuse(self, error: errors.ApiError) -> None:
        """It is refused. If that is forbidden before anything was allowed, who asks may not."""
        self.error = error
        if isinstance(error, errors.Forbidden) and audit_event.DECISION not in self.annotations:
            self.note_decision(is_allowed=False, reason="")

    def annotate(self, said: Mapping[str, str]) -> None:
        """What webhooks and policies say. Of Secrets they may tell what nobody should read."""
        hidden = redaction.is_secret(self.request.asked)
        self.annotations |= {name: redaction.REDACTED if hidden else value[:MAX_ANNOTATION] for name, value in said.items()}

    def is_told(self, stage: str) -> bool:
        """Whether the policy wants this stage."""
        verdict = self.request.verdict
        return verdict.level is not Level.NONE and stage not in verdict.omitted


class Stage(NamedTuple):
    """A request at one stage, as an entry of the log."""

    trail: Trail
    stage: str
    moment: float
    code: int = 0
    answer: Body | None = None

    @property
    def events(self) -> int:
        return 1

    @property
    def size(self) -> int:
        answer = 0 if self.answer is None else len(self.answer.content)
        return ROUGHLY + len(self.trail.request.url) + len(self.trail.body or b"") + answer

    def lines(self) -> Iterable[bytes]:
        return (orjson.dumps(self.event()),)

    def event(self) -> Object:
        """The event."""
        trail, request = self.trail, self.trail.request
        if self.stage == policy.RECEIVED:
            return audit_event.event(request, self.stage, self.moment)
        found = audit_event.event(request, self.stage, self.moment, self._about())
        if trail.impersonated is not None:
            found["impersonatedUser"] = trail.impersonated.info
        annotations = dict(trail.annotations)
        self._add_status(found)
        if self.stage == policy.COMPLETE:
            self._add_objects(found, annotations)
        if annotations:
            found["annotations"] = annotations
        return found

    def _about(self) -> Known:
        """Which object was answered; of a request that made nothing, the one that it would have been about."""
        if self.answer is None or self.trail.request.asked.verb in _OF_MANY:
            return NOBODY
        return request_bodies.known(self.answer)

    def _add_status(self, found: Object) -> None:
        said: Any = None
        if self.answer is not None and b'"Status"' in self.answer.content[:60]:
            said = self._answered(orjson.loads(self.answer.content))
        is_ours = said is not None and said.get("apiVersion") == "v1"
        found["responseStatus"] = audit_event.response_status(self.code, said if is_ours else None)

    def _is_worded_by_others(self) -> bool:
        return isinstance(self.trail.error, errors.Denied) and redaction.is_secret(self.trail.request.asked)

    def _add_objects(self, found: Object, annotations: dict[str, str]) -> None:
        """What was sent and what was answered, as far as the policy wants it and it may be told."""
        trail, level = self.trail, self.trail.request.verdict.level
        asked, answer = trail.request.asked, self.answer
        if level >= Level.REQUEST and trail.body:
            sent = Body(trail.body, trail.media)
            self._put(found, annotations, "requestObject", lambda: redaction.of_request(asked, request_bodies.value(sent)))
        if level >= Level.REQUEST_RESPONSE and answer is not None and asked.resource:
            self._put(found, annotations, "responseObject", lambda: self._answered(request_bodies.value(answer)))

    def _answered(self, value: Any) -> Any:
        value = redaction.of_answer(self.trail.request.asked, value)
        return redaction.in_words_of_others(value) if self._is_worded_by_others() else value

    def _put(self, found: Object, annotations: dict[str, str], name: str, read: Callable[[], Any]) -> None:
        try:
            value = read()
        except request_bodies.TooLarge:
            annotations[audit_event.TRUNCATED] = "true"
        except request_bodies.Unreadable:
            pass  # it was refused for that
        else:
            omits = self.trail.request.verdict.omits_managed_fields
            found[name] = redaction.without_managed_fields(value) if omits else value
