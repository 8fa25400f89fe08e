"""One thing that a label selector asks of labels, checked when it is made and compiled to a function.

Requirement("app", "=", ("web",))           app=web
Requirement("tier", "notin", ("a", "b"))    tier notin (a,b)       holds too where there is no such label
Requirement("weight", ">", ("5",))          weight>5               holds only where the label is a whole number
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import gt, lt

import msgspec

from probate.api import names

MAX_REQUIREMENTS = 1_000
"""Of one selector in a query: each may be asked of every object. The values of one requirement are not counted."""

Test = Callable[[Mapping[str, str]], bool]

_INT64 = range(-(2**63), 2**63)


class Requirement(msgspec.Struct, frozen=True, order=True):
    """A key, an operator (=, !=, in, notin, >, <, exists, !) and its values: sorted and each once, so equal ones are equal."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"


def problems_of_values(requirement: Requirement) -> str:
    """What is wrong with the values for this operator, or nothing."""
    for value in requirement.values:
        if found := names.label_value(value):
            return f"{value!r} {'; '.join(found)}"
        if requirement.operator in (">", "<") and whole_number(value) is None:
            return f"{value!r} must be an integer, to be compared with {requirement.operator}"
    return ""


def compile_test(requirement: Requirement) -> Test:
    """A function that says whether labels meet the requirement."""
    key, operator = requirement.key, requirement.operator
    if operator in ("=", "!=", ">", "<"):
        return _compile_single(key, operator, requirement.values[0])
    among = frozenset(requirement.values)
    tests: dict[str, Test] = {
        "in": lambda labels: labels.get(key) in among,
        "notin": lambda labels: labels.get(key) not in among,
        "exists": lambda labels: key in labels,
        "!": lambda labels: key not in labels,
    }
    return tests[operator]


def _compile_single(key: str, operator: str, value: str) -> Test:
    if operator == "=":
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return _compile_comparison(key, gt if operator == ">" else lt, whole_number(value) or 0)


def _compile_comparison(key: str, compare: Callable[[int, int], bool], limit: int) -> Test:
    def is_met(labels: Mapping[str, str]) -> bool:
        number = whole_number(labels.get(key, ""))
        return number is not None and compare(number, limit)

    return is_met


def whole_number(text: str) -> int | None:
    """The number, if the text is a 64-bit integer and nothing else."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(text) if len(digits) < 100 and int(text) in _INT64 else None
