"""The report of a full check of a store. Each engine builds one without changing the store."""

from __future__ import annotations

from typing import NamedTuple

from probate.store.contract import DamagedRecord


class CheckReport(NamedTuple):
    """How many object versions were read, which of them are damaged, and other problems."""

    objects: int
    history: int = 0  # versions that were replaced, or whose objects were deleted
    damaged: tuple[DamagedRecord, ...] = ()
    damaged_history: tuple[DamagedRecord, ...] = ()
    problems: tuple[str, ...] = ()  # of the store as a whole
    notes: tuple[str, ...] = ()  # what was not checked, and why
