"""Events: what controllers tell people about an object. `kubectl describe` shows them.

Telling never waits and never fails: what cannot be written is lost, for it is a courtesy, and no controller may depend on it. What
is told again is counted, not written anew. Nobody is told everything either: of a thousand pods that a ReplicaSet makes, the first
few are worth a line, and after that one line says that there were more.

    one and the same thing                       one Event, whose `count` grows
    more than 10 of one reason in 10 minutes     "(combined from similar events): …", one Event
    more than 25 about one object                one more every 5 minutes
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict, deque
from typing import NamedTuple, TypeVar

from probate.api.timestamps import timestamp
from probate.client.objects import Client, Kind, Object
from probate.core import errors
from probate.core.clock import Clock

EVENTS = Kind("", "v1", "events")
SIMILAR = 10
SIMILAR_SECONDS = 600.0
BURST = 25
REFILL_SECONDS = 300.0
REMEMBERED = 1024
"""Objects and events that are known at most; of those that were told of longest ago nothing is known any more."""
COMBINED = "(combined from similar events): "
WAITING = 1000
"""What is told faster than it can be written is lost beyond this."""

Key = TypeVar("Key")
Known = TypeVar("Known")

log = logging.getLogger(__name__)


class News(NamedTuple):
    """What is to be told, by whom and about whom."""

    component: str
    api_version: str
    kind: str
    about: Object
    type: str
    reason: str
    message: str
    host: str = ""
    """The node on which who tells it is, if that is one of many."""


class Voice:
    """How one controller tells people about the objects of one kind."""

    def __init__(self, events: Events, component: str, api_version: str, kind: str) -> None:
        self._events = events
        self._from = component, api_version, kind

    def __call__(self, about: Object, type_: str, reason: str, message: str) -> None:
        self._events.tell(News(*self._from, about, type_, reason, message))


class Subject:
    """What one component has told about one object, and how much it may still tell."""

    __slots__ = ("_left", "_since", "_told")

    def __init__(self, now: float) -> None:
        self._left, self._since = float(BURST), now
        self._told: dict[tuple[str, str], tuple[float, set[int]]] = {}  # by type and reason: since when, and hashes of messages

    def take(self, now: float) -> bool:
        """Whether one more may be told."""
        self._left = min(float(BURST), self._left + (now - self._since) / REFILL_SECONDS)
        self._since = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def is_one_of_many(self, news: News, now: float) -> bool:
        """Whether so much was told for the same reason lately that this is not worth a line of its own."""
        since, messages = self._told.setdefault((news.type, news.reason), (now, set()))
        if now - since > SIMILAR_SECONDS:
            messages.clear()
            self._told[news.type, news.reason] = now, messages
        message = hash(news.message)
        if len(messages) >= SIMILAR and message not in messages:
            return True
        messages.add(message)
        return False


class Events:
    """Takes what is told, and writes it in the background."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._waiting: deque[News] = deque(maxlen=WAITING)
        self._told = asyncio.Event()
        self._subjects: OrderedDict[str, Subject] = OrderedDict()
        self._counts: OrderedDict[str, int] = OrderedDict()  # by the event's name

    def tell(self, news: News) -> None:
        """Tell people. Returns at once, whatever becomes of it."""
        uid, now = news.about["metadata"]["uid"], self._clock.monotonic()
        subject = _remembered(self._subjects, f"{news.component} {uid}", Subject(now))
        if not subject.take(now):
            return
        is_combined = subject.is_one_of_many(news, now)
        self._waiting.append(news._replace(message=f"{COMBINED}{news.message}") if is_combined else news)
        self._told.set()

    async def run(self) -> None:
        """Write what is told. Never returns."""
        while True:
            while self._waiting:
                await self._write(self._waiting.popleft())
            self._told.clear()
            await self._told.wait()

    async def _write(self, news: News) -> None:
        name = _name(news)
        try:
            count = await self._write_as(name, news, self._counts.pop(name, 0))
        except errors.ApiError as error:
            log.info("an event was not written: %s", error)
        else:
            _remembered(self._counts, name, count)

    async def _write_as(self, name: str, news: News, count: int) -> int:
        if count:
            try:
                return await self._count(name, news, count)
            except errors.NotFound:  # events do not live long
                return await self._create(name, news)
        try:
            return await self._create(name, news)
        except errors.AlreadyExists:  # it was told before this process began
            before = await self._client.get(EVENTS, _namespace(news), name) or {}
            return await self._count(name, news, before.get("count") or 0)

    async def _create(self, name: str, news: News) -> int:
        meta, now = news.about["metadata"], timestamp(self._clock.now())
        about = {"kind": news.kind, "apiVersion": news.api_version, "name": meta["name"], "uid": meta["uid"]}
        placed = {"namespace": meta["namespace"]} if meta.get("namespace") else {}
        event = {
            "metadata": {"name": name},
            "involvedObject": {**about, **placed, "resourceVersion": meta["resourceVersion"]},
            "type": news.type,
            "reason": news.reason,
            "message": news.message,
            "source": {"component": news.component, **({"host": news.host} if news.host else {})},
            "reportingComponent": news.component,
            **({"reportingInstance": news.host} if news.host else {}),
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        await self._client.create(EVENTS, _namespace(news), event)
        return 1

    async def _count(self, name: str, news: News, before: int) -> int:
        change = {"count": before + 1, "lastTimestamp": timestamp(self._clock.now()), "message": news.message}
        await self._client.patch(EVENTS, _namespace(news), name, change)
        return before + 1


def _remembered(memory: OrderedDict[Key, Known], key: Key, new: Known) -> Known:
    """What is known under the key, or else the new thing. The oldest is forgotten when there is too much."""
    found = memory.setdefault(key, new)
    memory.move_to_end(key)
    if len(memory) > REMEMBERED:
        memory.popitem(last=False)
    return found


def _namespace(news: News) -> str:
    """Where the event is: with what it is about."""
    return news.about["metadata"].get("namespace") or "default"


def _name(news: News) -> str:
    """The name of the event: the same for what is told again."""
    meta = news.about["metadata"]
    message = "" if news.message.startswith(COMBINED) else news.message
    told = f"{news.component} {meta['uid']} {news.type} {news.reason} {message}"
    return f"{meta['name'][:230]}.{hashlib.sha256(told.encode()).hexdigest()[:16]}"
