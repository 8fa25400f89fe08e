"""Sets of numbers as a Job's status spells them: `0-3,5,7` has the numbers 0, 1, 2, 3, 5 and 7. Two in a row are `4,5`."""

from __future__ import annotations

from collections.abc import Iterable


def read(text: str | None, below: int) -> set[int]:
    """The numbers in the text that are less than `below`. What is no number is left out."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), min(int(last or first) + 1, below)))
    return found


def spelt(numbers: Iterable[int]) -> str:
    """The text for the numbers."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"
