"""`find` and `findAll` with patterns in Go's syntax."""

from __future__ import annotations

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.functions import Library, first
from probate.lib.cel.library.strings import automaton, matching
from probate.lib.regexp.search import find

LIBRARY = Library()
function = LIBRARY.function


@function("string::find(string) -> string", cost=matching, grows=first)
def _find(meter: Meter, text: str, pattern: str) -> str:
    meter.charge(len(text) // 3)
    found = find(automaton(pattern), text, 0)
    return "" if found is None else text[found[0] : found[1]]


@function("string::findAll(string) -> list<string>", cost=matching, grows=first)
def _find_all(meter: Meter, text: str, pattern: str) -> list[str]:
    return _up_to(meter, text, pattern, -1)


@function("string::findAll(string, int) -> list<string>", cost=lambda text, pattern, _: matching(text, pattern), grows=first)
def _up_to(meter: Meter, text: str, pattern: str, limit: int) -> list[str]:  # noqa: PLR0917 CEL passes arguments by position
    found: list[str] = []
    machine, at, last = automaton(pattern), 0, -1
    meter.charge(len(text) // 3)
    while at <= len(text) and (limit < 0 or len(found) < limit):
        match = find(machine, text, at)
        if match is None:
            break
        start, end = match
        meter.charge(1 + max(end - at, 1) // 3)
        if end > start or start != last:  # an empty match directly after a match is skipped
            found.append(text[start:end])
        last = end
        at = end if end > start else end + 1
    return found
