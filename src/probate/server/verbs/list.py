"""`list`: returns the objects of a resource at one revision, in pages if the request has a limit."""

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
from probate.server.context import ServerContext
from probate.server.objects import damage_reports, list_snapshot, selector_filter
from probate.server.objects.list_cache import CachedList, LargeListSlot, ListKey
from probate.server.objects.selector_filter import SelectorFilter
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import storage_keys
from probate.store.contract import DamagedRecord, Record, Revision, Store

MAX_CHUNK_RECORDS = 500
TARGET_CHUNK_BYTES = 4 * 1024 * 1024
"""The maximum number, and the approximate size, of records read at once, so that a long list does not block the event loop."""
FIRST_CHUNK_RECORDS = 50
"""Records in the first chunk, when their size is still unknown."""
FILTER_SLICE_BYTES = 256 * 1024
"""Bytes of records that are matched against selectors before yielding to the event loop."""
MAX_COUNTED_REVISIONS = 10_000
"""The maximum age, in revisions, of a list whose remaining items are counted: counting in the past scans all changes since then."""


class ListPage(NamedTuple):
    """Part of a list. `last` is the key after which the list continues, or empty at the end.

    Records are in the stored version, unless `SelectorFilter.needs_served_version`: then they are in the served version.
    """

    records: list[Record]
    revision: Revision
    last: str
    damaged: tuple[DamagedRecord, ...] = ()  # not in `records`


