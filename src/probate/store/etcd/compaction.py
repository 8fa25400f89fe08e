"""Compaction, and which revision was reached at which time.

etcd compacts history by revision and knows no times. So a time is recorded as a key written at that time: the revision before that
write is the one that had been reached. Compaction itself is etcd's. In addition it removes keys of the engine that are no longer
needed: times recorded before the compacted revision, and write slots not used since then, which were abandoned or belong to
processes that have ended. (A process that was merely idle for so long finds its slot missing, knows that nothing was written, and
creates another one.)
"""

from __future__ import annotations

import contextlib
import itertools
import logging

from probate.core import errors
from probate.core.logs import facts
from probate.store.contract import NO_REVISION, Revision
from probate.store.etcd import messages
from probate.store.etcd.layout import KeyRange, Layout
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import COMPACT, RANGE, TXN, Members
from probate.store.etcd.write_slots import WriteSlots

log = logging.getLogger(__name__)

_KEYS_PER_REMOVAL = 100


class History:
    """How far the history of one store is compacted, and the recorded times."""

    def __init__(self, members: Members, layout: Layout, slots: WriteSlots, *, seconds: float) -> None:
        self._members = members
        self._layout = layout
        self._slots = slots
        self._seconds = seconds
        self._compacted = NO_REVISION  # as far as this process knows: other servers compact too

    def mark_compacted(self, revision: Revision) -> None:
        """Records that etcd has reported this revision as compacted."""
        self._compacted = max(self._compacted, Revision(revision + 1))

    def check_not_compacted(self, revision: Revision) -> None:
        """Raises `Gone` if this revision is known to be compacted."""
        if revision < self._compacted:
            raise errors.Gone(
                f"revision {revision} is too old: history begins at {self._compacted}. List again and continue from there"
            )

    async def compact(self, before: Revision) -> None:
        """Discards the history before a revision that has been reached."""
        if before <= self._compacted:
            return
        with contextlib.suppress(errors.Gone):  # another server has already compacted it
            await self._members.call(COMPACT, rpc.CompactionRequest(revision=before), seconds=self._seconds)
        self._compacted = max(self._compacted, before)
        try:
            await self._remove_unused(self._layout.slots, Revision(before - 1))
            await self._remove_unused(self._layout.times, before)
        except (errors.StoreUnavailable, errors.StoreFull) as error:
            log.info("unused slots and times not removed, trying again at the next compaction", extra=facts(error=str(error)))

    async def record_time(self, now: float) -> None:
        """Records that the current revision was reached by `now`. Safe to repeat: a second record is only more precise."""
        request = rpc.TxnRequest(success=[messages.put(self._layout.time(now)), messages.put(self._layout.tick)])
        await self._members.call(TXN, request, seconds=self._seconds)

    async def revision_at(self, time: float) -> Revision | None:
        """Returns the newest revision recorded up to `time`. Clocks differ, so it need not belong to the newest recorded time."""
        request = rpc.RangeRequest(
            key=self._layout.times.key,
            range_end=self._layout.time(time) + b"\x00",
            sort_target=rpc.RangeRequest.MOD,
            sort_order=rpc.RangeRequest.DESCEND,
            limit=1,
            keys_only=True,
        )
        answer = await self._members.call(RANGE, request, seconds=self._seconds)
        return Revision(answer.kvs[0].mod_revision - 1) if answer.kvs else None

    async def _remove_unused(self, range_: KeyRange, until: Revision) -> None:
        """Removes the keys of a range last written at or before a revision, unless they are written meanwhile."""
        request = rpc.RangeRequest(key=range_.key, range_end=range_.range_end, max_mod_revision=until, keys_only=True)
        answer = await self._members.call(RANGE, request, seconds=self._seconds)
        unused = (kv for kv in answer.kvs if not self._slots.is_in_use(kv.key))
        while kvs := list(itertools.islice(unused, _KEYS_PER_REMOVAL)):
            removal = rpc.TxnRequest(
                compare=[messages.compare_revision(kv.key, kv.mod_revision) for kv in kvs],
                success=[*(messages.delete(kv.key) for kv in kvs), messages.put(self._layout.tick)],
            )
            await self._members.call(TXN, removal, seconds=self._seconds)
