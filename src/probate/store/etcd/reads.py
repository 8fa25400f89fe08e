"""All reads. They are linearizable: they see every write that was acknowledged before they began.

A read that gets no answer is sent again, to another member, until its time is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from probate.core import errors
from probate.store import keys
from probate.store.contract import Page, ReadResult, Revision
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, TXN, Members

CONCURRENT_SCANS = 64
"""Ranges that one call reads at the same time."""


class EtcdReader:
    """Reads keys and ranges of one store."""

    def __init__(self, members: Members, layout: Layout, *, seconds: float) -> None:
        self._members = members
        self._layout = layout
        self._seconds = seconds

    async def revision(self) -> Revision:
        """Returns the newest revision."""
        answer = await self._range(rpc.RangeRequest(key=self._layout.tick, count_only=True))
        return Revision(answer.header.revision)

    async def check_not_compacted(self, at: Revision) -> None:
        """Raises `Gone` if this revision was compacted."""
        await self._range(rpc.RangeRequest(key=self._layout.tick, count_only=True, revision=_etcd_revision(at)))

    async def record(self, key: str, at: Revision | None) -> ReadResult:
        """Returns one key."""
        answer = await self._range(rpc.RangeRequest(key=self._layout.etcd_key(key), revision=_etcd_revision(at)))
        return self._layout.record(answer.kvs[0]) if answer.kvs else None

    async def records(self, requested_keys: Sequence[str]) -> list[ReadResult]:
        """Returns several keys, all at one revision."""
        if not requested_keys:
            return []
        while True:
            try:
                return await self._records(requested_keys)
            except errors.Gone:  # the first part's revision was compacted before the last part was read
                continue

    async def page(self, prefix: str, after: str, limit: int, *, at: Revision | None) -> Page:
        """Returns the first records of a range."""
        range_ = self._layout.key_range(prefix, after)
        request = rpc.RangeRequest(key=range_.key, range_end=range_.range_end, limit=limit, revision=_etcd_revision(at))
        answer = await self._range(request)
        revision = Revision(answer.header.revision) if at is None else at
        return self._layout.page(answer.kvs, revision, has_more=answer.more)

    async def pages(self, prefixes: Sequence[str], limit: int) -> list[Page]:
        """Returns the first records of several ranges, reading a limited number of ranges concurrently."""
        pages: list[Page] = []
        for start in range(0, len(prefixes), CONCURRENT_SCANS):
            part = prefixes[start : start + CONCURRENT_SCANS]
            pages += await asyncio.gather(*(self.page(prefix, "", limit, at=None) for prefix in part))
        return pages

    async def nonempty_ranges(self, prefixes: Sequence[str]) -> set[str]:
        """Returns the prefixes under which at least one key exists."""
        pages = await self.pages(prefixes, 1)
        return {prefix for prefix, page in zip(prefixes, pages, strict=True) if page.records or page.damaged_records}

    async def count(self, prefix: str, after: str, at: Revision | None) -> int:
        """Returns the number of keys of a range."""
        range_ = self._layout.key_range(prefix, after)
        request = rpc.RangeRequest(key=range_.key, range_end=range_.range_end, count_only=True, revision=_etcd_revision(at))
        return (await self._range(request)).count

    async def child_prefixes(self, prefix: str) -> list[str]:
        """Returns the prefixes one segment longer than `prefix` under which keys exist. Finds them one after the other."""
        children: list[str] = []
        start, end = self._layout.key_range(prefix)
        while True:
            answer = await self._range(rpc.RangeRequest(key=start, range_end=end, limit=1, keys_only=True))
            if not answer.kvs:
                return children
            key = self._layout.store_key(answer.kvs[0].key)
            child = keys.child_prefix(key, prefix)
            if child is None:
                start = self._layout.etcd_key(key + "\x00")
            else:
                children.append(child)
                start = self._layout.etcd_key(keys.range_end(child))

    async def _range(self, request: rpc.RangeRequest) -> rpc.RangeResponse:
        return await self._members.call(RANGE, request, seconds=self._seconds)

    async def _records(self, requested_keys: Sequence[str]) -> list[ReadResult]:
        size = messages.OPERATIONS
        results, revision = await self._part(requested_keys[:size], 0)
        rest = [self._part(requested_keys[start : start + size], revision) for start in range(size, len(requested_keys), size)]
        for part, _ in await asyncio.gather(*rest):
            results += part
        return results

    async def _part(self, requested_keys: Sequence[str], revision: int) -> tuple[list[ReadResult], int]:
        request = rpc.TxnRequest(success=[messages.read(self._layout.etcd_key(key), revision=revision) for key in requested_keys])
        try:
            answer = await self._members.call(TXN, request, seconds=self._seconds)
        except errors.StoreFull:  # some versions of a full etcd refuse even a transaction that only reads
            return await self._read_singly(requested_keys, Revision(revision or await self.revision()))
        found = [response.response_range.kvs for response in answer.responses]
        return [self._layout.record(kvs[0]) if kvs else None for kvs in found], answer.header.revision

    async def _read_singly(self, requested_keys: Sequence[str], revision: Revision) -> tuple[list[ReadResult], int]:
        return await asyncio.gather(*(self.record(key, revision) for key in requested_keys)), revision


def _etcd_revision(at: Revision | None) -> int:
    """Returns the revision for a request: 0 means now. etcd's first revision is 1, at which the store is empty, as it is at 0."""
    return 0 if at is None else max(at, 1)
