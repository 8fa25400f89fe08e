"""Makes the C library give freed memory back to the system.

glibc keeps what was freed for what is needed next. Small things settle between large answers, so most of it would never be given
back: after an attack the process would stay as large as it was at its worst. `malloc_trim` gives back every free page. It takes
some milliseconds, during which other threads go on until they need memory. So it is done on a thread, when it is likely to help.

(A fixed size from which blocks come from the system one by one, and go back one by one, would do it too. But then each large list
is written to memory that the system has to clear first, which takes as long again as making the list.)
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

SLACK_BYTES = 8 * 1024 * 1024
SLACK_SHARE = 0.1
"""By how much the process may be larger than it once was before memory is given back."""
SHORTEST_SECONDS, LONGEST_SECONDS = 5, 20
"""Between two attempts; the second after some that did not help."""
_PAGE_BYTES = 4096


def trim() -> None:
    """Give back what is free. Does nothing where the C library is not glibc."""
    import ctypes  # noqa: PLC0415 to load it takes milliseconds, which a start does not have

    library: Any = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def resident_bytes() -> int:
    """What the process has in memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


class Trimmer:
    """Gives memory back from time to time, while there is something to give back."""

    def __init__(self) -> None:
        self._lowest = 0
        self._activity = 0
        self._pause = self._left = SHORTEST_SECONDS

    async def look(self, activity: int) -> None:
        """To be called once a second. `activity` is a number that changes whenever memory may have been freed."""
        before = resident_bytes()
        self._lowest = min(self._lowest or before, before)
        self._left -= 1
        is_large = before > self._lowest * (1 + SLACK_SHARE) + SLACK_BYTES
        if self._left > 0 or activity == self._activity or not is_large:
            return
        self._activity = activity
        await asyncio.to_thread(trim)
        after = resident_bytes()
        has_helped = before - after > before * SLACK_SHARE / 2
        self._pause = SHORTEST_SECONDS if has_helped else min(2 * self._pause, LONGEST_SECONDS)
        self._left = self._pause
