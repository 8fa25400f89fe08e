"""Makes the C library give freed memory back to the system.

glibc keeps what was freed for what is needed next. Small things settle between large answers, so most of it would never be given
back: after an attack the process would stay as large as it was at its worst. `malloc_trim` gives back every free page. It takes
some milliseconds, during which other threads go on until they need memory. So it is done on a thread, when it is likely to help.

Python's own memory for small objects goes back a megabyte at a time, once no object is left in it. What keeps it are objects that
wait to be used again, and objects that refer to each other in a circle: a full garbage collection frees both. It stops all threads
for as long as it takes, so it is done only while there are few connections, and therefore few objects.

(A fixed size from which blocks come from the system one by one, and go back one by one, would do it too. But then each large list
is written to memory that the system has to clear first, which takes as long again as making the list.)
"""

from __future__ import annotations

import asyncio
import functools
import gc
from pathlib import Path
from typing import Any

SLACK_BYTES = 8 * 1024 * 1024
SLACK_SHARE = 0.1
"""By how much the process may be larger than it once was before memory is given back."""
SHORTEST_SECONDS, LONGEST_SECONDS = 5, 20
"""Between two attempts; the second after some that did not help."""
LAST_ATTEMPTS = 3
"""After all activity: what is freed when the last connections end is freed a little later."""
FEW_CONNECTIONS = 500
"""With so many open ones, a garbage collection takes about 20 ms."""
_PAGE_BYTES = 4096


def trim() -> None:
    """Give back what is free. Does nothing where the C library is not glibc."""
    library = _c_library()
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


@functools.cache  # each makes classes of its own
def _c_library() -> Any:
    import ctypes  # noqa: PLC0415 to load it takes milliseconds, which a start does not have

    return ctypes.CDLL(None)


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
        self._activity = self._attempts = 0
        self._pause = self._left = SHORTEST_SECONDS

    async def look(self, activity: int, connections: int) -> None:
        """To be called once a second. `activity` is a number that changes whenever memory may have been freed."""
        before = resident_bytes()
        self._lowest = min(self._lowest or before, before)
        self._left -= 1
        is_large = before > self._lowest * (1 + SLACK_SHARE) + SLACK_BYTES
        if self._left > 0 or not is_large:
            return
        self._attempts = self._attempts + 1 if activity == self._activity else 0
        self._activity = activity
        if self._attempts > LAST_ATTEMPTS:
            return
        if connections <= FEW_CONNECTIONS:
            gc.collect()
        await asyncio.to_thread(trim)
        after = resident_bytes()
        has_helped = before - after > before * SLACK_SHARE / 2
        self._pause = SHORTEST_SECONDS if has_helped else min(2 * self._pause, LONGEST_SECONDS)
        self._left = self._pause
