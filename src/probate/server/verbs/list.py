"""`list`: the objects of a resource, all of one moment, in pages if a limit is given."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator
from typing import NamedTuple

from probate.api.catalog import Resource
from probate.core import errors
from probate.server import query
from probate.server.codec import negotiation, object_codec, responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import damage_reports, list_snapshot, selector_filter
from probate.server.objects.list_cache import Listing, Place, Turn
from probate.server.objects.selector_filter import Filter
from probate.server.request import Request, Target
from probate.server.storage import storage_keys
from probate.store.contract import Damaged, Record, Revision, Store

CHUNK = 500
CHUNK_BYTES = 4 * 1024 * 1024
"""Records read at once, and about how much they may be: so that a long list lets others have their turn."""
FIRST_CHUNK = 50
"""Nobody knows yet how large they are."""
SLICE_BYTES = 256 * 1024
"""What is compared with selectors in one turn."""
NEAR = 10_000
"""So many changes ago a list may be of, for those that follow it to be counted: the past costs a walk over what changed since."""


class Found(NamedTuple):
    """Part of a list. `last` is the key after which it goes on, if it does.

    Records are as they are stored; those that were chosen as they are shown (`Filter.asks_shown`) stay so.
    """

    records: list[Record]
    revision: Revision
    last: str
    damaged: tuple[Damaged, ...] = ()  # left out


async def list_(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """The objects that match, up to the limit."""
    options = query.list_options(request.query)
    wanted = await selector_filter.read(api, at, options)
    prefix = storage_keys.within(at.resource, at.namespace)
    start = await list_snapshot.start(api.store, options, prefix)
    if (
        form == negotiation.PLAIN
        and wanted.is_everything
        and start == list_snapshot.NOW
        and not version_conversion.may_differ(at.resource)
    ):
        return await _whole(api, at.resource, prefix, options.limit)
    found = await collect(api, at.resource, prefix, wanted, start, options.limit)
    remaining = await _remaining(api.store, prefix, start, found) if wanted.is_everything else None
    if not wanted.asks_shown:
        found = found._replace(records=await version_conversion.served(api, at.resource, found.records))
    continue_ = list_snapshot.token(found.revision, found.last, prefix, remaining) if found.last else ""
    shape = functools.partial(responses.many, api, found.records, at.resource, form)
    answer = await api.apart(
        responses.weight(found.records, form),
        lambda: shape(revision=found.revision, continue_=continue_, remaining=remaining),
    )
    return answer._replace(warnings=damage_reports.warnings(found.damaged)) if found.damaged else answer


async def _whole(api: Api, resource: Resource, prefix: str, limit: int) -> Answer:
    """What is there now, as it is: the list that most clients want."""
    place = Place(resource.group, resource.version, resource.kind, prefix, limit)
    calm = api.store.calm(prefix)
    known = api.listings.find(place, calm)
    if known is None or calm is None:
        found = await collect(api, resource, prefix, selector_filter.EVERYTHING, list_snapshot.NOW, limit)
        remaining = await _remaining(api.store, prefix, list_snapshot.NOW, found)
        warnings = damage_reports.warnings(found.damaged)
        known = Listing(object_codec.items(found.records, resource), found.revision, found.last, remaining, warnings)
        api.listings.keep(place, known)
        revision = found.revision
    else:
        revision = calm.now
    continue_ = list_snapshot.token(revision, known.last, prefix, known.remaining) if known.last else ""
    body = object_codec.listing(resource, known.items, revision=revision, continue_=continue_, remaining=known.remaining)
    return Answer(200, body, warnings=known.warnings)


async def _remaining(store: Store, prefix: str, start: list_snapshot.Start, found: Found) -> int | None:
    """How many objects follow a part of a list at its revision; None if there are none, or nobody can tell cheaply."""
    if not found.last:
        return None
    if start.following:
        return max(0, start.following - len(found.records)) or None
    if start.at is not None and (start.after or await store.revision() - start.at > NEAR):
        return None
    try:
        return await store.count(prefix, after=found.last, at=found.revision) or None
    except errors.Gone:  # compacted since it was read: the page is good all the same
        return None


async def collect(api: Api, resource: Resource, prefix: str, wanted: Filter, start: list_snapshot.Start, limit: int) -> Found:
    """The first `limit` objects that match (all, if it is 0). Few large lists are collected at once: the others wait.

    `Gone` has a token to go on with if the list was continued.
    """
    turn = api.large_lists.begin()
    try:
        return await _collect(api, resource, prefix, wanted, start, limit, turn)
    except errors.Gone as gone:
        if not start.after:
            raise
        raise list_snapshot.over(start, prefix) from gone
    finally:
        turn.end()


async def _collect(
    api: Api, resource: Resource, prefix: str, wanted: Filter, start: list_snapshot.Start, limit: int, turn: Turn
) -> Found:
    records: list[Record] = []
    damaged: tuple[Damaged, ...] = ()
    at, after = start.at, start.after
    chunk = FIRST_CHUNK
    while True:
        room = limit - len(records) if limit else chunk
        page = await api.store.scan(prefix, after=after, limit=min(chunk, room) if wanted.is_everything else chunk, at=at)
        at, size = page.revision, _size(page.records)
        chunk = _next_chunk(len(page.records), size)
        found = page.records if wanted.is_everything else await _matching(api, resource, page.records, wanted)
        damaged += page.damaged
        if limit and len(found) > room:
            last = found[room - 1].key
            return Found(records + found[:room], at, last, tuple(one for one in damaged if one.key <= last))
        records += found
        if not page.more:
            return Found(records, at, "", damaged)
        await turn.note(size if wanted.is_everything else _size(found))
        after = page.last
        if limit and len(records) == limit:
            return Found(records, at, after, damaged)
        await asyncio.sleep(0)


async def pages(api: Api, resource: Resource, prefix: str, wanted: Filter, *, first: int) -> AsyncGenerator[Found, None]:
    """All that match now, of one moment, page by page: for who hands them on as they come. The first page has up to `first`."""
    at: Revision | None = None
    after, chunk = "", first
    while True:
        page = await api.store.scan(prefix, after=after, limit=chunk, at=at)
        at, chunk = page.revision, _next_chunk(len(page.records), _size(page.records))
        found = page.records if wanted.is_everything else await _matching(api, resource, page.records, wanted)
        if not page.more:
            yield Found(found, at, "", page.damaged)
            return
        after = page.last
        yield Found(found, at, after, page.damaged)
        await asyncio.sleep(0)


def _size(records: list[Record]) -> int:
    return sum([len(record.value) for record in records])


def _next_chunk(number: int, size: int) -> int:
    """How many records to read next, if they are like these that were read."""
    return max(1, min(CHUNK, CHUNK_BYTES * number // size)) if size else CHUNK


async def _matching(api: Api, resource: Resource, records: list[Record], wanted: Filter) -> list[Record]:
    found, size = [], 0
    if wanted.asks_shown:
        records = await version_conversion.served(api, resource, records)
    for record in records:
        if wanted.matches(record.value):
            found.append(record)
        size += len(record.value)
        if size > SLICE_BYTES:
            size = 0
            await asyncio.sleep(0)
    return found
