"""Decides whether the operations on one register are linearizable: Wing and Gong's search, with Lowe's memoisation.

A configuration is the set of operations that have taken effect and the state after them. From each, any operation may come next
that began before every other pending one had ended, and whose outcome the model allows. No configuration is visited twice. Two
rules shorten the search without missing a solution:

- A possible operation that changes nothing comes at once: wherever else it could come, it can come here too.
- An operation with unknown outcome need not come at all; it may come at any time after it began.

Registers are independent, so each is checked separately. A search that exceeds its limits is undecided, which counts as a failure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from linearizability.history import Operation
from linearizability.model import Impossible, State, is_pure, step

MAX_CONFIGURATIONS = 300_000
MAX_SECONDS = 20.0
MAX_SHOWN = 8
"""How many operations an explanation shows: the last ones of the longest order, and those that cannot follow it."""


class Verdict(NamedTuple):
    """The result. `explanation` shows the longest order found, and the operations that could not follow it."""

    result: Literal["linearizable", "violated", "undecided"]
    explanation: str = ""


class _Configuration(NamedTuple):
    taken: int  # a set of operations, as bits
    state: State


class _Step(NamedTuple):
    """A configuration, the order of operations that led to it, and what can come next."""

    configuration: _Configuration
    order: tuple[int, ...]
    choices: Iterator[_Configuration]


class Search:
    """The search for a linearization of the operations on one register, which is absent at the beginning."""

    def __init__(self, operations: Sequence[Operation], *, initial: State = None) -> None:
        self._operations = sorted((one for one in operations if one.outcome != "failed"), key=lambda one: one.start)
        self._ends = [math.inf if one.end is None or one.outcome == "unknown" else one.end for one in self._operations]
        self._required = sum(1 << at for at, one in enumerate(self._operations) if one.outcome != "unknown")
        self._visited: set[_Configuration] = set()
        self._best: tuple[int, ...] = ()
        self._best_state: State = initial
        self._initial = initial

    def run(
        self,
        *,
        configurations: int = MAX_CONFIGURATIONS,
        seconds: float = MAX_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> Verdict:
        deadline = clock() + seconds
        stack = [self._at(_Configuration(0, self._initial), ())]
        while stack:
            here = stack[-1]
            if here.configuration.taken & self._required == self._required:
                return Verdict("linearizable")
            following = next(here.choices, None)
            if following is None:
                stack.pop()
            elif following not in self._visited:
                self._visited.add(following)
                stack.append(self._at(following, here.order + self._added(here.configuration, following)))
            if len(self._visited) > configurations or clock() > deadline:
                return Verdict("undecided", f"{len(self._visited)} configurations visited\n{self._explanation()}")
        return Verdict("violated", self._explanation())

    def _at(self, configuration: _Configuration, order: tuple[int, ...]) -> _Step:
        if len(order) > len(self._best):
            self._best, self._best_state = order, configuration.state
        return _Step(configuration, order, self._choices(configuration))

    def _choices(self, here: _Configuration) -> Iterator[_Configuration]:
        possible = [
            (at, after)
            for at in self._pending(here.taken)
            if not isinstance(after := step(here.state, self._operations[at]), Impossible)
        ]
        pure = sum(1 << at for at, _ in possible if is_pure(self._operations[at]))
        if pure:
            yield _Configuration(here.taken | pure, here.state)
            return
        for at, after in possible:
            yield _Configuration(here.taken | 1 << at, after)

    def _pending(self, taken: int) -> Iterator[int]:
        """Yields the operations that may come next: those that began before any other pending one ended."""
        horizon = math.inf
        first = (~taken & (taken + 1)).bit_length() - 1  # the first one not taken
        for at in range(first, len(self._operations)):
            if self._operations[at].start > horizon:
                return
            if not taken >> at & 1:
                horizon = min(horizon, self._ends[at])
                yield at

    def _added(self, before: _Configuration, after: _Configuration) -> tuple[int, ...]:
        new = before.taken ^ after.taken
        return tuple(at for at in range(new.bit_length()) if new >> at & 1)

    def _explanation(self) -> str:
        taken = sum(1 << at for at in self._best)
        stuck = [self._operations[at] for at in self._pending(taken)]
        return "\n".join(
            [
                f"the longest order that explains the answers has {len(self._best)} of {len(self._operations)} operations, last",
                *(f"    {self._operations[at]}" for at in self._best[-MAX_SHOWN:]),
                f"  the register then holds {self._best_state}; none of these can come next:",
                *(f"    {one}" for one in stuck[:MAX_SHOWN]),
            ]
        )


def check(operations: Sequence[Operation]) -> Verdict:
    """Checks whether the operations on one register are linearizable."""
    return Search(operations).run()
