"""Offloader: runs work on the event loop if it is small, else on a thread, so that long work does not delay other requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from probate.core import errors, work_limits
from probate.core.aio import time_slices
from probate.core.aio.offload import InlineOffload, Offload, WorkerPool

T = TypeVar("T")

LARGE_BYTES = 16 * 1024
"""Work on more than this many bytes (parsing, validating, encoding) runs on a thread, so that it does not block the event loop."""
MAX_INLINE_STEPS = 20_000
"""Steps of work that may run on the event loop. Work that needs more restarts on a thread. A step takes about a microsecond."""
MAX_STEPS = 3_000_000
"""Steps after which work on a thread is stopped."""
STEPS_PER_CEL_COST = 20.0
"""Steps that one unit of CEL cost counts as on the event loop: 1,000 units, under half a millisecond, move the work to a thread."""


class Offloader:
    """Decides where work runs. Without an `offload`, everything runs on the event loop."""

    def __init__(self, offload: Offload | None = None) -> None:
        self._offload = offload or InlineOffload()

    async def offload_if_large(self, size: int, work: Callable[[], T]) -> T:
        """Runs work on the event loop if it is small, else on a thread, and returns its result.

        Work is large if `size` exceeds LARGE_BYTES or if it takes more than MAX_INLINE_STEPS. In the second case it is started a
        second time, on a thread, so it must have no side effects.
        """
        if size <= LARGE_BYTES:
            try:
                return work_limits.run_limited(MAX_INLINE_STEPS, STEPS_PER_CEL_COST, work)
            except work_limits.TooMuchWork:
                pass
        pause = self._pause(time_slices.current())
        return await self.run_in_thread(lambda: _run_limited(MAX_STEPS, work, pause))

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Runs work on a thread and returns its result."""
        return await self._offload.run(work)

    def _pause(self, turns: time_slices.TimeSlices) -> Callable[[], None] | None:
        """Returns what long work calls from time to time: its thread releases the interpreter while other tasks are waiting."""
        offload = self._offload
        return (lambda: offload.pause() if turns.is_busy else None) if isinstance(offload, WorkerPool) else None


def _run_limited(steps: int, work: Callable[[], T], pause: Callable[[], None] | None) -> T:
    try:
        with work_limits.WorkLimit(steps, pause=pause):
            return work()
    except errors.ApiError as error:
        # The traceback references everything that the work held; freeing that on the event loop would block it.
        raise error.with_traceback(None) from None
