"""Names of objects that no other object ever has: random UUIDs (version 4).

Python's own make one at a time, each with a call of the system for its few random bytes. These come by the block.
"""

from __future__ import annotations

from collections.abc import Callable

_AT_ONCE = 256
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


class Uids:
    """Makes one with each call, on any thread, from a source of random bytes such as `os.urandom`."""

    def __init__(self, random: Callable[[int], bytes]) -> None:
        self._random = random
        self._made: list[str] = []

    def __call__(self) -> str:
        try:
            return self._made.pop()
        except IndexError:
            block = self._random(16 * _AT_ONCE).hex()
            self._made = made = [_spelled(block[at : at + 32]) for at in range(0, len(block), 32)]
            return made.pop()


def _spelled(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:]}"
