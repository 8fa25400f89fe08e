"""Compaction, and which revision was reached when.

etcd forgets history by revision and knows no times. So a moment is kept as a key that was written then: the revision before
that write is what had been reached. Compaction is etcd's own. It also removes what nobody needs any more: moments before it,
and write slots that have not been used since then, which are those given up, or of processes long gone. (A process that was
merely quiet for so long finds its slot missing, knows that nothing was written, and takes another one.)
"""

from __future__ import annotations

import contextlib
import itertools
import logging

from probate.core import errors
from probate.store.contract import NOTHING, Revision
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout, Span
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import COMPACT, RANGE, TXN, Endpoints
from probate.store.etcd.write_slots import Slots

log = logging.getLogger(__name__)

_AT_ONCE = 100


class Past:
    """The store's history, as far as it is kept."""

    def __init__(self, endpoints: Endpoints, layout: Layout, slots: Slots, *, seconds: float) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._slots = slots
        self._seconds = seconds
        self._compacted = NOTHING  # as far as this process knows: others compact too

    def learn(self, gone: Revision) -> None:
        """etcd said that this revision is compacted."""
        self._compacted = max(self._compacted, Revision(gone + 1))

    def check_is_kept(self, revision: Revision) -> None:
        """`Gone` if this revision is known to be compacted."""
        if revision < self._compacted:
            raise errors.Gone(
                f"revision {revision} is too old: history begins at {self._compacted}. List again and go on from there"
            )

    async def compact(self, before: Revision) -> None:
        """Forget what was before a revision that has been reached."""
        if before <= self._compacted:
            return
        with contextlib.suppress(errors.Gone):  # another server did it already
            await self._endpoints.ask(COMPACT, rpc.CompactionRequest(revision=before), seconds=self._seconds)
        self._compacted = max(self._compacted, before)
        try:
            await self._remove_unused(self._layout.slots, Revision(before - 1))
            await self._remove_unused(self._layout.times, before)
        except (errors.StoreUnavailable, errors.StoreFull) as error:
            log.info("old slots and moments stay until the next compaction: %s", error)

    async def note_time(self, now: float) -> None:
        """Remember that the revision of now was reached by `now`. Done twice, it is only more precise."""
        request = rpc.TxnRequest(success=[messages.put(self._layout.time(now)), messages.put(self._layout.tick)])
        await self._endpoints.ask(TXN, request, seconds=self._seconds)

    async def revision_at(self, time: float) -> Revision | None:
        """The newest revision among the moments up to `time`. Clocks differ, so the newest moment need not have it."""
        request = rpc.RangeRequest(
            key=self._layout.times.key,
            range_end=self._layout.time(time) + b"\x00",
            sort_target=rpc.RangeRequest.MOD,
            sort_order=rpc.RangeRequest.DESCEND,
            limit=1,
            keys_only=True,
        )
        answer = await self._endpoints.ask(RANGE, request, seconds=self._seconds)
        return Revision(answer.kvs[0].mod_revision - 1) if answer.kvs else None

    async def _remove_unused(self, span: Span, until: Revision) -> None:
        """Remove the keys of a range that were last written up to a revision, unless they are written meanwhile."""
        request = rpc.RangeRequest(key=span.key, range_end=span.range_end, max_mod_revision=until, keys_only=True)
        answer = await self._endpoints.ask(RANGE, request, seconds=self._seconds)
        unused = (kv for kv in answer.kvs if not self._slots.uses(kv.key))
        while some := list(itertools.islice(unused, _AT_ONCE)):
            removal = rpc.TxnRequest(
                compare=[messages.unchanged(kv.key, kv.mod_revision) for kv in some],
                success=[*(messages.delete(kv.key) for kv in some), messages.put(self._layout.tick)],
            )
            await self._endpoints.ask(TXN, removal, seconds=self._seconds)
