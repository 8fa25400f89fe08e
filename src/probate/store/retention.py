"""Forgets history that is older than it has to be kept.

An engine knows revisions, not times. So every `interval` this notes which revision the store had reached, and compacts to
the newest one that was noted at least `keep` seconds ago: history is kept for `keep` and at most one interval more.
The notes are in the store, so a restart forgets neither them nor the history. Several servers on one store may all do this.

While a process runs, it goes by the wall-clock time of its start and what has passed since: a clock that is set hours forward does
not make all history look old, and one that is set back does not date what is new to the past.
"""

from __future__ import annotations

import logging

from probate.core import errors
from probate.core.clock import Clock, SteadyClock
from probate.store.contract import Store

log = logging.getLogger(__name__)

KEEP = 24 * 3600.0
INTERVAL = 300.0
SHORTEST_INTERVAL = 1.0


async def keep_history(store: Store, clock: Clock, *, keep: float = KEEP, interval: float | None = None) -> None:
    """Compact again and again; never returns. A store that does not answer is tried again an interval later.

    What is not kept for long is forgotten more often: else most of what is there would be older than it has to be.
    """
    clock = SteadyClock(clock)
    interval = interval if interval is not None else min(INTERVAL, max(SHORTEST_INTERVAL, keep / 5))
    while True:
        try:
            await forget_once(store, clock, keep=keep)
        except errors.ApiError as error:
            log.warning("history not compacted, trying again later: %s", error)
        await clock.sleep(interval)


async def forget_once(store: Store, clock: Clock, *, keep: float) -> None:
    """Compact to where the store was `keep` seconds ago, if that is known, and note the time. In this order: a full store takes
    no note, and compacting is what makes room in it."""
    now = clock.now()
    before = await store.revision_at(now - keep)
    if before is not None:
        await store.compact(before)
    await store.note_time(now)
