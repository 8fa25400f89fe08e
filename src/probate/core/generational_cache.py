"""A cache of the newest entries: at least the newest `capacity` ones, and never more than twice as many (plus one update).

A full generation is set aside as a whole and dropped with the next one. (A dict that evicts its oldest entry for each new one gets
slow: it scans the slots of all entries that were removed before.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class GenerationalCache(Generic[T]):
    """Values by key, in two generations."""

    __slots__ = ("_capacity", "_newer", "_older")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._newer: dict[str, T] = {}
        self._older: dict[str, T] = {}

    def __setitem__(self, key: str, value: T) -> None:
        if len(self._newer) >= self._capacity:
            self._older, self._newer = self._newer, {}
        self._newer[key] = value

    def update(self, values: Mapping[str, T]) -> None:
        """Adds several values to one generation."""
        if len(self._newer) >= self._capacity:
            self._older, self._newer = self._newer, {}
        self._newer.update(values)

    def __contains__(self, key: object) -> bool:
        return key in self._newer or key in self._older

    def get(self, key: str) -> T | None:
        """Returns the latest value of the key; None if it is not cached."""
        value = self._newer.get(key)
        return self._older.get(key) if value is None else value

    def pop(self, key: str) -> T | None:
        """Removes the key. Returns its latest value; None if it is not cached."""
        older = self._older.pop(key, None) if self._older else None
        value = self._newer.pop(key, None)
        return older if value is None else value
