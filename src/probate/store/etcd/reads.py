"""Everything that only reads. All reads are linearizable: they see each write that was acknowledged before they began.

A read that stays without an answer is asked again, of another member, until its time is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from probate.core import errors
from probate.store import keys
from probate.store.contract import Found, Page, Revision
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, TXN, Endpoints

SIDE_BY_SIDE = 64
"""Ranges that are asked for at once."""


class Reads:
    """The reading half of the store."""

    def __init__(self, endpoints: Endpoints, layout: Layout, *, seconds: float) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._seconds = seconds

    async def revision(self) -> Revision:
        """The newest revision."""
        answer = await self._range(rpc.RangeRequest(key=self._layout.tick, count_only=True))
        return Revision(answer.header.revision)

    async def check_is_kept(self, at: Revision) -> None:
        """`Gone` if this revision was compacted."""
        await self._range(rpc.RangeRequest(key=self._layout.tick, count_only=True, revision=_moment(at)))

    async def record(self, key: str, at: Revision | None) -> Found:
        """One key."""
        answer = await self._range(rpc.RangeRequest(key=self._layout.key(key), revision=_moment(at)))
        return self._layout.record(answer.kvs[0]) if answer.kvs else None

    async def records(self, wanted: Sequence[str]) -> list[Found]:
        """Many keys, all at one revision."""
        if not wanted:
            return []
        while True:
            try:
                return await self._records(wanted)
            except errors.Gone:  # compacted past the first part's revision before the last part was read
                continue

    async def page(self, prefix: str, after: str, limit: int, at: Revision | None) -> Page:
        """The first records of a range."""
        span = self._layout.span(prefix, after)
        answer = await self._range(rpc.RangeRequest(key=span.key, range_end=span.range_end, limit=limit, revision=_moment(at)))
        revision = Revision(answer.header.revision) if at is None else at
        return self._layout.page(answer.kvs, revision, more=answer.more)

    async def pages(self, prefixes: Sequence[str], limit: int) -> list[Page]:
        """The first records of several ranges, asked a few at a time."""
        found: list[Page] = []
        for start in range(0, len(prefixes), SIDE_BY_SIDE):
            asked = prefixes[start : start + SIDE_BY_SIDE]
            found += await asyncio.gather(*(self.page(prefix, "", limit, None) for prefix in asked))
        return found

    async def filled(self, prefixes: Sequence[str]) -> set[str]:
        """Those of the ranges that hold any key."""
        pages = await self.pages(prefixes, 1)
        return {prefix for prefix, page in zip(prefixes, pages, strict=True) if page.records or page.damaged}

    async def count(self, prefix: str, after: str, at: Revision | None) -> int:
        """How many keys a range has."""
        span = self._layout.span(prefix, after)
        request = rpc.RangeRequest(key=span.key, range_end=span.range_end, count_only=True, revision=_moment(at))
        return (await self._range(request)).count

    async def folders(self, prefix: str) -> list[str]:
        """The ranges one segment below this one that hold any key, found one after the other."""
        found: list[str] = []
        start, end = self._layout.span(prefix)
        while True:
            answer = await self._range(rpc.RangeRequest(key=start, range_end=end, limit=1, keys_only=True))
            if not answer.kvs:
                return found
            key = self._layout.text(answer.kvs[0].key)
            folder = keys.folder_of(key, prefix)
            if folder is None:
                start = self._layout.key(key + "\x00")
            else:
                found.append(folder)
                start = self._layout.key(keys.end_of(folder))

    async def _range(self, request: rpc.RangeRequest) -> rpc.RangeResponse:
        return await self._endpoints.ask(RANGE, request, seconds=self._seconds)

    async def _records(self, wanted: Sequence[str]) -> list[Found]:
        size = messages.OPERATIONS
        found, revision = await self._part(wanted[:size], 0)
        rest = [self._part(wanted[start : start + size], revision) for start in range(size, len(wanted), size)]
        for part, _ in await asyncio.gather(*rest):
            found += part
        return found

    async def _part(self, wanted: Sequence[str], revision: int) -> tuple[list[Found], int]:
        request = rpc.TxnRequest(success=[messages.read(self._layout.key(key), revision=revision) for key in wanted])
        try:
            answer = await self._endpoints.ask(TXN, request, seconds=self._seconds)
        except errors.StoreFull:  # some versions of a full etcd refuse even a transaction that only reads
            return await self._one_by_one(wanted, Revision(revision or await self.revision()))
        kvs = [response.response_range.kvs for response in answer.responses]
        return [self._layout.record(found[0]) if found else None for found in kvs], answer.header.revision

    async def _one_by_one(self, wanted: Sequence[str], revision: Revision) -> tuple[list[Found], int]:
        return await asyncio.gather(*(self.record(key, revision) for key in wanted)), revision


def _moment(at: Revision | None) -> int:
    """The revision as etcd wants it: 0 is now. Its first one is 1, when nothing was there, as nothing was before."""
    return 0 if at is None else max(at, 1)
