"""`watch`: every change of what matches, as it happens.

An object that begins to match is ADDED to this watcher, and one that stops is DELETED, whatever happened to it really. A watch
that gives no resourceVersion (or 0) begins with what is there. With `sendInitialEvents` a bookmark says where that ends.

A watch that cannot begin or go on says why in an ERROR event; the HTTP answer was given before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import orjson

from probate import errors
from probate.machinery import status
from probate.server import filtering, places, query, snapshots, wire
from probate.server.api import Api, Stream
from probate.server.filtering import Filter
from probate.server.negotiation import Form
from probate.server.query import ListOptions
from probate.server.request import Request, Target
from probate.server.rows import Lines
from probate.server.verbs import list as listing
from probate.store.contract import Event, Revision, Watch

BOOKMARK_SECONDS = 60.0
LONGEST_SECONDS = 3600.0


async def watch(api: Api, request: Request, at: Target, form: Form) -> Stream:
    """A stream of events that ends after the time asked for."""
    options = query.list_options({**request.query, "watch": ["1"]})
    wanted = filtering.of(at, options, api.kinds.rules(at.resource).fields())
    if options.resource_version:
        snapshots.revision(options.resource_version)
    return Stream(_guarded(api, at, form, options, wanted))


async def _guarded(api: Api, at: Target, form: Form, options: ListOptions, wanted: Filter) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(_events(api, at, form, options, wanted)) as chunks:
            async for chunk in chunks:
                yield chunk
    except errors.ApiError as error:
        yield wire.event(b"ERROR", orjson.dumps(status.failure(error)))
    except errors.TooSlow as error:
        yield wire.event(b"ERROR", orjson.dumps(status.failure(errors.Gone(str(error)))))


async def _events(api: Api, at: Target, form: Form, options: ListOptions, wanted: Filter) -> AsyncGenerator[bytes, None]:
    lines = Lines(api, at.resource, form)
    prefix = places.within(at.resource, at.namespace)
    after, is_from_now = await _beginning(api, options)
    if is_from_now:
        found = await listing.collect(api.store, prefix, wanted, snapshots.Start(None, ""), 0)
        after = found.revision
        for record in found.records:
            yield lines.line(b"ADDED", record.value, record.revision)
        if options.sends_initial_events and options.wants_bookmarks:
            yield lines.bookmark(after, is_end_of_initial_events=True)
    async with api.store.watch(prefix, after=after) as changes, aclosing(_paced(api, changes, options)) as batches:
        async for events in batches:
            chunk = b"".join(_lines(lines, events, wanted)) if events else lines.bookmark(changes.revision)
            if chunk and (events or options.wants_bookmarks):
                yield chunk


async def _beginning(api: Api, options: ListOptions) -> tuple[Revision, bool]:
    """After which revision the watch begins, and whether it shows first what is there."""
    if options.resource_version and (wanted := snapshots.revision(options.resource_version)) > (
        current := await api.store.revision()
    ):
        raise snapshots.too_large(wanted, current)
    if options.sends_initial_events or (options.sends_initial_events is None and options.resource_version in {"", "0"}):
        return Revision(0), True
    if options.resource_version in {"", "0"}:
        return await api.store.revision(), False
    return snapshots.revision(options.resource_version), False


async def _paced(api: Api, changes: Watch, options: ListOptions) -> AsyncGenerator[list[Event], None]:
    """Batches of events; an empty one whenever a bookmark is due. Ends when the time is up."""
    stream: AsyncIterator[list[Event]] = aiter(changes)
    end = asyncio.ensure_future(api.clock.sleep(min(options.timeout_seconds or LONGEST_SECONDS, LONGEST_SECONDS)))
    due = asyncio.ensure_future(api.clock.sleep(BOOKMARK_SECONDS))
    coming = asyncio.ensure_future(anext(stream))
    try:
        while not end.done():
            await asyncio.wait({end, due, coming}, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                yield coming.result()
                coming = asyncio.ensure_future(anext(stream))
            if due.done() or end.done():
                yield []
                due = asyncio.ensure_future(api.clock.sleep(BOOKMARK_SECONDS))
    finally:
        for waiting in (end, due, coming):
            waiting.cancel()
        await asyncio.gather(end, due, coming, return_exceptions=True)


def _lines(lines: Lines, events: list[Event], wanted: Filter) -> list[bytes]:
    return [line for event in events if (line := _line(lines, event, wanted))]


def _line(lines: Lines, event: Event, wanted: Filter) -> bytes:
    """What this watcher is told of a change; nothing if neither what was nor what is matches."""
    is_in = event.value is not None and wanted.matches(event.value)
    was_in = event.previous is not None and wanted.matches(event.previous.value)
    if is_in and event.value is not None:
        return lines.line(b"MODIFIED" if was_in else b"ADDED", event.value, event.revision)
    if was_in and event.previous is not None:
        return lines.line(b"DELETED", event.previous.value, event.revision)
    return b""
