"""What commands call outside the command line. `__main__` passes it in, so that commands import neither engines nor the server."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from probate.settings import Settings


class DamagedRow(NamedTuple):
    """A row of the table of damaged objects."""

    resource: str
    namespace: str
    name: str
    revision: int
    problem: str


class StoreCheck(NamedTuple):
    """The result of reading a whole store."""

    objects: int
    history: int
    damaged: list[DamagedRow]
    problems: list[str]
    notes: list[str]

    @property
    def is_healthy(self) -> bool:
        return not self.damaged and not self.problems


class CommandClock(Protocol):
    """The time by which a command waits. The module `time` is one."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


class CommandContext(NamedTuple):
    """`serve` runs the server; `check_store` reads the whole store at an address."""

    serve: Callable[[Settings], None]
    check_store: Callable[[str], StoreCheck]
    clock: CommandClock = time
