"""Logs when a limit is reached: once when it begins, and not again until nobody has reached that limit for a minute.

A client that runs into a limit usually does so again and again, so a line for each time would bury the log. The counter
`probate_limit_reached_total` has each time.
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
    """The limits of one process. `limit` is the name of one, out of a few: it is a label of the counter."""

    def __init__(self, clock: Clock, registry: Registry | None = None) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}
        counted = "How often a limit was reached, so that a request or connection was refused or another one was ended for it."
        self._counter = (registry or Registry()).counter("probate_limit_reached", counted, ("limit",))

    def reached(self, limit: str, **details: Any) -> None:
        """A limit was reached."""
        self._counter[limit,] += 1
        now, last = self._clock.monotonic(), self._last.get(limit)
        self._last[limit] = now
        if last is None or now - last > QUIET_SECONDS:
            log.warning("limit reached", extra=facts(limit=limit, **details))
