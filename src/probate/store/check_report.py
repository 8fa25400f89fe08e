"""What a look at all of a store finds. Each engine makes one, without changing anything."""

from __future__ import annotations

from typing import NamedTuple

from probate.store.contract import Damaged


class Report(NamedTuple):
    """How many versions of objects were read, which are damaged, and what else is wrong."""

    objects: int
    history: int = 0  # versions that were replaced, or whose objects were deleted
    damaged: tuple[Damaged, ...] = ()
    damaged_history: tuple[Damaged, ...] = ()
    problems: tuple[str, ...] = ()  # of the store as a whole
    notes: tuple[str, ...] = ()  # what was not looked at, and why
