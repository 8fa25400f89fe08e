"""`watch`: every change of what matches, as it happens.

An object that begins to match is ADDED to this watcher, and one that stops is DELETED, whatever happened to it really. A watch
that gives no resourceVersion (or 0) begins with what is there. With `sendInitialEvents` a bookmark says where that ends.

A watch that cannot begin or go on says why in an ERROR event; the HTTP answer was given before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Self

import orjson

from probate.api import status
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.http.memory_limits import Share
from probate.server import query
from probate.server.codec import negotiation, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import LARGE_BYTES, Api, Outlet, Stream
from probate.server.objects import list_snapshot, selector_filter
from probate.server.objects.selector_filter import Filter
from probate.server.query import ListOptions
from probate.server.request import Request, Target
from probate.server.storage import storage_keys
from probate.server.verbs import list as listing
from probate.server.verbs import watch_rows
from probate.server.verbs.watch_rows import Lines
from probate.store.contract import Batch, Record, Revision, Watch

BOOKMARK_SECONDS = 60.0
LONGEST_SECONDS = 3600.0
AT_ONCE = 100
AT_ONCE_BYTES = 256 * 1024
"""Objects that are sent together when a watch begins with what is there, and about how much they may be."""
COMPILED = 20
"""Bytes that a selector takes for each character while it is watched by."""
FIRST = 8
"""Of those, how many are read first: nobody knows yet how large they are, and a client may read slowly."""


async def watch(api: Api, request: Request, at: Target, form: Form) -> Stream:
    """A stream of events that ends after the time asked for."""
    options = query.list_options({**request.query, "watch": ["1"]})
    wanted = await selector_filter.read(api, at, options)
    if options.resource_version:
        list_snapshot.revision(options.resource_version)
    asked = _Asked(at, form, options, wanted)
    with asked.share(api):  # so that it is refused before it begins
        media = negotiation.PROTOBUF_WATCH if form.is_protobuf else negotiation.JSON
        return Stream(_guarded(api, asked), media, attach=asked.attach)


class _Asked:
    """What a watcher asked for, and its end of the stream, if there is one that can be written to at once."""

    def __init__(self, at: Target, form: Form, options: ListOptions, wanted: Filter) -> None:
        self.at = at
        self.form = form
        self.options = options
        self.wanted = wanted
        self.outlet: Outlet | None = None

    def attach(self, outlet: Outlet) -> None:
        self.outlet = outlet

    @contextmanager
    def share(self, api: Api) -> Iterator[None]:
        """Room for the selectors, which may be long, for as long as they are watched by."""
        share = Share(api.selectors)
        share.hold(COMPILED * (len(self.options.label_selector) + len(self.options.field_selector)))
        try:
            yield
        finally:
            share.drop()


async def _guarded(api: Api, asked: _Asked) -> AsyncGenerator[bytes, None]:
    try:
        with asked.share(api):
            async with aclosing(_events(api, asked)) as chunks:
                async for chunk in chunks:
                    yield chunk
    except errors.ApiError as error:
        yield watch_rows.event(b"ERROR", orjson.dumps(status.failure(error)), asked.form)
    except errors.TooSlow as error:
        yield watch_rows.event(b"ERROR", orjson.dumps(status.failure(errors.Gone(str(error)))), asked.form)


async def _events(api: Api, asked: _Asked) -> AsyncGenerator[bytes, None]:
    options, wanted, resource = asked.options, asked.wanted, asked.at.resource
    lines = Lines(api, resource, asked.form, wanted)
    prefix = storage_keys.within(asked.at.resource, asked.at.namespace)
    after, is_from_now = await _beginning(api, options)
    if is_from_now:
        async with aclosing(listing.pages(api, resource, prefix, wanted, first=FIRST)) as pages:
            async for page in pages:
                after = page.revision
                shown = page.records if wanted.asks_shown else await version_conversion.served(api, resource, page.records)
                for records in _pieces(shown):
                    yield await _first(api, lines, records, asked.form)
        if options.sends_initial_events and options.wants_bookmarks:
            yield lines.bookmark(after, is_end_of_initial_events=True)
    seconds = min(options.timeout_seconds or LONGEST_SECONDS, LONGEST_SECONDS)
    async with api.store.watch(prefix, after=after) as changes, _Pace(api.clock, changes, seconds) as pace:
        changes.hand_to(_Teller(asked, lines, pace).tell)
        async for told in changes:
            events = await version_conversion.events(api, resource, told)
            if events and (chunk := await _later(api, lines, events, asked)):
                yield chunk
            if pace.is_due:
                pace.is_due = False
                if options.wants_bookmarks:
                    yield lines.bookmark(changes.revision)
                if pace.is_over:
                    return


async def _first(api: Api, lines: Lines, records: list[Record], form: Form) -> bytes:
    """What is there when a watch begins."""

    def write() -> bytes:
        return b"".join([lines.line(b"ADDED", record.value, record.revision) for record in records])

    return await api.apart(sum(len(one.value) for one in records), write) if form.is_protobuf else write()


async def _later(api: Api, lines: Lines, events: Batch, asked: _Asked) -> bytes:
    """What has changed since."""
    if (size := watch_rows.weight(events, asked.form)) <= LARGE_BYTES:
        return lines.batch(events)
    return await api.apart(size, lambda: lines.batch(events))


def _pieces(records: list[Record]) -> Iterator[list[Record]]:
    """What is sent together: not more than the client reads soon, or than others want to wait for."""
    piece: list[Record] = []
    size = 0
    for record in records:
        if piece and (size + len(record.value) > AT_ONCE_BYTES or len(piece) == AT_ONCE):
            yield piece
            piece, size = [], 0
        piece.append(record)
        size += len(record.value)
    if piece:
        yield piece


class _Teller:
    """Tells the client where a change is made known, without waking anybody."""

    __slots__ = ("_asked", "_lines", "_pace", "_size_matters", "_versions_matter")

    def __init__(self, asked: _Asked, lines: Lines, pace: _Pace) -> None:
        self._asked = asked
        self._lines = lines
        self._pace = pace
        self._versions_matter = asked.at.resource.is_custom
        self._size_matters = asked.form.is_protobuf

    def tell(self, events: Batch) -> bool:
        """Whether that was possible."""
        outlet = self._asked.outlet
        if outlet is None or self._pace.is_due or not outlet.is_ready():
            return False
        if self._versions_matter and version_conversion.may_differ(self._asked.at.resource):
            return False
        if self._size_matters and watch_rows.weight(events, self._asked.form) > LARGE_BYTES:
            return False
        if chunk := self._lines.batch(events):
            outlet.tell(chunk)
        return True


async def _beginning(api: Api, options: ListOptions) -> tuple[Revision, bool]:
    """After which revision the watch begins, and whether it shows first what is there."""
    if options.resource_version and (wanted := list_snapshot.revision(options.resource_version)) > (
        current := await api.store.revision()
    ):
        raise list_snapshot.too_large(wanted, current)
    if options.sends_initial_events or (options.sends_initial_events is None and options.resource_version in {"", "0"}):
        return Revision(0), True
    if options.resource_version in {"", "0"}:
        return await api.store.revision(), False
    return list_snapshot.revision(options.resource_version), False


class _Pace:
    """Nudges a watch whenever a bookmark is due, the last time when it is over."""

    def __init__(self, clock: Clock, changes: Watch, seconds: float) -> None:
        self.is_due = False
        self.is_over = False
        self._clock = clock
        self._changes = changes
        self._end = clock.monotonic() + seconds

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await tasks.stop(self._task)
        # Both refer back to this, and through it to the whole connection: without the cycles all of it is freed at once.
        del self._task, self._changes

    async def _run(self) -> None:
        while not self.is_over:
            await self._clock.sleep(min(BOOKMARK_SECONDS, self._end - self._clock.monotonic()))
            self.is_over = self._clock.monotonic() >= self._end
            self.is_due = True
            self._changes.nudge()
