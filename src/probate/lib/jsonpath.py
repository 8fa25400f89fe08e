"""JSONPath as kubectl and printer columns use it: selects values in an object.

    .spec.replicas                                      a field
    .metadata.labels.app\\.kubernetes\\.io/name           a field with dots in its name; also ['app.kubernetes.io/name']
    .spec.hosts[0]   .spec.hosts[-1]   .spec.ports[1:3] list items by index
    .spec.hosts[*]   .spec.*                            all items, all values
    .spec['cpu','memory']                               several fields
    .status.conditions[?(@.type=="Ready")].status       items for which == != < <= > >= holds; or with a field: [?(@.message)]
    ..image                                             a field at any depth

A path is parsed once and evaluated many times. A path that matches nothing yields no values; only a path that cannot be parsed is
an error. Users write the paths and the server evaluates them, so the parser also rejects paths whose evaluation could take
unbounded time.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from probate.core import work_limits

Step = Callable[[Any], list[Any]]  # maps one value to the values that the step selects

_MAX_OCCURRENCES = {"..": 3, "?": 32, ",": 12}  # each of these multiplies the work or adds nesting
_FIELD_TERMINATORS = frozenset(" \t\r\n.,[]$@{}")
_SLICE = re.compile(r"(-?\d*)(?::(-?\d*))?(?::(\d*))?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class BadPath(ValueError):
    """The path cannot be parsed. The message says at which part."""


class Path:
    """A parsed path."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    def find(self, value: Any) -> list[Any]:
        """Returns all matching values in document order; an empty list if there are none."""
        results = [value]
        for step in self._steps:
            results = [result for current in results for result in step(current)]
            work_limits.spend(len(results) // 10)
        return results


def parse(text: str) -> Path:
    """Parses a path without surrounding braces. Raises `BadPath` if it is invalid."""
    for sign, limit in _MAX_OCCURRENCES.items():
        if text.count(sign) > limit:
            raise BadPath(f"a path may have {sign!r} {limit} times, not {text.count(sign)} times")
    return Path(list(_steps(text)))


def _steps(text: str) -> Iterator[Step]:
    position = 0
    while position < len(text):
        if text[position] == "[":
            end = _closing_bracket(text, position)
            yield _bracket(text[position + 1 : end].strip())
            position = end + 1
        elif text[position] == ".":
            if text.startswith("..", position):
                yield _descend
                position += 1
            name, position = _read_name(text, position + 1)
            if name:
                yield _wildcard if name == "*" else _field(name.replace("\\", ""))
        elif text[position] in " \t\r\n$@":
            position += 1
        else:
            raise BadPath(f"{text!r} has {text[position]!r} where a field must begin with a dot or a bracket")


def _read_name(text: str, start: int) -> tuple[str, int]:
    end = start
    while end < len(text) and text[end] not in _FIELD_TERMINATORS:
        end += 2 if text[end] == "\\" else 1
    return text[start:end], min(end, len(text))


def _closing_bracket(text: str, start: int) -> int:
    """Returns the position of the bracket that closes the one at `start`.

    Nested brackets pair up; brackets in quotes are ignored.
    """
    depth, quote = 0, ""
    for position in range(start, len(text)):
        char = text[position]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[]":
            depth += 1 if char == "[" else -1
            if not depth:
                return position
    raise BadPath(f"{text!r} has an unclosed bracket")


def _bracket(text: str) -> Step:
    if text.startswith("?"):
        return _filter(text[1:].strip())
    parts = [_bracket_part(one.strip()) for one in re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^,])+", text)]
    if not parts:
        raise BadPath("a bracket is empty: write an index, a range, a quoted field, * or a filter in it")
    return parts[0] if len(parts) == 1 else lambda value: [result for part in parts for result in part(value)]


def _bracket_part(text: str) -> Step:
    if text == "*":
        return _slice(slice(None))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _field(text[1:-1])
    match = _SLICE.fullmatch(text)
    if match is None or text == "-":
        raise BadPath(f"[{text}] is not an index, a range, a quoted field or a filter")
    start, stop, step = (int(one) if one not in (None, "", "-") else None for one in match.groups())
    if step == 0:
        raise BadPath(f"[{text}] has a step of 0: write a step of 1 or more")
    return _slice(slice(start, stop, step)) if ":" in text or start is None else _item(start)


def _filter(text: str) -> Step:
    if not (text.startswith("(") and text.endswith(")")):
        raise BadPath(f"[?{text}] is not a filter: it needs parentheses, as in [?(@.type)]")
    match = _COMPARISON.fullmatch(text[1:-1].strip())
    if match is None:
        has = parse(text[1:-1])
        return lambda value: [item for item in value if has.find(item)] if isinstance(value, list) else []
    left, sign, right = match.groups()
    if sign not in _OPERATORS:
        raise BadPath(f"{sign!r} is not an operator: use one of {' '.join(_OPERATORS)}")
    compare, first, second = _OPERATORS[sign], _operand(left.strip()), _operand(right.strip())

    def select(value: Any) -> list[Any]:
        items = value if isinstance(value, list) else []
        return [item for item in items if _compares(compare, first(item), second(item))]

    return select


def _operand(text: str) -> Step:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return lambda _: [text[1:-1]]
    if text in {"true", "false"}:
        return lambda _: [text == "true"]
    if _NUMBER.fullmatch(text):
        return lambda _: [float(text)]
    return parse(text).find


def _compares(compare: Callable[[Any, Any], bool], left: list[Any], right: list[Any]) -> bool:
    """Compares only if each side has exactly one value and both are strings or both are numbers."""
    if len(left) != 1 or len(right) != 1:
        return False
    return any(isinstance(left[0], kind) and isinstance(right[0], kind) for kind in (str, int | float)) and compare(*left, *right)


def _field(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _item(position: int) -> Step:
    return lambda value: [value[position]] if isinstance(value, list) and -len(value) <= position < len(value) else []


def _slice(places: slice) -> Step:
    return lambda value: value[places] if isinstance(value, list) else []


def _wildcard(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descend(value: Any) -> list[Any]:
    results: list[Any] = []
    pending = [value]
    while pending:
        one = pending.pop()
        results.append(one)
        pending.extend(reversed(_wildcard(one)))
    return results
