"""Parses the text of a label selector, as in queries and in `kubectl -l`, into requirements.

    selector      empty, or requirements separated by commas
    requirement   key | !key | key = value | key == value | key != value | key > number | key < number
                  key in (values) | key notin (values)
    values        separated by commas; an empty one is the empty value, as in `key=` and `key in ()`

White space is allowed between any two tokens. There is no quoting: a label value never needs it. `in` and `notin` are operators
only in the operator position, so they are valid keys and values, too.
"""

from __future__ import annotations

import re
from typing import NoReturn

from probate.api import names
from probate.api.selectors.requirements import MAX_REQUIREMENTS, Requirement, validate_values
from probate.core import errors

OPERATORS = ("=", "==", "!=", "in", "notin", "<", ">")

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+|\Z)")
_SYMBOLS = frozenset(["", "==", "!=", "=", "!", "(", ")", ",", "<", ">"])


def parse_requirements(text: str) -> list[Requirement]:
    """Returns the requirements in the text, in its order. Raises `BadRequest` with the position of a wrong token."""
    tokens = _Tokens(text)
    requirements = [] if tokens.next == "" else [_parse_requirement(tokens)]
    while tokens.next != "":
        tokens.expect((",",), "',' or the end")
        requirements.append(_parse_requirement(tokens))
        if len(requirements) > MAX_REQUIREMENTS:
            raise errors.BadRequest(f"the label selector has more than {MAX_REQUIREMENTS:,} requirements")
    return requirements


class _Tokens:
    """The tokens of a text; the empty token is its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(match[1], match.start(1)) for match in _TOKEN.finditer(text)]
        self._position = 0

    @property
    def next(self) -> str:
        return self._tokens[self._position][0]

    @property
    def is_word(self) -> bool:
        return self.next not in _SYMBOLS

    def take(self) -> str:
        token = self.next
        self._position += token != ""
        return token

    def expect(self, tokens: tuple[str, ...], expected: str) -> str:
        return self.take() if self.next in tokens else self.raise_error(expected)

    def take_word(self, expected: str) -> str:
        return self.take() if self.is_word else self.raise_error(expected)

    def raise_error(self, expected: str) -> NoReturn:
        token, position = self._tokens[self._position]
        found = f"'{token}'" if token else "the end"
        raise errors.BadRequest(
            f"unable to parse the label selector {self._text!r}: found {found} at character {position + 1}, expected: {expected}"
        )


def _parse_requirement(tokens: _Tokens) -> Requirement:
    is_absent = tokens.next == "!" and tokens.take() == "!"
    key = tokens.take_word("a label's key" if is_absent else "!, or a label's key")
    if problem := "; ".join(names.validate_qualified_name(key)):
        raise errors.BadRequest(f"the label selector has the key {key!r}: {problem}")
    if is_absent or tokens.next in ("", ","):
        return Requirement(key, "!" if is_absent else "exists")
    operator = tokens.expect(OPERATORS, "one of " + ", ".join(OPERATORS))
    values = _parse_values(tokens) if operator in ("in", "notin") else _parse_value(tokens)
    return _validated(Requirement(key, operator.replace("==", "="), values))


def _parse_value(tokens: _Tokens) -> tuple[str, ...]:
    return ("",) if tokens.next in ("", ",") else (tokens.take_word("a value"),)


def _parse_values(tokens: _Tokens) -> tuple[str, ...]:
    tokens.expect(("(",), "'('")
    values = {tokens.take() if tokens.is_word else ""}
    while tokens.next == ",":
        tokens.take()
        values.add(tokens.take() if tokens.is_word else "")
    tokens.expect((")",), "',' or ')'")
    return tuple(sorted(values))


def _validated(requirement: Requirement) -> Requirement:
    if problem := validate_values(requirement):
        raise errors.BadRequest(f"the label selector has the requirement {requirement}: {problem}")
    return requirement
