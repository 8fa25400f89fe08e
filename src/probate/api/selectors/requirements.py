"""One requirement of a label selector, compiled to a function.

Requirement("app", "=", ("web",))           app=web
Requirement("tier", "notin", ("a", "b"))    tier notin (a,b)       also matches if there is no such label
Requirement("weight", ">", ("5",))          weight>5               matches only if the label is an integer
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import gt, lt

import msgspec

from probate.api import names

MAX_REQUIREMENTS = 1_000
"""Largest number of requirements of a selector in a query: each may be tested against every object. Values are not counted."""

Test = Callable[[Mapping[str, str]], bool]

_INT64 = range(-(2**63), 2**63)


class Requirement(msgspec.Struct, frozen=True, order=True):
    """A key, an operator (=, !=, in, notin, >, <, exists, !) and its values, which are sorted and unique.

    So requirements with the same meaning are equal.
    """

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


def validate_values(requirement: Requirement) -> str:
    """Validates the values for the operator. Returns a message, or an empty string."""
    for value in requirement.values:
        if messages := names.validate_label_value(value):
            return f"{value!r} {'; '.join(messages)}"
        if requirement.operator in (">", "<") and parse_int64(value) is None:
            return f"{value!r} must be an integer, to be compared with {requirement.operator}"
    return ""


def compile_test(requirement: Requirement) -> Test:
    """Returns a function that tests whether labels meet the requirement."""
    key, operator = requirement.key, requirement.operator
    if operator in ("=", "!=", ">", "<"):
        return _compile_single(key, operator, requirement.values[0])
    values = frozenset(requirement.values)
    tests: dict[str, Test] = {
        "in": lambda labels: labels.get(key) in values,
        "notin": lambda labels: labels.get(key) not in values,
        "exists": lambda labels: key in labels,
        "!": lambda labels: key not in labels,
    }
    return tests[operator]


def _compile_single(key: str, operator: str, value: str) -> Test:
    if operator == "=":
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return _compile_comparison(key, gt if operator == ">" else lt, parse_int64(value) or 0)


def _compile_comparison(key: str, compare: Callable[[int, int], bool], limit: int) -> Test:
    def is_met(labels: Mapping[str, str]) -> bool:
        number = parse_int64(labels.get(key, ""))
        return number is not None and compare(number, limit)

    return is_met


def parse_int64(text: str) -> int | None:
    """Parses a 64-bit integer. Returns None for any other text."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(text) if len(digits) < 100 and int(text) in _INT64 else None
