"""`list`: the objects of a resource, all of one moment, in pages if a limit is given."""

from __future__ import annotations

from typing import NamedTuple

from probate.server import filtering, places, query, shaping, snapshots
from probate.server.api import Answer, Api
from probate.server.filtering import Filter
from probate.server.negotiation import Form
from probate.server.request import Request, Target
from probate.store.contract import Record, Revision, Store

CHUNK = 500
"""Records read at once, so that a long list lets others have their turn."""


class Found(NamedTuple):
    """Part of a list. `last` is the key after which it goes on, if it does."""

    records: list[Record]
    revision: Revision
    last: str


async def list_(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """The objects that match, up to the limit."""
    options = query.list_options(request.query)
    wanted = filtering.of(at, options, api.kinds.rules(at.resource).fields())
    prefix = places.within(at.resource, at.namespace)
    start = await snapshots.start(api.store, options, prefix)
    found = await collect(api.store, prefix, wanted, start, options.limit)
    continue_ = snapshots.token(found.revision, found.last, prefix) if found.last else ""
    remaining = (
        await api.store.count(prefix, after=found.last) if found.last and wanted.is_everything and start.at is None else None
    )
    return shaping.many(
        api,
        found.records,
        at.resource,
        form,
        revision=found.revision,
        continue_=continue_,
        remaining=remaining or None,
    )


async def collect(store: Store, prefix: str, wanted: Filter, start: snapshots.Start, limit: int) -> Found:
    """The first `limit` objects that match (all, if it is 0)."""
    records: list[Record] = []
    at, after = start
    while True:
        room = limit - len(records) if limit else CHUNK
        page = await store.scan(prefix, after=after, limit=min(CHUNK, room) if wanted.is_everything else CHUNK, at=at)
        at = page.revision
        for record in page.records:
            after = record.key
            if wanted.matches(record.value):
                records.append(record)
                if limit and len(records) == limit:
                    is_last = not page.more and record is page.records[-1]
                    return Found(records, at, "" if is_last else after)
        if not page.more:
            return Found(records, at, "")
