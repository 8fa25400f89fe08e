"""Bounds how old the view is that watches give: the feed's place is compared with etcd's own every second.

A watch of etcd that says nothing may mean that nothing happens, or that its member is paused or cut off from the others. The feed
alone cannot tell. So a linearizable read, by any member that answers, asks for etcd's newest revision; if the feed has shown that
one, it had shown everything when the read began, and that moment is noted. Keys of others raise the revision too: a feed that has
not reached it is compared with the newest key that this store has written. (Every transaction writes a slot, everything else
the tick, see `layout`.) These are reads, so a store that nobody uses is not written to.

A member that does not answer the read is left, with all watches on it (see `endpoints`). So is one whose watch does not show what
another member has. When the last confirmation is older than the bound, the view is not current: `confirmed` is None, and who
decides by what was watched must wait or refuse.
"""

from __future__ import annotations

import logging

from probate.core import errors
from probate.core.logs import facts
from probate.store.contract import Revision
from probate.store.etcd.feed import Feed
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, Endpoints

log = logging.getLogger(__name__)

EVERY_SECONDS = 1.0
ANSWER_SECONDS = 1.0
"""How long one member may take to answer before another is asked."""
SHOW_SECONDS = 1.0
"""How long the feed may take to show what etcd has before it is moved to another member, unless it comes closer meanwhile."""
GLANCE_SECONDS = 0.1
"""How long it may take before the revision is looked into: most often the event is on its way."""


class Currency:
    """Whether one store's feed is current. `seconds` is the bound."""

    def __init__(self, endpoints: Endpoints, layout: Layout, feed: Feed, *, seconds: float) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._feed = feed
        self._seconds = seconds
        self._revision = feed.revision
        self._at = endpoints.clock.monotonic()
        self._is_known_current = True

    def confirmed(self) -> Revision | None:
        """What the feed was last found to have shown; None if that was too long ago."""
        return self._revision if self._age() <= self._seconds else None

    def check(self) -> None:
        """`StoreUnavailable` if the view is not current."""
        if self.confirmed() is None:
            raise errors.StoreUnavailable(
                f"the watch of etcd was last confirmed to be current {self._age():.0f} s ago, of at most {self._seconds:g} s: "
                "requests that need rights are refused until it is"
            )

    async def run(self) -> None:
        """Confirm every second. Never returns."""
        while True:
            try:
                await self._confirm()
            except errors.ApiError as error:
                log.debug("etcd watch not confirmed", extra=facts(error=str(error)))
            self._tell()
            await self._endpoints.clock.sleep(EVERY_SECONDS)

    async def _confirm(self) -> None:
        began = self._endpoints.clock.monotonic()
        newest = await self._newest(rpc.RangeRequest(key=self._layout.tick, count_only=True))
        if not await self._is_shown(newest, GLANCE_SECONDS):
            newest = await self._newest_own()
            before = self._feed.revision
            if not await self._is_shown(newest, SHOW_SECONDS):
                if self._feed.revision == before:
                    log.info("etcd watch is behind, moving it to another member", extra=facts(newest=newest, seen=before))
                    self._endpoints.leave_watched()
                return
        self._at, self._revision = began, newest

    async def _is_shown(self, revision: Revision, seconds: float) -> bool:
        await self._feed.reach(revision, seconds=seconds)
        return self._feed.revision >= revision

    async def _newest(self, request: rpc.RangeRequest) -> Revision:
        answer = await self._ask(request)
        return Revision(answer.header.revision)

    async def _newest_own(self) -> Revision:
        """The revision of the newest change that this store made, by whichever server."""
        slots = rpc.RangeRequest(
            key=self._layout.slots.key,
            range_end=self._layout.slots.range_end,
            sort_target=rpc.RangeRequest.MOD,
            sort_order=rpc.RangeRequest.DESCEND,
            limit=1,
            keys_only=True,
        )
        # In this order: a slot that is removed between the two writes the tick.
        found = [kv for request in (slots, rpc.RangeRequest(key=self._layout.tick)) for kv in (await self._ask(request)).kvs]
        return Revision(max((kv.mod_revision for kv in found), default=0))

    async def _ask(self, request: rpc.RangeRequest) -> rpc.RangeResponse:
        return await self._endpoints.ask(RANGE, request, seconds=self._seconds, patience=ANSWER_SECONDS)

    def _age(self) -> float:
        return self._endpoints.clock.monotonic() - self._at

    def _tell(self) -> None:
        is_current = self.confirmed() is not None
        if is_current != self._is_known_current:
            self._is_known_current = is_current
            if is_current:
                log.warning("etcd watch is current again", extra=facts(revision=self._revision))
            else:
                age = f"{self._age():.1f}s"
                log.warning("etcd watch is not current, requests that need rights wait or are refused", extra=facts(age=age))
