"""Records Events about objects, in the background: `kubectl describe` shows them.

Recording never blocks and never fails. An Event that cannot be written is lost, so no controller may depend on one. A repeated
Event increments `count` instead of writing another. There is a limit for each object: of a thousand pods that a ReplicaSet creates,
the first few get an Event each, and then one Event says that there were more.

    the same reason and message                  one Event, whose `count` grows
    more than 10 of one reason in 10 minutes     "(combined from similar events): …", one Event
    more than 25 about one object                one more every 5 minutes
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict, deque
from typing import NamedTuple, TypeVar

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.objects import Client, GroupVersionResource
from probate.core import errors
from probate.core.clock import Clock
from probate.core.logs import facts

EVENTS = GroupVersionResource("", "v1", "events")
SIMILAR = 10
SIMILAR_SECONDS = 600.0
BURST = 25
REFILL_SECONDS = 300.0
MAX_KNOWN = 1024
"""Objects, and Events, whose history is kept; the least recently used is dropped first."""
COMBINED = "(combined from similar events): "
MAX_PENDING = 1000
"""Events that wait to be written; beyond this the oldest are lost."""

Key = TypeVar("Key")
Value = TypeVar("Value")

log = logging.getLogger(__name__)


class EventRecord(NamedTuple):
    """One Event to write. `host` is the node that the component runs on, if it runs on many."""

    component: str
    api_version: str
    kind: str
    object: Object
    type: str
    reason: str
    message: str
    host: str = ""


class ObjectEventRecorder:
    """Records Events of one component about objects of one kind."""

    def __init__(self, events: EventRecorder, component: str, *, api_version: str, kind: str) -> None:
        self._events = events
        self._source = component, api_version, kind

    def __call__(self, object_: Object, type_: str, reason: str, *, message: str) -> None:
        self._events.record(EventRecord(*self._source, object_, type_, reason, message))


class ObjectHistory:
    """The Events of one component about one object: a token bucket, and the messages of each type and reason."""

    __slots__ = ("_messages", "_since", "_tokens")

    def __init__(self, now: float) -> None:
        self._tokens, self._since = float(BURST), now
        self._messages: dict[tuple[str, str], tuple[float, set[int]]] = {}  # by type and reason: since when, and their hashes

    def take(self, now: float) -> bool:
        """Whether one more Event may be written."""
        self._tokens = min(float(BURST), self._tokens + (now - self._since) / REFILL_SECONDS)
        self._since = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def is_one_of_many(self, record: EventRecord, now: float) -> bool:
        """Whether there were so many Events of the same reason lately that this one is combined with them."""
        since, messages = self._messages.setdefault((record.type, record.reason), (now, set()))
        if now - since > SIMILAR_SECONDS:
            messages.clear()
            self._messages[record.type, record.reason] = now, messages
        message = hash(record.message)
        if len(messages) >= SIMILAR and message not in messages:
            return True
        messages.add(message)
        return False


class EventRecorder:
    """Queues Events, and writes them in the background."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._pending: deque[EventRecord] = deque(maxlen=MAX_PENDING)
        self._added = asyncio.Event()
        self._histories: OrderedDict[str, ObjectHistory] = OrderedDict()
        self._counts: OrderedDict[str, int] = OrderedDict()  # by the Event's name

    def record(self, record: EventRecord) -> None:
        """Queues an Event, unless there are too many about the object. Returns at once."""
        uid, now = record.object["metadata"]["uid"], self._clock.monotonic()
        history = _get_or_add(self._histories, f"{record.component} {uid}", ObjectHistory(now))
        if not history.take(now):
            return
        is_combined = history.is_one_of_many(record, now)
        self._pending.append(record._replace(message=f"{COMBINED}{record.message}") if is_combined else record)
        self._added.set()

    async def run(self) -> None:
        """Writes queued Events. Never returns."""
        while True:
            while self._pending:
                await self._write(self._pending.popleft())
            self._added.clear()
            await self._added.wait()

    async def _write(self, record: EventRecord) -> None:
        name = _event_name(record)
        try:
            count = await self._create_or_count(name, record, self._counts.pop(name, 0))
        except errors.ApiError as error:
            log.info("event not written", extra=facts(component=record.component, reason=record.reason, error=str(error)))
        else:
            _get_or_add(self._counts, name, count)

    async def _create_or_count(self, name: str, record: EventRecord, count: int) -> int:
        if count:
            try:
                return await self._count(name, record, count)
            except errors.NotFound:  # it has expired
                return await self._create(name, record)
        try:
            return await self._create(name, record)
        except errors.AlreadyExists:  # an earlier process wrote it
            before = await self._client.get(EVENTS, _namespace(record), name) or {}
            return await self._count(name, record, before.get("count") or 0)

    async def _create(self, name: str, record: EventRecord) -> int:
        meta, now = record.object["metadata"], format_time(self._clock.now())
        reference = {"kind": record.kind, "apiVersion": record.api_version, "name": meta["name"], "uid": meta["uid"]}
        namespace = {"namespace": meta["namespace"]} if meta.get("namespace") else {}
        event = {
            "metadata": {"name": name},
            "involvedObject": {**reference, **namespace, "resourceVersion": meta["resourceVersion"]},
            "type": record.type,
            "reason": record.reason,
            "message": record.message,
            "source": {"component": record.component, **({"host": record.host} if record.host else {})},
            "reportingComponent": record.component,
            **({"reportingInstance": record.host} if record.host else {}),
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        await self._client.create(EVENTS, _namespace(record), event)
        return 1

    async def _count(self, name: str, record: EventRecord, before: int) -> int:
        change = {"count": before + 1, "lastTimestamp": format_time(self._clock.now()), "message": record.message}
        await self._client.patch(EVENTS, _namespace(record), name, change=change)
        return before + 1


def _get_or_add(cache: OrderedDict[Key, Value], key: Key, new: Value) -> Value:
    """Returns the value of the key, which is `new` if there was none.

    Drops the least recently used entry when there are too many.
    """
    value = cache.setdefault(key, new)
    cache.move_to_end(key)
    if len(cache) > MAX_KNOWN:
        cache.popitem(last=False)
    return value


def _namespace(record: EventRecord) -> str:
    """Returns the namespace of the Event: that of the object."""
    return record.object["metadata"].get("namespace") or "default"


def _event_name(record: EventRecord) -> str:
    """Returns the name of the Event, which is the same for a repeated one."""
    meta = record.object["metadata"]
    message = "" if record.message.startswith(COMBINED) else record.message
    identity = f"{record.component} {meta['uid']} {record.type} {record.reason} {message}"
    return f"{meta['name'][:230]}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
