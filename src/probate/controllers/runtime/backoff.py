"""Exponential backoff: the delay before each retry doubles, up to a limit, until a success resets it."""

from __future__ import annotations

_MAX_EXPONENT = 20


class Backoff:
    """The delays of several keys, each of which doubles with that key's failures."""

    def __init__(self, first_seconds: float, max_seconds: float) -> None:
        self._first, self._max = first_seconds, max_seconds
        self._failures: dict[str, int] = {}

    def fail(self, key: str = "") -> float:
        """Counts a failure. Returns after how many seconds to retry."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(self._first * 2.0 ** min(failures, _MAX_EXPONENT), self._max)

    def reset(self, key: str = "") -> None:
        """Forgets the failures of the key: its next delay is the first one again."""
        self._failures.pop(key, None)