async def list_(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Returns the objects that match, up to the limit."""
    options = query.list_options(request.query)
    selector = await selector_filter.parse_filter(
        target, options, rules=context.kinds.rules(target.resource), offloader=context.offloader
    )
    prefix = storage_keys.namespace_range(target.resource, target.namespace)
    start = await list_snapshot.resolve_start(context.store, options, prefix)
    if (
        form == negotiation.PLAIN
        and selector.is_everything
        and start == list_snapshot.START_NOW
        and not version_conversion.may_differ(target.resource)
    ):
        return await _unfiltered_list(context, target.resource, prefix, limit=options.limit)
    page = await collect_list(context, target.resource, prefix, selector=selector, start=start, limit=options.limit)
    remaining = await _remaining(context.store, prefix, start, page=page) if selector.is_everything else None
    if not selector.needs_served_version:
        page = page._replace(records=await context.version_converter.served(target.resource, page.records))
    continue_ = list_snapshot.continue_token(page.revision, page.last, prefix, following=remaining) if page.last else ""
    shape = functools.partial(context.responses.many, page.records, target.resource, form)
    response = await context.offloader.offload_if_large(
        responses.weight(page.records, form),
        lambda: shape(revision=page.revision, continue_=continue_, remaining=remaining),
    )
    return response._replace(warnings=damage_reports.warnings(page.damaged)) if page.damaged else response


async def _unfiltered_list(context: ServerContext, resource: Resource, prefix: str, *, limit: int) -> Response:
    """Fast path: the current list without selectors or conversion, from the list cache if nothing in its range has changed.

    Equals the uncached list; tested in tests/unit/server/objects/test_list_cache.py.
    """
    list_key = ListKey(resource.group, resource.version, resource.kind, prefix, limit)
    unchanged = context.store.unchanged_since(prefix)
    cached = context.list_cache.get(list_key, unchanged)
    if cached is None or unchanged is None:
        page = await collect_list(
            context, resource, prefix, selector=selector_filter.EVERYTHING, start=list_snapshot.START_NOW, limit=limit
        )
        remaining = await _remaining(context.store, prefix, list_snapshot.START_NOW, page=page)
        warnings = damage_reports.warnings(page.damaged)
        cached = CachedList(object_codec.items(page.records, resource), page.revision, page.last, remaining, warnings)
        context.list_cache.put(list_key, cached)
        revision = page.revision
    else:
        revision = unchanged.now
    continue_ = list_snapshot.continue_token(revision, cached.last, prefix, following=cached.remaining) if cached.last else ""
    body = object_codec.listing(resource, cached.items, revision=revision, continue_=continue_, remaining=cached.remaining)
    return Response(200, body, warnings=cached.warnings)


async def _remaining(store: Store, prefix: str, start: list_snapshot.ListStart, *, page: ListPage) -> int | None:
    """Returns how many objects follow this page at its revision; None if there are none, or if counting is expensive."""
    if not page.last:
        return None
    if start.following:
        return max(0, start.following - len(page.records)) or None
    if start.at is not None and (start.after or await store.revision() - start.at > MAX_COUNTED_REVISIONS):
        return None
    try:
        return await store.count(prefix, after=page.last, at=page.revision) or None
    except errors.Gone:  # compacted since the page was read: the page is still valid
        return None


async def collect_list(
    context: ServerContext, resource: Resource, prefix: str, *, selector: SelectorFilter, start: list_snapshot.ListStart, limit: int
) -> ListPage:
    """Collects the first `limit` objects that match (0: all). At most MAX_LARGE large lists are read at once; others wait.

    The `Gone` error of a continued list carries a token to continue with.
    """
    slot = context.large_list_limit.begin()
    try:
        return await _collect(context, resource, prefix, selector=selector, start=start, limit=limit, slot=slot)
    except errors.Gone as gone:
        if not start.after:
            raise
        raise list_snapshot.expired_token(start, prefix) from gone
    finally:
        slot.end()


async def _collect(
    context: ServerContext,
    resource: Resource,
    prefix: str,
    *,
    selector: SelectorFilter,
    start: list_snapshot.ListStart,
    limit: int,
    slot: LargeListSlot,
) -> ListPage:
    records: list[Record] = []
    damaged: tuple[DamagedRecord, ...] = ()
    at, after = start.at, start.after
    chunk = FIRST_CHUNK_RECORDS
    while True:
        remaining_limit = limit - len(records) if limit else chunk
        page = await context.store.scan(
            prefix, after=after, limit=min(chunk, remaining_limit) if selector.is_everything else chunk, at=at
        )
        at, size = page.revision, _size(page.records)
        chunk = _next_chunk(len(page.records), size)
        matching = page.records if selector.is_everything else await _matching(context, resource, page.records, selector=selector)
        damaged += page.damaged_records
        if limit and len(matching) > remaining_limit:
            last = matching[remaining_limit - 1].key
            return ListPage(
                records + matching[:remaining_limit], at, last, tuple(record for record in damaged if record.key <= last)
            )
        records += matching
        if not page.has_more:
            return ListPage(records, at, "", damaged)
        await slot.note(size if selector.is_everything else _size(matching))
        if limit and len(records) == limit:
            return ListPage(records, at, page.last_key, damaged)
        after = selector.seek(page.last_key)
        await asyncio.sleep(0)


async def iterate_pages(
    context: ServerContext, resource: Resource, prefix: str, *, selector: SelectorFilter, first: int
) -> AsyncGenerator[ListPage, None]:
    """Yields all objects that match, page by page, at one revision. The first page has up to `first` records."""
    at: Revision | None = None
    after, chunk = "", first
    while True:
        page = await context.store.scan(prefix, after=after, limit=chunk, at=at)
        at, chunk = page.revision, _next_chunk(len(page.records), _size(page.records))
        matching = page.records if selector.is_everything else await _matching(context, resource, page.records, selector=selector)
        if not page.has_more:
            yield ListPage(matching, at, "", page.damaged_records)
            return
        yield ListPage(matching, at, page.last_key, page.damaged_records)
        after = selector.seek(page.last_key)
        await asyncio.sleep(0)


def _size(records: list[Record]) -> int:
    return sum([len(record.value) for record in records])  # noqa: C419 a list is faster than a generator


def _next_chunk(number: int, size: int) -> int:
    """Returns how many records to read next, given the number and total size of the records just read."""
    return max(1, min(MAX_CHUNK_RECORDS, TARGET_CHUNK_BYTES * number // size)) if size else MAX_CHUNK_RECORDS


async def _matching(context: ServerContext, resource: Resource, records: list[Record], *, selector: SelectorFilter) -> list[Record]:
    matching, size = [], 0
    if selector.needs_served_version:
        records = await context.version_converter.served(resource, records)
    for record in records:
        if selector.matches(record.value):
            matching.append(record)
        size += len(record.value)
        if size > FILTER_SLICE_BYTES:
            size = 0
            await asyncio.sleep(0)
    return matching
