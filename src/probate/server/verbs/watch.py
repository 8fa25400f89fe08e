"""`watch`: streams every change of the objects that match, as it happens.

An object that starts to match is ADDED for this watcher, and one that stops matching is DELETED, whatever the actual change was. A
watch without resourceVersion (or with 0) begins with the current objects. With `sendInitialEvents`, a bookmark marks their end.

A watch that cannot begin or continue reports why in an ERROR event, because the HTTP status has already been sent.
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
from probate.core.aio.large_work import LARGE_BYTES
from probate.core.clock import Clock
from probate.http.memory_limits import MemoryShare
from probate.server import query
from probate.server.codec import negotiation, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import list_snapshot, selector_filter
from probate.server.objects.selector_filter import SelectorFilter
from probate.server.query import ListOptions
from probate.server.request import Request, Target
from probate.server.response import StreamingResponse, StreamSink
from probate.server.storage import storage_keys
from probate.server.verbs import list as listing
from probate.server.verbs import watch_rows
from probate.server.verbs.watch_rows import WatchEventEncoder
from probate.store.contract import Batch, Record, Revision, Watch

BOOKMARK_SECONDS = 60.0
MAX_WATCH_SECONDS = 3600.0
MAX_INITIAL_CHUNK_RECORDS = 100
MAX_INITIAL_CHUNK_BYTES = 256 * 1024
"""The maximum number, and the approximate size, of initial objects that are sent in one chunk."""
BYTES_PER_SELECTOR_CHARACTER = 20
"""Memory that a compiled selector takes for each character of its text, for as long as the watch runs."""
FIRST_PAGE_RECORDS = 8
"""Initial objects that are read first: their size is still unknown, and a client may read slowly."""


async def watch(context: ServerContext, request: Request, target: Target, *, form: Form) -> StreamingResponse:
    """Handles a watch. The stream ends after the requested time, at most MAX_WATCH_SECONDS."""
    options = query.list_options({**request.query, "watch": ["1"]})
    selector = await selector_filter.parse_filter(
        target, options, rules=context.kinds.rules(target.resource), offloader=context.offloader
    )
    if options.resource_version:
        list_snapshot.parse_resource_version(options.resource_version)
    session = _Session(target, form, options, selector=selector)
    with session.reserve_memory(context):  # rejects the watch before the stream begins
        media = negotiation.PROTOBUF_WATCH if form.is_protobuf else negotiation.JSON
        return StreamingResponse(_with_error_event(context, session), media, attach=session.attach)


class _Session:
    """One watch: its target and options, and the sink of its stream if the connection has one."""

    def __init__(self, target: Target, form: Form, options: ListOptions, *, selector: SelectorFilter) -> None:
        self.target = target
        self.form = form
        self.options = options
        self.selector = selector
        self.sink: StreamSink | None = None

    def attach(self, sink: StreamSink) -> None:
        self.sink = sink

    @contextmanager
    def reserve_memory(self, context: ServerContext) -> Iterator[None]:
        """Reserves memory for the selectors, which may be long."""
        share = MemoryShare(context.selector_memory)
        share.grow_to(BYTES_PER_SELECTOR_CHARACTER * (len(self.options.label_selector) + len(self.options.field_selector)))
        try:
            yield
        finally:
            share.release()


async def _with_error_event(context: ServerContext, session: _Session) -> AsyncGenerator[bytes, None]:
    try:
        with session.reserve_memory(context):
            async with aclosing(_events(context, session)) as chunks:
                async for chunk in chunks:
                    yield chunk
    except errors.ApiError as error:
        yield watch_rows.event(b"ERROR", orjson.dumps(status.failure_status(error)), session.form)
    except errors.TooSlow as error:
        yield watch_rows.event(b"ERROR", orjson.dumps(status.failure_status(errors.Gone(str(error)))), session.form)


async def _events(context: ServerContext, session: _Session) -> AsyncGenerator[bytes, None]:
    options, selector, resource = session.options, session.selector, session.target.resource
    encoder = WatchEventEncoder(context, resource, session.form, selector=selector)
    prefix = storage_keys.namespace_range(session.target.resource, session.target.namespace)
    after, sends_initial = await _start(context, options)
    if sends_initial:
        async with aclosing(listing.iterate_pages(context, resource, prefix, selector=selector, first=FIRST_PAGE_RECORDS)) as pages:
            async for page in pages:
                after = page.revision
                shown = (
                    page.records
                    if selector.needs_served_version
                    else await context.version_converter.served(resource, page.records)
                )
                for records in _split(shown):
                    yield await _initial_chunk(context, encoder, records, form=session.form)
        if options.sends_initial_events and options.wants_bookmarks:
            yield encoder.bookmark(after, is_end_of_initial_events=True)
    seconds = min(options.timeout_seconds or MAX_WATCH_SECONDS, MAX_WATCH_SECONDS)
    async with context.store.watch(prefix, after=after) as changes, _BookmarkTimer(context.clock, changes, seconds) as timer:
        changes.set_handler(_DirectWriter(session, encoder, timer).tell)
        async for batch in changes:
            events = await context.version_converter.events(resource, batch)
            if events and (chunk := await _change_chunk(context, encoder, events, session=session)):
                yield chunk
            if timer.is_due:
                timer.is_due = False
                if options.wants_bookmarks:
                    yield encoder.bookmark(changes.revision)
                if timer.is_over:
                    return


async def _initial_chunk(context: ServerContext, encoder: WatchEventEncoder, records: list[Record], *, form: Form) -> bytes:
    """Encodes initial objects as ADDED events."""

    def write() -> bytes:
        return b"".join([encoder.line(b"ADDED", record.value, record.revision) for record in records])

    return (
        await context.offloader.offload_if_large(sum(len(record.value) for record in records), write)
        if form.is_protobuf
        else write()
    )


async def _change_chunk(context: ServerContext, encoder: WatchEventEncoder, events: Batch, *, session: _Session) -> bytes:
    """Encodes a batch of changes, on a thread if it is large."""
    if (size := watch_rows.encoding_cost(events, session.form)) <= LARGE_BYTES:
        return encoder.batch(events)
    return await context.offloader.offload_if_large(size, lambda: encoder.batch(events))


def _split(records: list[Record]) -> Iterator[list[Record]]:
    """Splits records into chunks that are small enough for the client and for the event loop."""
    chunk_records: list[Record] = []
    size = 0
    for record in records:
        if chunk_records and (
            size + len(record.value) > MAX_INITIAL_CHUNK_BYTES or len(chunk_records) == MAX_INITIAL_CHUNK_RECORDS
        ):
            yield chunk_records
            chunk_records, size = [], 0
        chunk_records.append(record)
        size += len(record.value)
    if chunk_records:
        yield chunk_records


class _DirectWriter:
    """Fast path: writes events to the client in the task that publishes the change, without waking the watch's own task."""

    __slots__ = ("_encoder", "_is_custom", "_is_protobuf", "_session", "_timer")

    def __init__(self, session: _Session, encoder: WatchEventEncoder, timer: _BookmarkTimer) -> None:
        self._session = session
        self._encoder = encoder
        self._timer = timer
        self._is_custom = session.target.resource.is_custom
        self._is_protobuf = session.form.is_protobuf

    def tell(self, events: Batch) -> bool:
        """Writes the events if that is possible now, and returns whether it was. Otherwise the watch's task encodes them."""
        sink = self._session.sink
        if sink is None or self._timer.is_due or not sink.is_ready():
            return False
        if self._is_custom and version_conversion.may_differ(self._session.target.resource):
            return False
        if self._is_protobuf and watch_rows.encoding_cost(events, self._session.form) > LARGE_BYTES:
            return False
        if chunk := self._encoder.batch(events):
            sink.tell(chunk)
        return True


async def _start(context: ServerContext, options: ListOptions) -> tuple[Revision, bool]:
    """Returns the revision after which the watch begins, and whether it first sends the current objects."""
    if options.resource_version and (requested := list_snapshot.parse_resource_version(options.resource_version)) > (
        current := await context.store.revision()
    ):
        raise list_snapshot.resource_version_too_large(requested, current)
    if options.sends_initial_events or (options.sends_initial_events is None and options.resource_version in {"", "0"}):
        return Revision(0), True
    if options.resource_version in {"", "0"}:
        return await context.store.revision(), False
    return list_snapshot.parse_resource_version(options.resource_version), False


class _BookmarkTimer:
    """Wakes a watch whenever a bookmark is due, and when its time is over."""

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
        # Both reference this timer, and through it the whole connection: without the reference cycles it is freed at once.
        del self._task, self._changes

    async def _run(self) -> None:
        while not self.is_over:
            await self._clock.sleep(min(BOOKMARK_SECONDS, self._end - self._clock.monotonic()))
            self.is_over = self._clock.monotonic() >= self._end
            self.is_due = True
            self._changes.wake()
