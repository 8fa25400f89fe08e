"""Parses sets of completion indexes as Jobs write them:

`0-3,5,7`, in increasing order, each less than the number of completions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")

Interval = tuple[int, int]


class InvalidIndexes(ValueError):
    """The text is not a valid set of indexes. The message says why."""


def intervals(text: str, below: int) -> list[Interval]:
    """Returns the intervals of indexes in the text, each as first and last."""
    found: list[Interval] = []
    for part in text.split(",") if text else ():
        run = _interval(part, below)
        if found and found[-1][1] >= run[0]:
            raise InvalidIndexes(f"indexes must be in increasing order, but {run[0]} comes after {found[-1][1]}")
        found.append(run)
    return found


def count_indexes(text: str, below: int) -> int:
    """Returns the number of indexes in the text."""
    return sum(last - first + 1 for first, last in intervals(text, below))


def first_common_index(one: str, other: str, below: int) -> int | None:
    """Returns the smallest index that is in both sets, or None. Intervals that cannot be parsed are skipped."""
    ours, theirs = (sorted(_readable(text, below)) for text in (one, other))
    mine = yours = 0
    while mine < len(ours) and yours < len(theirs):
        first, last = max(ours[mine][0], theirs[yours][0]), min(ours[mine][1], theirs[yours][1])
        if first <= last:
            return first
        if ours[mine][1] < theirs[yours][1]:
            mine += 1
        else:
            yours += 1
    return None


def _readable(text: str, below: int) -> Iterator[Interval]:
    for part in text.split(",") if text else ():
        try:
            yield _interval(part, below)
        except InvalidIndexes:
            continue


def _interval(part: str, below: int) -> Interval:
    limits = part.split("-")
    if len(limits) > 2:
        raise InvalidIndexes(f"{part!r} has more than a first and a last index")
    numbers = [_index(limit, below) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise InvalidIndexes(f"indexes must be in increasing order, but {numbers[1]} comes after {numbers[0]}")
    return numbers[0], numbers[-1]


def _index(text: str, below: int) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise InvalidIndexes(f"{text!r} is not an index")
    if int(text) >= below:
        raise InvalidIndexes(f"index {text!r} is too large")
    return int(text)
