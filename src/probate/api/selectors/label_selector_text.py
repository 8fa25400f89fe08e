"""The text of a label selector, as queries and `kubectl -l` have it, read into requirements.

    selector      nothing, or requirements with commas between them
    requirement   key | !key | key = value | key == value | key != value | key > number | key < number
                  key in (values) | key notin (values)
    values        with commas between them; an empty one is the empty value, as in `key=` and `key in ()`

White space may stand between any two words. Nothing is quoted: a label's value never needs it. `in` and `notin` are operators
only where one can stand, so they are good keys and values too.
"""

from __future__ import annotations

import re
from typing import NoReturn

from probate.api import names
from probate.api.selectors.requirements import MAX_REQUIREMENTS, Requirement, problems_of_values
from probate.core import errors

OPERATORS = ("=", "==", "!=", "in", "notin", "<", ">")

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+|\Z)")
_SYMBOLS = frozenset(["", "==", "!=", "=", "!", "(", ")", ",", "<", ">"])


def read(text: str) -> list[Requirement]:
    """The requirements in the text, in its order. Raises `BadRequest` that says what stands where it should not."""
    words = _Words(text)
    found = [] if words.next == "" else [_read_requirement(words)]
    while words.next != "":
        words.expect((",",), "',' or the end")
        found.append(_read_requirement(words))
        if len(found) > MAX_REQUIREMENTS:
            raise errors.BadRequest(f"the label selector asks more than {MAX_REQUIREMENTS:,} things")
    return found


class _Words:
    """The words and symbols of a text, one after the other; the empty word is its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found = [(match[1], match.start(1)) for match in _TOKEN.finditer(text)]
        self._number = 0

    @property
    def next(self) -> str:
        return self._found[self._number][0]

    @property
    def is_word(self) -> bool:
        return self.next not in _SYMBOLS

    def take(self) -> str:
        word = self.next
        self._number += word != ""
        return word

    def expect(self, wanted: tuple[str, ...], described: str) -> str:
        return self.take() if self.next in wanted else self.refuse(described)

    def word(self, described: str) -> str:
        return self.take() if self.is_word else self.refuse(described)

    def refuse(self, expected: str) -> NoReturn:
        word, place = self._found[self._number]
        found = f"'{word}'" if word else "the end"
        raise errors.BadRequest(
            f"unable to parse the label selector {self._text!r}: found {found} at character {place + 1}, expected: {expected}"
        )


def _read_requirement(words: _Words) -> Requirement:
    is_absent = words.next == "!" and words.take() == "!"
    key = words.word("a label's key" if is_absent else "!, or a label's key")
    if problem := "; ".join(names.qualified_name(key)):
        raise errors.BadRequest(f"the label selector has the key {key!r}: {problem}")
    if is_absent or words.next in ("", ","):
        return Requirement(key, "!" if is_absent else "exists")
    operator = words.expect(OPERATORS, "one of " + ", ".join(OPERATORS))
    values = _read_values(words) if operator in ("in", "notin") else _read_value(words)
    return _checked(Requirement(key, operator.replace("==", "="), values))


def _read_value(words: _Words) -> tuple[str, ...]:
    return ("",) if words.next in ("", ",") else (words.word("a value"),)


def _read_values(words: _Words) -> tuple[str, ...]:
    words.expect(("(",), "'('")
    values = {words.take() if words.is_word else ""}
    while words.next == ",":
        words.take()
        values.add(words.take() if words.is_word else "")
    words.expect((")",), "',' or ')'")
    return tuple(sorted(values))


def _checked(requirement: Requirement) -> Requirement:
    if problem := problems_of_values(requirement):
        raise errors.BadRequest(f"the label selector asks {requirement}: {problem}")
    return requirement
