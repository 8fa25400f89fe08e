"""Compacts history that is older than the retention period.

An engine knows revisions, not times. So every `interval_seconds` this module records which revision the store has reached, and
compacts to the newest revision recorded at least `keep_seconds` ago. History is therefore kept for `keep_seconds` and at most
one interval longer. The records are in the store, so a restart loses neither them nor the history. Several servers on one store
may all do this.

A process takes the time from the wall clock at its start plus the monotonic time since. So a clock that is set forward by hours
does not make all history look old, and one that is set back does not give new revisions an old time.
"""

from __future__ import annotations

import logging

from probate.core import errors
from probate.core.clock import Clock, SteadyClock
from probate.core.logs import facts
from probate.store.contract import Store

log = logging.getLogger(__name__)

KEEP_SECONDS = 24 * 3600.0
INTERVAL_SECONDS = 300.0
MIN_INTERVAL_SECONDS = 1.0


async def compact_periodically(
    store: Store, clock: Clock, *, keep_seconds: float = KEEP_SECONDS, interval_seconds: float | None = None
) -> None:
    """Compacts the store once per interval, forever. If the store does not answer, tries again one interval later.

    The shorter the retention period, the shorter the default interval: otherwise most of the stored history would be older than
    the period.
    """
    clock = SteadyClock(clock)
    if interval_seconds is None:
        interval_seconds = min(INTERVAL_SECONDS, max(MIN_INTERVAL_SECONDS, keep_seconds / 5))
    while True:
        try:
            await compact_once(store, clock, keep_seconds=keep_seconds)
        except errors.ApiError as error:
            log.warning("history not compacted, trying again later", extra=facts(error=str(error)))
        await clock.sleep(interval_seconds)


async def compact_once(store: Store, clock: Clock, *, keep_seconds: float) -> None:
    """Compacts to the revision of `keep_seconds` ago, if it is known, then records the time.

    In this order, because a full store accepts no record, and compacting is what frees space in it.
    """
    now = clock.now()
    before = await store.revision_at(now - keep_seconds)
    if before is not None:
        await store.compact(before)
    await store.record_time(now)
