"""What the server notes about one request while it answers it, and the audit events that it turns into, stage by stage.

`CURRENT_TRAIL` holds the trail of the request that the running code serves, so that code deep inside can add to it without passing
it around: the annotations of a policy, or which object was deleted. It is None while auditing is off, and for requests that the
policy excludes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import orjson

from probate.api.audit import audit_event, policy, redaction
from probate.api.audit.audit_event import NO_OBJECT, ObjectRef
from probate.api.audit.policy import Level
from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.core import errors
from probate.server.audit import request_bodies
from probate.server.audit.request_bodies import Body

CURRENT_TRAIL: ContextVar[AuditTrail | None] = ContextVar("trail", default=None)
EVENT_BYTES = 1_000
"""The approximate size of an event without bodies."""
MAX_ANNOTATION_LENGTH = 10_000
_COLLECTION_VERBS = {"list", "watch", "deletecollection"}


class AuditTrail:
    """The trail of one request."""

    __slots__ = ("annotations", "body", "error", "impersonated", "media", "request")

    def __init__(self, request: audit_event.Request, media: str) -> None:
        self.request = request
        self.media = media
        self.body: bytes | None = None  # the request's body, once it was read
        self.impersonated: User | None = None
        self.error: errors.ApiError | None = None  # why the request is refused
        self.annotations: dict[str, str] = {}

    def recording(self, read: Callable[[], Awaitable[bytes]]) -> Callable[[], Awaitable[bytes]]:
        """Returns a function that reads the body, and records it if the policy wants request bodies."""
        if self.request.config.level < Level.REQUEST:
            return read

        async def read_body() -> bytes:
            self.body = await read()
            return self.body

        return read_body

    def set_decision(self, *, is_allowed: bool, reason: str) -> None:
        """Records whether RBAC allows the request."""
        self.annotations[audit_event.DECISION] = "allow" if is_allowed else "forbid"
        self.annotations[audit_event.REASON] = reason

    def set_error(self, error: errors.ApiError) -> None:
        """Records why the request is refused. If it is forbidden before anything was allowed, RBAC refused it."""
        self.error = error
        if isinstance(error, errors.Forbidden) and audit_event.DECISION not in self.annotations:
            self.set_decision(is_allowed=False, reason="")

    def annotate(self, annotations: Mapping[str, str]) -> None:
        """Adds annotations of webhooks and policies. For Secrets their values are redacted, as they may quote the Secret."""
        hidden = redaction.is_about_secrets(self.request.info)
        self.annotations |= {
            name: redaction.REDACTED if hidden else value[:MAX_ANNOTATION_LENGTH] for name, value in annotations.items()
        }

    def is_wanted(self, stage: str) -> bool:
        """Returns whether the policy wants an event at this stage."""
        verdict = self.request.config
        return verdict.level is not Level.NONE and stage not in verdict.omitted_stages


class StageEntry(NamedTuple):
    """A request at one stage, as an entry of the log."""

    trail: AuditTrail
    stage: str
    timestamp: float
    code: int = 0
    answer: Body | None = None

    @property
    def events(self) -> int:
        return 1

    @property
    def size(self) -> int:
        answer = 0 if self.answer is None else len(self.answer.content)
        return EVENT_BYTES + len(self.trail.request.url) + len(self.trail.body or b"") + answer

    def lines(self) -> Iterable[bytes]:
        return (orjson.dumps(self.event()),)

    def event(self) -> Object:
        """Returns the audit event."""
        trail, request = self.trail, self.trail.request
        if self.stage == policy.RECEIVED:
            return audit_event.build_event(request, self.stage, self.timestamp)
        event = audit_event.build_event(request, self.stage, self.timestamp, object_ref=self._object_info())
        if trail.impersonated is not None:
            event["impersonatedUser"] = trail.impersonated.info
        annotations = dict(trail.annotations)
        self._add_status(event)
        if self.stage == policy.COMPLETE:
            self._add_objects(event, annotations)
        if annotations:
            event["annotations"] = annotations
        return event

    def _object_info(self) -> ObjectRef:
        """Returns which object was answered. For a request on many objects there is none."""
        if self.answer is None or self.trail.request.info.verb in _COLLECTION_VERBS:
            return NO_OBJECT
        return request_bodies.object_info(self.answer)

    def _add_status(self, event: Object) -> None:
        status: Any = None
        if self.answer is not None and b'"Status"' in self.answer.content[:60]:
            status = self._redacted_answer(orjson.loads(self.answer.content))
        is_ours = status is not None and status.get("apiVersion") == "v1"
        event["responseStatus"] = audit_event.response_status(self.code, status if is_ours else None)

    def _is_text_by_others(self) -> bool:
        return isinstance(self.trail.error, errors.Denied) and redaction.is_about_secrets(self.trail.request.info)

    def _add_objects(self, event: Object, annotations: dict[str, str]) -> None:
        """Adds the objects of request and response, as far as the policy wants them and they may be recorded."""
        trail, level = self.trail, self.trail.request.config.level
        asked, answer = trail.request.info, self.answer
        if level >= Level.REQUEST and trail.body:
            sent = Body(trail.body, trail.media)
            self._put(
                event, annotations, "requestObject", read=lambda: redaction.redact_request(asked, request_bodies.decode_body(sent))
            )
        if level >= Level.REQUEST_RESPONSE and answer is not None and asked.resource:
            self._put(event, annotations, "responseObject", read=lambda: self._redacted_answer(request_bodies.decode_body(answer)))

    def _redacted_answer(self, value: Any) -> Any:
        value = redaction.redact_response(self.trail.request.info, value)
        return redaction.redact_status(value) if self._is_text_by_others() else value

    def _put(self, event: Object, annotations: dict[str, str], name: str, *, read: Callable[[], Any]) -> None:
        try:
            value = read()
        except request_bodies.TooLarge:
            annotations[audit_event.TRUNCATED] = "true"
        except request_bodies.Unreadable:
            pass  # the request was refused for that
        else:
            omits = self.trail.request.config.omit_managed_fields
            event[name] = redaction.remove_managed_fields(value) if omits else value
