"""The audit log of one server: takes what happens, asks the policy how much of it is wanted, and hands that to the writer.

    trail = audit.begin(…)            a request is known, and by whom it is
    audit.complete(trail, answer)     it was answered

Nothing here waits for anything. What takes time is done on the writer's thread: bodies are read there, events made and written.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from probate.api.audit import audit_event, policy
from probate.api.audit import request_info as asking
from probate.api.audit.policy import NAMES, Level, Policy, Verdict
from probate.api.audit.request_info import Asked
from probate.api.rbac.users import INTERNAL, User
from probate.core import errors
from probate.core.clock import Clock
from probate.core.metrics import Family, Labels, Registry
from probate.server.audit.deletion_causes import Fall, Falls
from probate.server.audit.log_file import Out
from probate.server.audit.log_writer import MAX_EVENTS, RETRY_SECONDS, Entry, Gap, Writer
from probate.server.audit.request_bodies import Body
from probate.server.audit.request_trail import ROUGHLY, TRAIL, Stage, Trail
from probate.server.codec import negotiation

MAX_AGENT = 1024
MAX_FORWARDED = 10
_READS = {"get", "list", "watch", "head", "options"}


class Told(NamedTuple):
    """A request as it came in."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[bytes, bytes]
    url: str
    address: str = ""


class Books(NamedTuple):
    """What is needed to tell of what was done in bulk."""

    policy: Policy
    new_id: Callable[[], str]
    falls: Falls


class Going(NamedTuple):
    """An entry that says nothing, but is remembered: an object is about to be deleted by somebody's request."""

    falls: Falls
    uid: str
    fall: Fall

    @property
    def events(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return ROUGHLY

    def lines(self) -> Iterable[bytes]:
        self.falls.note(self.uid, self.fall)
        return ()


class Missing(NamedTuple):
    """An entry that says how many events are missing at this place."""

    id: str
    gap: Gap

    @property
    def events(self) -> int:
        return 1

    @property
    def size(self) -> int:
        return ROUGHLY

    def lines(self) -> Iterable[bytes]:
        about = audit_event.Request(self.id, Verdict(Level.METADATA), Asked("lost", ""), "", INTERNAL, self.gap.first)
        found = audit_event.event(about, policy.PANIC, self.gap.last)
        yield orjson.dumps({**found, "annotations": {audit_event.LOST: str(self.gap.number)}})


class Audit:
    """One log. With `is_strict`, what could not be written down is refused."""

    def __init__(  # noqa: PLR0913 whatever it may need is given here
        self,
        policy_: Policy,
        out: Out,
        clock: Clock,
        new_id: Callable[[], str],
        *,
        metrics: Registry,
        is_strict: bool = False,
        retry: float = RETRY_SECONDS,
        max_events: int = MAX_EVENTS,
    ) -> None:
        self.policy = policy_
        self.is_strict = is_strict
        self._clock = clock
        self._new_id = new_id
        self.writer = Writer(out, clock.now, lambda gap: Missing(new_id(), gap), retry=retry, max_events=max_events)
        self.books = Books(policy_, new_id, Falls())
        self._levels = dict.fromkeys(NAMES, 0)
        self._rejected = 0
        metrics.add(self._figures)

    def begin(self, told: Told, user: User | None) -> Trail | None:
        """A request of this user; None if nothing of it is wanted. `StoreUnavailable` if it could not be written down.

        Of one that may delete something it is known who asks, also if the policy does not want it to be written down.
        """
        what = asking.asked(told.method, told.path, told.query)
        verdict = self.policy.verdict(user, what)
        self._levels[verdict.level] += 1
        if verdict.level is Level.NONE:
            return None if what.verb in _READS else Trail(audit_event.Request("", verdict, what, "", user, 0.0), "")
        self.check_has_room()
        agent = told.headers.get(b"user-agent", b"")[:MAX_AGENT].decode("latin-1")
        request = audit_event.Request(
            self._new_id(), verdict, what, told.url, user, self._clock.now(), _addresses(told.headers, told.address), agent
        )
        trail = Trail(request, negotiation.media_type(told.headers.get(b"content-type", b"")))
        if user is not None and trail.is_told(policy.RECEIVED):
            self.writer.put(Stage(trail, policy.RECEIVED, request.received))
        return trail

    def check_has_room(self) -> None:
        """`StoreUnavailable` if what happens now could not be written down, and has to be."""
        if self.is_strict and not self.writer.has_room:
            self._rejected += 1
            raise errors.StoreUnavailable(
                "the request cannot be audited at the moment, so nothing was done. Please try again later"
            )

    def started(self, trail: Trail, code: int) -> None:
        """A stream begins, or somebody is sent away whom nobody knows."""
        self._put(trail, policy.STARTED, code, None)

    def complete(self, trail: Trail, code: int, answer: Body | None = None) -> None:
        """A request is answered."""
        if trail.request.user is None:
            self._put(trail, policy.STARTED, code, answer)
        else:
            self._put(trail, policy.COMPLETE, code, answer)

    def panicked(self, trail: Trail, code: int = 500) -> None:
        """A request failed in a way nobody foresaw, or was cut off."""
        self._put(trail, policy.PANIC, code, None)

    def _put(self, trail: Trail, stage: str, code: int, answer: Body | None) -> None:
        if trail.is_told(stage):
            self.writer.put(Stage(trail, stage, self._clock.now(), code, answer))

    def note_going(self, resource: str, namespace: str, name: str, uid: str) -> None:
        """The request that is under way is about to delete this object."""
        trail = TRAIL.get()
        user = None if trail is None else trail.impersonated or trail.request.user
        if trail is not None and user is not None:
            fall = Fall(resource, namespace, name, user=user.name, request=trail.request.id)
            self.writer.put(Going(self.books.falls, uid, fall))

    def note(self, entry: Entry) -> None:
        """Something was done."""
        self.writer.put(entry)

    @property
    def trouble(self) -> str | None:
        """Why requests are refused, if they are."""
        if not self.is_strict or self.writer.has_room:
            return None
        return f"what is asked cannot be audited: {self.writer.trouble or 'it comes faster than it can be written'}"

    async def close(self) -> None:
        """Write what is left."""
        await self.writer.close()

    def _figures(self) -> Iterable[Family]:
        writer = self.writer
        yield Family("counter", "apiserver_audit_event", "Events written to the audit log.", (), {(): writer.written})
        levels: dict[Labels, float] = {(NAMES[level],): float(number) for level, number in self._levels.items()}
        yield Family("counter", "apiserver_audit_level", "Requests by what the audit policy says of them.", ("level",), levels)
        lost: dict[Labels, float] = {("room",): float(writer.lost), ("failure",): float(writer.unsaid)}
        yield Family("counter", "probate_audit_events_lost", "Events that are not in the audit log.", ("cause",), lost)
        yield Family(
            "counter", "probate_audit_write_failures", "Attempts to write the audit log that failed.", (), {(): writer.failures}
        )
        rejected = "Requests that were refused because they could not be audited."
        yield Family("counter", "apiserver_audit_requests_rejected", rejected, (), {(): self._rejected})
        yield Family("gauge", "probate_audit_queue_length", "Events that wait to be written.", (), {(): writer.held})


def _addresses(headers: Mapping[bytes, bytes], address: str) -> tuple[str, ...]:
    """Where a request comes from. The last one is who sent it here; those before it are what they say."""
    said = (
        headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")[:MAX_FORWARDED] if b"x-forwarded-for" in headers else []
    )
    found = [one.strip() for one in said if _is_address(one.strip())]
    return (*found, address) if address else tuple(found)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
