"""The audit log of one server: selects what to record by the audit policy, and passes it to the writer.

    trail = audit.begin(…)                        a request and its user are known
    audit.log_response_complete(trail, code, …)   the request was answered

Nothing here blocks. The slow work is done on the writer's thread: there bodies are read, and events created and written.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from probate.api.audit import audit_event, policy, request_info
from probate.api.audit.policy import LEVEL_NAMES, AuditConfig, Level, Policy
from probate.api.audit.request_info import RequestInfo
from probate.api.rbac.users import INTERNAL, User
from probate.core import errors
from probate.core.clock import Clock
from probate.core.metrics import Family, LabelValues, Registry
from probate.server.audit.deletion_causes import DeletionCauses, DeletionRecord
from probate.server.audit.log_file import LogSink
from probate.server.audit.log_writer import MAX_EVENTS, RETRY_SECONDS, Entry, Gap, LogWriter
from probate.server.audit.request_bodies import Body
from probate.server.audit.request_trail import CURRENT_TRAIL, EVENT_BYTES, AuditTrail, StageEntry
from probate.server.codec import negotiation

MAX_USER_AGENT_BYTES = 1024
MAX_FORWARDED_ADDRESSES = 10
_READ_VERBS = {"get", "list", "watch", "head", "options"}


class IncomingRequest(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[bytes, bytes]
    url: str
    address: str = ""


class BulkContext(NamedTuple):
    """What the entries of bulk actions need: the policy, event ids and the causes of deletions."""

    policy: Policy
    new_id: Callable[[], str]
    causes: DeletionCauses


class DeletionEntry(NamedTuple):
    """An entry that writes no line but records a cause: a request is about to delete this object."""

    causes: DeletionCauses
    uid: str
    record: DeletionRecord

    @property
    def events(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return EVENT_BYTES

    def lines(self) -> Iterable[bytes]:
        self.causes.record(self.uid, self.record)
        return ()


class GapEntry(NamedTuple):
    """An entry that says how many events are missing at this place."""

    id: str
    gap: Gap

    @property
    def events(self) -> int:
        return 1

    @property
    def size(self) -> int:
        return EVENT_BYTES

    def lines(self) -> Iterable[bytes]:
        request = audit_event.Request(self.id, AuditConfig(Level.METADATA), RequestInfo("lost", ""), "", INTERNAL, self.gap.first)
        event = audit_event.build_event(request, policy.PANIC, self.gap.last)
        yield orjson.dumps({**event, "annotations": {audit_event.LOST: str(self.gap.number)}})


class AuditLog:
    """One audit log. If `is_strict`, the server refuses requests that it cannot audit."""

    def __init__(  # noqa: PLR0913 all dependencies and settings
        self,
        policy_: Policy,
        sink: LogSink,
        clock: Clock,
        *,
        new_id: Callable[[], str],
        metrics: Registry,
        is_strict: bool = False,
        retry: float = RETRY_SECONDS,
        max_events: int = MAX_EVENTS,
    ) -> None:
        self.policy = policy_
        self.is_strict = is_strict
        self._clock = clock
        self._new_id = new_id
        self.writer = LogWriter(sink, clock.now, lambda gap: GapEntry(new_id(), gap), retry_seconds=retry, max_events=max_events)
        self.bulk_context = BulkContext(policy_, new_id, DeletionCauses())
        self._levels = dict.fromkeys(LEVEL_NAMES, 0)
        self._rejected = 0
        metrics.add(self._metrics)

    def begin(self, incoming: IncomingRequest, user: User | None) -> AuditTrail | None:
        """Starts the trail of a request of this user; None if nothing of it has to be recorded.

        Raises `StoreUnavailable` if a strict log has no capacity. A request that may delete something gets a trail even if the
        policy excludes it, so that the deletions that follow can name its user.
        """
        asked = request_info.parse_request(incoming.method, incoming.path, incoming.query)
        verdict = self.policy.evaluate(user, asked)
        self._levels[verdict.level] += 1
        if verdict.level is Level.NONE:
            return None if asked.verb in _READ_VERBS else AuditTrail(audit_event.Request("", verdict, asked, "", user, 0.0), "")
        self.check_capacity()
        agent = incoming.headers.get(b"user-agent", b"")[:MAX_USER_AGENT_BYTES].decode("latin-1")
        request = audit_event.Request(
            self._new_id(),
            verdict,
            asked,
            incoming.url,
            user,
            self._clock.now(),
            _addresses(incoming.headers, incoming.address),
            agent,
        )
        trail = AuditTrail(request, negotiation.media_type(incoming.headers.get(b"content-type", b"")))
        if user is not None and trail.is_wanted(policy.RECEIVED):
            self.writer.put(StageEntry(trail, policy.RECEIVED, request.received))
        return trail

    def check_capacity(self) -> None:
        """Raises `StoreUnavailable` if the log is strict and what happens now could not be recorded."""
        if self.is_strict and not self.writer.has_capacity:
            self._rejected += 1
            raise errors.StoreUnavailable(
                "the request cannot be audited at the moment, so nothing was done. Please try again later"
            )

    def log_response_started(self, trail: AuditTrail, code: int) -> None:
        """Records that a stream begins, or that an unauthenticated request is refused."""
        self._put(trail, policy.STARTED, code, answer=None)

    def log_response_complete(self, trail: AuditTrail, code: int, answer: Body | None = None) -> None:
        """Records that a request is answered."""
        if trail.request.user is None:
            self._put(trail, policy.STARTED, code, answer=answer)
        else:
            self._put(trail, policy.COMPLETE, code, answer=answer)

    def log_panic(self, trail: AuditTrail, code: int = 500) -> None:
        """Records that a request failed unexpectedly, or was cut off."""
        self._put(trail, policy.PANIC, code, answer=None)

    def _put(self, trail: AuditTrail, stage: str, code: int, *, answer: Body | None) -> None:
        if trail.is_wanted(stage):
            self.writer.put(StageEntry(trail, stage, self._clock.now(), code, answer))

    def note_deletion(self, resource: str, namespace: str, name: str, *, uid: str) -> None:
        """Records that the current request is about to delete this object."""
        trail = CURRENT_TRAIL.get()
        user = None if trail is None else trail.impersonated or trail.request.user
        if trail is not None and user is not None:
            record = DeletionRecord(resource, namespace, name, user=user.name, request=trail.request.id)
            self.writer.put(DeletionEntry(self.bulk_context.causes, uid, record))

    def add(self, entry: Entry) -> None:
        """Adds an entry, for example for bulk actions."""
        self.writer.put(entry)

    @property
    def refusal_reason(self) -> str | None:
        """Returns why a strict log refuses requests, or None if it does not."""
        if not self.is_strict or self.writer.has_capacity:
            return None
        return f"requests cannot be audited: {self.writer.write_error or 'events arrive faster than they can be written'}"

    async def close(self) -> None:
        """Writes the remaining entries."""
        await self.writer.close()

    def _metrics(self) -> Iterable[Family]:
        writer = self.writer
        yield Family("counter", "apiserver_audit_event", "Events written to the audit log.", (), {(): writer.written_events})
        levels: dict[LabelValues, float] = {(LEVEL_NAMES[level],): float(number) for level, number in self._levels.items()}
        yield Family(
            "counter", "apiserver_audit_level", "Requests by the level that the audit policy gives them.", ("level",), levels
        )
        lost: dict[LabelValues, float] = {("room",): float(writer.lost_events), ("failure",): float(writer.encoding_failures)}
        yield Family("counter", "probate_audit_events_lost", "Events that are not in the audit log.", ("cause",), lost)
        yield Family(
            "counter",
            "probate_audit_write_failures",
            "Attempts to write the audit log that failed.",
            (),
            {(): writer.write_failures},
        )
        rejected = "Requests that were refused because they could not be audited."
        yield Family("counter", "apiserver_audit_requests_rejected", rejected, (), {(): self._rejected})
        yield Family("gauge", "probate_audit_queue_length", "Events waiting to be written.", (), {(): writer.queued_events})


def _addresses(headers: Mapping[bytes, bytes], address: str) -> tuple[str, ...]:
    """Returns the addresses that a request comes from. The last one is the client's; the others are from X-Forwarded-For."""
    forwarded = (
        headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")[:MAX_FORWARDED_ADDRESSES]
        if b"x-forwarded-for" in headers
        else []
    )
    addresses = [address_text.strip() for address_text in forwarded if _is_address(address_text.strip())]
    return (*addresses, address) if address else tuple(addresses)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
