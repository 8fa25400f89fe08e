"""Bounds how stale the view from watches may be: compares the shared watch with etcd's newest revision every second.

An etcd watch that delivers nothing may mean that nothing happens, or that its member is paused or partitioned from the others. The
watch alone cannot tell. So a linearizable read, by any member that answers, fetches etcd's newest revision; once the watch has
delivered that revision, the view was complete when the read began, and that time is recorded. Keys of other applications raise the
revision too: if the watch has not reached it, the watch is compared with the newest key that this store has written. (Every
transaction writes a slot, every other write the tick, see `layout`.) These are reads, so an unused store is not written to.

A member that does not answer the read is abandoned, with all watches on it (see `rpc.members`). So is one whose watch does not
deliver what another member has. When the last confirmation is older than the bound, the view is not current: `confirmed_revision`
is None, and decisions that depend on watched state must wait or be refused.
"""

from __future__ import annotations

import logging

from probate.core import errors
from probate.core.logs import facts
from probate.store.contract import Revision
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, Members
from probate.store.etcd.shared_watch import SharedWatch

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
MEMBER_TIMEOUT_SECONDS = 1.0
"""How long one member may take to answer before another one is asked."""
CATCH_UP_SECONDS = 1.0
"""How long the watch may take to deliver what etcd has before it is moved to another member, unless it makes progress meanwhile."""
QUICK_CATCH_UP_SECONDS = 0.1
"""How long the watch may take before the newest key of this store is looked up: usually the event is on its way."""


class Freshness:
    """Tells whether the shared watch of a store is current. `seconds` is the bound."""

    def __init__(self, members: Members, layout: Layout, watch: SharedWatch, *, seconds: float) -> None:
        self._members = members
        self._layout = layout
        self._watch = watch
        self._seconds = seconds
        self._confirmed = watch.revision
        self._confirmed_at = members.clock.monotonic()
        self._was_current = True

    def confirmed_revision(self) -> Revision | None:
        """Returns the last revision that the watch was confirmed to have delivered; None if that was too long ago."""
        return self._confirmed if self._age() <= self._seconds else None

    def check(self) -> None:
        """Raises `StoreUnavailable` if the view is not current."""
        if self.confirmed_revision() is None:
            raise errors.StoreUnavailable(
                f"the watch of etcd was last confirmed to be current {self._age():.0f} s ago, of at most {self._seconds:g} s: "
                "requests that need authorization are refused until it is"
            )

    async def run(self) -> None:
        """Confirms every second. Never returns."""
        while True:
            try:
                await self._confirm()
            except errors.ApiError as error:
                log.debug("etcd watch not confirmed", extra=facts(error=str(error)))
            self._log_change()
            await self._members.clock.sleep(CHECK_SECONDS)

    async def _confirm(self) -> None:
        started_at = self._members.clock.monotonic()
        newest = await self._newest_revision()
        if not await self._is_delivered(newest, QUICK_CATCH_UP_SECONDS):
            newest = await self._newest_own_revision()
            before = self._watch.revision
            if not await self._is_delivered(newest, CATCH_UP_SECONDS):
                if self._watch.revision == before:
                    log.info("etcd watch is behind, moving it to another member", extra=facts(newest=newest, seen=before))
                    self._members.abandon_watched()
                return
        self._confirmed_at, self._confirmed = started_at, newest

    async def _is_delivered(self, revision: Revision, seconds: float) -> bool:
        await self._watch.wait_until(revision, seconds=seconds)
        return self._watch.revision >= revision

    async def _newest_revision(self) -> Revision:
        answer = await self._range(rpc.RangeRequest(key=self._layout.tick, count_only=True))
        return Revision(answer.header.revision)

    async def _newest_own_revision(self) -> Revision:
        """Returns the revision of the newest change that any server made in this store."""
        slots = rpc.RangeRequest(
            key=self._layout.slots.key,
            range_end=self._layout.slots.range_end,
            sort_target=rpc.RangeRequest.MOD,
            sort_order=rpc.RangeRequest.DESCEND,
            limit=1,
            keys_only=True,
        )
        # In this order, because removing a slot between the two reads writes the tick.
        kvs = [kv for request in (slots, rpc.RangeRequest(key=self._layout.tick)) for kv in (await self._range(request)).kvs]
        return Revision(max((kv.mod_revision for kv in kvs), default=0))

    async def _range(self, request: rpc.RangeRequest) -> rpc.RangeResponse:
        return await self._members.call(RANGE, request, seconds=self._seconds, member_seconds=MEMBER_TIMEOUT_SECONDS)

    def _age(self) -> float:
        return self._members.clock.monotonic() - self._confirmed_at

    def _log_change(self) -> None:
        is_current = self.confirmed_revision() is not None
        if is_current != self._was_current:
            self._was_current = is_current
            if is_current:
                log.warning("etcd watch is current again", extra=facts(revision=self._confirmed))
            else:
                age = f"{self._age():.1f}s"
                log.warning("etcd watch is not current, requests that need authorization wait or are refused", extra=facts(age=age))
