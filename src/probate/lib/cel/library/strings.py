"""The standard string functions of CEL."""

from __future__ import annotations

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, tenth
from probate.lib.regexp import Automaton, BadPattern, compile_pattern

LIBRARY = Library()
function = LIBRARY.function


def searching(text: int, part: int) -> int:
    """Cost of searching one string in another."""
    return max(tenth(text), 1) * max(tenth(part), 1)


def matching(text: int, pattern: int) -> int:
    """Cost of matching a pattern."""
    return max(tenth(text + 1), 1) * max((pattern + 3) // 4, 1)


@function("string::contains(string) -> bool", cost=searching)
def _contains(_: Meter, text: str, part: str) -> bool:
    return part in text


@function("string::startsWith(string) -> bool", cost=lambda _, part: tenth(part))
def _starts(_: Meter, text: str, part: str) -> bool:
    return text.startswith(part)


@function("string::endsWith(string) -> bool", cost=lambda _, part: tenth(part))
def _ends(_: Meter, text: str, part: str) -> bool:
    return text.endswith(part)


@function("string::matches(string) -> bool", "matches(string, string) -> bool", cost=matching)
def _matches(meter: Meter, text: str, pattern: str) -> bool:
    meter.charge(len(text) // 3)  # the automaton reads every character in Python
    return automaton(pattern).search(text)


def automaton(pattern: str) -> Automaton:
    """Compiles a pattern."""
    try:
        return compile_pattern(pattern)
    except BadPattern as error:
        raise CelError(f"error parsing regexp: {error}") from None
