"""Uids of objects: random UUIDs (version 4), never used twice.

Python's `uuid4` makes one at a time, each with a system call for a few random bytes. `UidGenerator` makes them in blocks.
"""

from __future__ import annotations

from collections.abc import Callable

_BLOCK_SIZE = 256
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


class UidGenerator:
    """Returns a new uid with each call, from a source of random bytes such as `os.urandom`. Thread-safe."""

    def __init__(self, random: Callable[[int], bytes]) -> None:
        self._random = random
        self._uids: list[str] = []

    def __call__(self) -> str:
        try:
            return self._uids.pop()
        except IndexError:
            block = self._random(16 * _BLOCK_SIZE).hex()
            self._uids = uids = [_format(block[at : at + 32]) for at in range(0, len(block), 32)]
            return uids.pop()


def _format(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:]}"
