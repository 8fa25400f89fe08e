"""How much work one object may make, where that is not told by its size.

A custom kind's schema multiplies: each item of a list is tried against each alternative, each character of a text against each
branch of a pattern, each missing field brings a default of any size. A few kilobytes can so ask for an hour. Whoever multiplies
says what it costs as it goes (`spend`), and whoever starts the work says how much it may be (`limited`).

    with effort.limited(20_000):
        validate(object_, schema)      raises TooMuch

A step is a microsecond or so. Expressions count their own cost, of which several make a step: on the loop fewer, so that it is
not they who keep others waiting (`spend_cost`). Outside of `limited` nothing is counted. What is limited changes nothing but what
it was given, so it can be done again from the start with a higher limit, elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import msgspec

from probate.core import errors

T = TypeVar("T")


class TooMuch(errors.TooLarge):
    """The work is over its limit."""

    def __init__(self) -> None:
        super().__init__(
            "checking the object by its schema takes too long: it has too many parts for its alternatives, patterns and defaults"
        )


STEPS_PER_COST = 0.25
"""Steps that a unit of cost of expressions is about."""

COST_BETWEEN_PAUSES = 500
"""Cost of expressions after which whoever runs them is asked to let others go on: less than half a millisecond."""


class _Left(msgspec.Struct, gc=False):
    """What is left of a limit."""

    steps: int
    steps_per_cost: float
    pause: Callable[[], None] | None
    cost: int = 0  # since the last pause


_left: ContextVar[_Left | None] = ContextVar("effort", default=None)


class limited:  # noqa: N801 it is used like a function
    """Work within takes at most so many steps. `pause` is called now and then by what takes long, so that others go on."""

    __slots__ = ("_left", "_token")

    def __init__(self, steps: int, *, steps_per_cost: float = STEPS_PER_COST, pause: Callable[[], None] | None = None) -> None:
        self._left = _Left(steps, steps_per_cost, pause)

    def __enter__(self) -> None:
        self._token = _left.set(self._left)

    def __exit__(self, *_: object) -> None:
        _left.reset(self._token)


def within(steps: int, steps_per_cost: float, work: Callable[[], T]) -> T:
    """What the work gives, if it takes at most so many steps. The same as `limited`, for what is done with every request."""
    token = _left.set(_Left(steps, steps_per_cost, None))
    try:
        return work()
    finally:
        _left.reset(token)


def spend(steps: int) -> None:
    """So much is about to be done. Raises `TooMuch` if that is over the limit."""
    left = _left.get()
    if left is not None:
        left.steps -= steps
        if left.steps < 0:
            raise TooMuch


def spend_cost(cost: int) -> None:
    """Expressions of this cost are about to be evaluated. Raises `TooMuch` if that is over the limit."""
    left = _left.get()
    if left is None:
        return
    spend(1 + int(cost * left.steps_per_cost))
    left.cost += cost
    if left.pause is not None and left.cost >= COST_BETWEEN_PAUSES:
        left.cost %= COST_BETWEEN_PAUSES
        left.pause()
