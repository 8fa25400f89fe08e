"""A memory for what came last: it holds at least the newest `number` things, and never more than twice as many (and what came with
them).

What is full is set aside as a whole and forgotten with the next. (A dict that gives up its oldest entry for each new one gets slow:
it walks over the places of all that went before.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Things by name."""

    __slots__ = ("_newer", "_number", "_older")

    def __init__(self, number: int) -> None:
        self._number = number
        self._newer: dict[str, T] = {}
        self._older: dict[str, T] = {}

    def __setitem__(self, name: str, thing: T) -> None:
        if len(self._newer) >= self._number:
            self._older, self._newer = self._newer, {}
        self._newer[name] = thing

    def update(self, things: Mapping[str, T]) -> None:
        """Remember several."""
        if len(self._newer) >= self._number:
            self._older, self._newer = self._newer, {}
        self._newer.update(things)

    def __contains__(self, name: object) -> bool:
        return name in self._newer or name in self._older

    def get(self, name: str) -> T | None:
        """What was remembered last under this name, if it still is."""
        found = self._newer.get(name)
        return self._older.get(name) if found is None else found

    def pop(self, name: str) -> T | None:
        """The same, and forget it."""
        older = self._older.pop(name, None) if self._older else None
        found = self._newer.pop(name, None)
        return older if found is None else found
