"""Makes the C library give freed memory back to the system.

glibc takes large blocks from the system one by one and gives each back when it is freed. But the first that is freed raises the
size from which it does so, up to 32 MiB. From then on large answers are cut out of the common heap, small things settle between
them, and nothing of it is ever given back: after an attack the process stays as large as it was at its worst. A fixed size keeps
that from happening. It costs a few microseconds for each block of this size or more.
"""

from __future__ import annotations

from typing import Any

LARGE_BYTES = 256 * 1024
"""From this size a block is given back as soon as it is freed."""
TRIM_BYTES = 8 * 1024 * 1024
"""What may stay free at the end of the heap. (It would be 128 KiB, and the heap would shrink and grow all the time.)"""
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # glibc's numbers for its settings


def give_back_freed() -> None:
    """Give back what is free now, and large blocks from now on. Does nothing where the C library is another one."""
    library = _library()
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(_TRIM_THRESHOLD, TRIM_BYTES)
    trim()


def trim() -> None:
    """Give back what is free now. It takes some milliseconds, for which other threads go on until they need memory."""
    library = _library()
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def _library() -> Any:
    import ctypes  # noqa: PLC0415 to load it takes milliseconds, which a start does not have

    return ctypes.CDLL(None)
