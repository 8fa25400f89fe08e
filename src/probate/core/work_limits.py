"""Limits the work that one object can cause, where its size does not bound it.

A custom resource's schema multiplies: each list item is tried against each alternative, each character of a text against each
branch of a pattern, each missing field brings a default of any size. So a few kilobytes can cause an hour of work. Code that
multiplies counts its cost as it goes (`spend`), and code that starts the work sets the limit (`WorkLimit`).

    with work_limits.WorkLimit(20_000):
        validate(object_, schema)      raises TooMuchWork

A step is about a microsecond. CEL expressions count a cost of their own, of which several make a step: fewer on the event loop, so
that expressions do not delay other requests (`spend_cel_cost`). Outside a `WorkLimit` nothing is counted. Work under a limit
changes only its own arguments, so it can be repeated from the start with a higher limit, on a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import msgspec

from probate.core import errors

T = TypeVar("T")


class TooMuchWork(errors.TooLarge):
    """The work exceeds its limit."""

    def __init__(self) -> None:
        super().__init__(
            "checking the object by its schema takes too long: it has too many parts for its alternatives, patterns and defaults"
        )


STEPS_PER_COST = 0.25
"""Steps per unit of CEL cost, roughly."""

COST_BETWEEN_PAUSES = 500
"""CEL cost after which `pause` is called: less than half a millisecond."""


class _Remaining(msgspec.Struct, gc=False):
    """The remaining budget of a limit."""

    steps: int
    steps_per_cost: float
    pause: Callable[[], None] | None
    cost: int = 0  # since the last pause


_remaining: ContextVar[_Remaining | None] = ContextVar("effort", default=None)


class WorkLimit:
    """Limits the work within a `with` block to this many steps. Long work calls `pause` regularly, so that other requests run."""

    __slots__ = ("_remaining", "_token")

    def __init__(self, steps: int, *, steps_per_cost: float = STEPS_PER_COST, pause: Callable[[], None] | None = None) -> None:
        self._remaining = _Remaining(steps, steps_per_cost, pause)

    def __enter__(self) -> None:
        self._token = _remaining.set(self._remaining)

    def __exit__(self, *_: object) -> None:
        _remaining.reset(self._token)


def run_limited(steps: int, steps_per_cost: float, work: Callable[[], T]) -> T:
    """Runs the work with at most this many steps and returns its result.

    Fast path: equals `WorkLimit`, for work on every request.
    """
    token = _remaining.set(_Remaining(steps, steps_per_cost, None))
    try:
        return work()
    finally:
        _remaining.reset(token)


def spend(steps: int) -> None:
    """Counts steps that are about to be done. Raises `TooMuchWork` if that exceeds the limit."""
    remaining = _remaining.get()
    if remaining is not None:
        remaining.steps -= steps
        if remaining.steps < 0:
            raise TooMuchWork


def spend_cel_cost(cost: int) -> None:
    """Counts the cost of CEL expressions that are about to be evaluated. Raises `TooMuchWork` if that exceeds the limit."""
    remaining = _remaining.get()
    if remaining is None:
        return
    spend(1 + int(cost * remaining.steps_per_cost))
    remaining.cost += cost
    if remaining.pause is not None and remaining.cost >= COST_BETWEEN_PAUSES:
        remaining.cost %= COST_BETWEEN_PAUSES
        remaining.pause()
