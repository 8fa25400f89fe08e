"""Logs and counts the limits that clients reach.

Each limit is logged when it is first reached, and again only after it was not reached for a minute: a client that runs into a limit
usually does so again and again, and a line for each time would bury the log. The counter `probate_limit_reached_total` counts each
time.
"""

from __future__ import annotations

import logging
from typing import Any

from probate.core.clock import Clock
from probate.core.logs import facts
from probate.core.metrics import Registry

QUIET_SECONDS = 60.0

log = logging.getLogger(__name__)


class LimitLog:
    """The limits of one process. A limit's name is one out of a few: it is a label of the counter."""

    def __init__(self, clock: Clock, registry: Registry | None = None) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}
        help_ = "Times a limit was reached, so that a request or connection was refused, or another connection was closed for it."
        self._counter = (registry or Registry()).counter("probate_limit_reached", help_, ("limit",))

    def record(self, limit: str, **details: Any) -> None:
        """Counts that a limit was reached, and logs it with these details unless it was reached within the last minute."""
        self._counter[limit,] += 1
        now, last = self._clock.monotonic(), self._last.get(limit)
        self._last[limit] = now
        if last is None or now - last > QUIET_SECONDS:
            log.warning("limit reached", extra=facts(limit=limit, **details))
