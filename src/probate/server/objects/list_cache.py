"""Lists that were answered lately, kept as bytes for as long as nothing in their range has changed.

Most ranges change seldom and are listed often. The store says since when a range is calm: if a list was read in that time, it is
what reading it again would give, and only its resourceVersion has to be written anew. So it is never older than one that is read.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from probate.store.contract import Calm, Revision

MAX_BYTES = 24 * 1024 * 1024
"""Of all lists together. One that takes more than a quarter of it is not kept."""
LARGE_BYTES = 2 * 1024 * 1024
MAX_LARGE = 4
"""Lists over this size that are read at once."""


class Place(NamedTuple):
    """What was asked for: objects of a kind in one of its versions, in a range, and how many."""

    group: str
    version: str
    kind: str
    prefix: str
    limit: int


class Listing(NamedTuple):
    """What was found at `revision`. `last` is the key after which the list goes on, if it does; `remaining` is how much."""

    items: bytes
    revision: Revision
    last: str
    remaining: int | None
    warnings: tuple[str, ...] = ()  # about what was left out


class Listings:
    """The lists of one server. The one that nobody has asked for longest goes first."""

    def __init__(self, size: int = MAX_BYTES) -> None:
        self._room = size
        self._longest = size // 4
        self._known: OrderedDict[Place, Listing] = OrderedDict()

    def find(self, place: Place, calm: Calm | None) -> Listing | None:
        """The list, if it is still what it was."""
        found = self._known.get(place)
        if found is None or calm is None or not calm.since <= found.revision <= calm.now:
            return None
        self._known.move_to_end(place)
        return found

    def keep(self, place: Place, listing: Listing) -> None:
        """Remember a list."""
        self._forget(place)
        if len(listing.items) > self._longest:
            return
        self._known[place] = listing
        self._room -= _size(place, listing)
        while self._room < 0:
            self._forget(next(iter(self._known)))

    def _forget(self, place: Place) -> None:
        known = self._known.pop(place, None)
        if known is not None:
            self._room += _size(place, known)


def _size(place: Place, listing: Listing) -> int:
    return len(listing.items) + len(listing.last) + len(place.prefix) + 500  # about what a list costs besides


class Large:
    """Whose turn it is to read a large list: what is read of several at once is held several times."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MAX_LARGE)

    def begin(self) -> Turn:
        return Turn(self._room)


class Turn:
    """That of one list."""

    def __init__(self, room: asyncio.Semaphore) -> None:
        self._room = room
        self._size = 0
        self._is_on = False

    async def note(self, size: int) -> None:
        """So many bytes were read. From a size on it goes on when it is its turn."""
        self._size += size
        if self._size > LARGE_BYTES and not self._is_on:
            await self._room.acquire()
            self._is_on = True

    def end(self) -> None:
        if self._is_on:
            self._room.release()
