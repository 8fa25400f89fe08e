"""What commands do to the world, given to them from outside: commands know no engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.settings import Settings


class DamagedRow(NamedTuple):
    """A line of the table of damaged objects."""

    resource: str
    namespace: str
    name: str
    revision: int
    problem: str


class StoreCheck(NamedTuple):
    """What a look at all of a store found."""

    objects: int
    history: int
    rows: list[DamagedRow]
    problems: list[str]
    notes: list[str]

    @property
    def is_well(self) -> bool:
        return not self.rows and not self.problems


class Doors(NamedTuple):
    """`serve` runs the server; `check_store` reads all of the store at an address."""

    serve: Callable[[Settings], None]
    check_store: Callable[[str], StoreCheck]
