"""Makes the C library return freed memory to the system.

glibc keeps freed memory for later allocations. Small objects settle between large responses, so most of it would never be returned:
after an attack the process would stay as large as it was at its peak. `malloc_trim` returns every free page. It takes some
milliseconds, during which other threads run until they allocate memory. So it runs on a thread, when it is likely to help.

Python's own memory for small objects is freed an arena (a megabyte) at a time, once no object is left in it. Three sorts of objects
outlive their use and keep arenas: reference cycles and the free lists of built-in types, which a full garbage collection frees, and
names in the type attribute cache, up to 4,096, since C code that looks up an attribute by a C string creates a new `str` each time.
`free_leftovers` frees all three. It stops all threads while it runs, so it runs only while there are few connections, and therefore
few objects.

(A fixed mmap threshold, above which glibc maps and unmaps each block separately, would work too. But then the system has to clear
the memory of each large list first, which takes as long as building the list.)
"""

from __future__ import annotations

import asyncio
import functools
import gc
import sys
from pathlib import Path
from typing import Any

SLACK_BYTES = 8 * 1024 * 1024
SLACK_SHARE = 0.1
"""By how much the process may exceed its smallest size before memory is returned."""
SHORTEST_SECONDS, LONGEST_SECONDS = 5, 20
"""Pause between two attempts; the longer one after attempts that did not help."""
LAST_ATTEMPTS = 3
"""Attempts after the last activity: the memory of the last connections is freed a little after they close."""
FEW_CONNECTIONS = 500
"""With at most this many open connections, a garbage collection takes at most about 20 ms."""
_PAGE_BYTES = 4096


def trim() -> None:
    """Returns free memory to the system. Does nothing if the C library is not glibc."""
    library = _c_library()
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


@functools.cache  # each `CDLL` creates classes of its own
def _c_library() -> Any:
    import ctypes  # noqa: PLC0415 importing it takes milliseconds, too long for a start

    return ctypes.CDLL(None)


def resident_bytes() -> int:
    """Returns the resident set size of the process; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def free_leftovers() -> None:
    """Frees small objects that the interpreter keeps although nothing uses them."""
    gc.collect()
    # Documented for such special purposes; Python 3.13 replaced the second by the first.
    clear = getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None)
    if clear is not None:
        clear()


class Trimmer:
    """Returns memory to the system from time to time, while the process is larger than it was."""

    def __init__(self) -> None:
        self._lowest = 0
        self._activity = self._attempts = 0
        self._pause = self._left = SHORTEST_SECONDS

    async def look(self, activity: int, connections: int) -> None:
        """Checks the size and returns memory if it helps. Call it once a second.

        `activity` is a number that changes whenever memory may have been freed.
        """
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
            free_leftovers()
        await asyncio.to_thread(trim)
        after = resident_bytes()
        has_helped = before - after > before * SLACK_SHARE / 2
        self._pause = SHORTEST_SECONDS if has_helped else min(2 * self._pause, LONGEST_SECONDS)
        self._left = self._pause
