"""Sets of indexes as Jobs spell them: `0-3,5,7`, in growing order, each less than the number of completions."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")

Interval = tuple[int, int]


class BadIndexes(ValueError):
    """The text is no such set. The message says why."""


def intervals(text: str, below: int) -> list[Interval]:
    """The runs of indexes in the text, first and last of each."""
    found: list[Interval] = []
    for part in text.split(",") if text else ():
        run = _interval(part, below)
        if found and found[-1][1] >= run[0]:
            raise BadIndexes(f"indexes must grow, but {run[0]} comes after {found[-1][1]}")
        found.append(run)
    return found


def size(text: str, below: int) -> int:
    """How many indexes the text has."""
    return sum(last - first + 1 for first, last in intervals(text, below))


def shared(one: str, other: str, below: int) -> int | None:
    """The least index that stands in both, None if there is none. Runs that cannot be read are left out."""
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
        except BadIndexes:
            continue


def _interval(part: str, below: int) -> Interval:
    limits = part.split("-")
    if len(limits) > 2:
        raise BadIndexes(f"{part!r} has more than a first and a last index")
    numbers = [_index(limit, below) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise BadIndexes(f"indexes must grow, but {numbers[1]} comes after {numbers[0]}")
    return numbers[0], numbers[-1]


def _index(text: str, below: int) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise BadIndexes(f"{text!r} is no index")
    if int(text) >= below:
        raise BadIndexes(f"{text!r} is too large an index")
    return int(text)
