"""Index sets in the format of a Job's status: `0-3,5,7` is 0, 1, 2, 3, 5 and 7. Two consecutive indexes are written `4,5`."""

from __future__ import annotations

from collections.abc import Iterable


def parse_indexes(text: str | None, below: int) -> set[int]:
    """Returns the indexes in the text that are less than `below`. Parts that are not numbers are ignored."""
    indexes: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            indexes.update(range(int(first), min(int(last or first) + 1, below)))
    return indexes


def format_indexes(indexes: Iterable[int]) -> str:
    """Returns the text for the indexes."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_format_run(first, last) for first, last in runs)


def _format_run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"
