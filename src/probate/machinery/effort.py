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

from contextvars import ContextVar

from probate import errors


class TooMuch(errors.TooLarge):
    """The work is over its limit."""

    def __init__(self) -> None:
        super().__init__(
            "checking the object by its schema takes too long: it has too many parts for its alternatives, patterns and defaults"
        )


COST_PER_STEP = 4
"""Cost of expressions that is about one step."""

_left: ContextVar[list[int] | None] = ContextVar("effort", default=None)


class limited:  # noqa: N801 it is used like a function
    """Work within takes at most so many steps."""

    __slots__ = ("_cost_per_step", "_steps", "_token")

    def __init__(self, steps: int, *, cost_per_step: int = COST_PER_STEP) -> None:
        self._steps = steps
        self._cost_per_step = cost_per_step

    def __enter__(self) -> None:
        self._token = _left.set([self._steps, self._cost_per_step])

    def __exit__(self, *_: object) -> None:
        _left.reset(self._token)


def spend(steps: int) -> None:
    """So much is about to be done. Raises `TooMuch` if that is over the limit."""
    left = _left.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise TooMuch


def spend_cost(cost: int) -> None:
    """Expressions of this cost are about to be evaluated. Raises `TooMuch` if that is over the limit."""
    left = _left.get()
    if left is not None:
        spend(1 + cost // left[1])
