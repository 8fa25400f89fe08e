"""JSONPath as kubectl and printer columns use it: where in an object a value is.

    .spec.replicas                                      a field
    .metadata.labels.app\\.kubernetes\\.io/name           a field with dots in its name; also ['app.kubernetes.io/name']
    .spec.hosts[0]   .spec.hosts[-1]   .spec.ports[1:3] items of a list by place
    .spec.hosts[*]   .spec.*                            all items, all values
    .spec['cpu','memory']                               several
    .status.conditions[?(@.type=="Ready")].status       items that compare so: == != < <= > >=, or have a field: [?(@.message)]
    ..image                                             a field at any depth

A path is parsed once and asked often. What is not there is not found; nothing is an error but a path that cannot be read. Users
write paths and the server follows them, so those that could take for ever are refused too.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from probate.core import work_limits

Step = Callable[[Any], list[Any]]  # from one value to those that the step leads to

_AT_MOST = {"..": 3, "?": 32, ",": 12}  # each multiplies the work, or nests
_ENDS_FIELD = frozenset(" \t\r\n.,[]$@{}")
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
    """A path that cannot be read. The message says where it goes wrong."""


class Path:
    """A path that has been read."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    def find(self, value: Any) -> list[Any]:
        """All values there, in their order. Empty if there are none."""
        found = [value]
        for step in self._steps:
            found = [result for one in found for result in step(one)]
            work_limits.spend(len(found) // 10)
        return found


def parse(text: str) -> Path:
    """The path, without braces around it. `BadPath` if it makes no sense."""
    for sign, most in _AT_MOST.items():
        if text.count(sign) > most:
            raise BadPath(f"a path may have {sign!r} {most} times, not {text.count(sign)} times")
    return Path(list(_steps(text)))


def _steps(text: str) -> Iterator[Step]:
    place = 0
    while place < len(text):
        if text[place] == "[":
            end = _closing(text, place)
            yield _bracket(text[place + 1 : end].strip())
            place = end + 1
        elif text[place] == ".":
            if text.startswith("..", place):
                yield _descend
                place += 1
            name, place = _name(text, place + 1)
            if name:
                yield _wildcard if name == "*" else _field(name.replace("\\", ""))
        elif text[place] in " \t\r\n$@":
            place += 1
        else:
            raise BadPath(f"{text!r} has {text[place]!r} where a field must begin with a dot or a bracket")


def _name(text: str, start: int) -> tuple[str, int]:
    end = start
    while end < len(text) and text[end] not in _ENDS_FIELD:
        end += 2 if text[end] == "\\" else 1
    return text[start:end], min(end, len(text))


def _closing(text: str, start: int) -> int:
    """Where the bracket ends that begins there. Brackets inside it pair up, and those in quotes mean nothing."""
    depth, quote = 0, ""
    for place in range(start, len(text)):
        char = text[place]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[]":
            depth += 1 if char == "[" else -1
            if not depth:
                return place
    raise BadPath(f"{text!r} has a bracket that does not end")


def _bracket(text: str) -> Step:
    if text.startswith("?"):
        return _filter(text[1:].strip())
    parts = [_part(one.strip()) for one in re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^,])+", text)]
    if not parts:
        raise BadPath("a bracket is empty: it takes a place, a quoted field, * or a filter")
    return parts[0] if len(parts) == 1 else lambda value: [result for part in parts for result in part(value)]


def _part(text: str) -> Step:
    if text == "*":
        return _slice(slice(None))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _field(text[1:-1])
    match = _SLICE.fullmatch(text)
    if match is None or text == "-":
        raise BadPath(f"[{text}] is no place in a list, no quoted field and no filter")
    start, stop, step = (int(one) if one not in (None, "", "-") else None for one in match.groups())
    if step == 0:
        raise BadPath(f"[{text}] would never get on: its step is 0")
    return _slice(slice(start, stop, step)) if ":" in text or start is None else _item(start)


def _filter(text: str) -> Step:
    if not (text.startswith("(") and text.endswith(")")):
        raise BadPath(f"[?{text}] is no filter: it wants parentheses, as in [?(@.type)]")
    match = _COMPARISON.fullmatch(text[1:-1].strip())
    if match is None:
        has = parse(text[1:-1])
        return lambda value: [item for item in value if has.find(item)] if isinstance(value, list) else []
    left, sign, right = match.groups()
    if sign not in _OPERATORS:
        raise BadPath(f"{sign!r} compares nothing; there are {' '.join(_OPERATORS)}")
    compare, first, second = _OPERATORS[sign], _operand(left.strip()), _operand(right.strip())

    def chosen(value: Any) -> list[Any]:
        items = value if isinstance(value, list) else []
        return [item for item in items if _compares(compare, first(item), second(item))]

    return chosen


def _operand(text: str) -> Step:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return lambda _: [text[1:-1]]
    if text in {"true", "false"}:
        return lambda _: [text == "true"]
    if _NUMBER.fullmatch(text):
        return lambda _: [float(text)]
    return parse(text).find


def _compares(compare: Callable[[Any, Any], bool], left: list[Any], right: list[Any]) -> bool:
    """Only one value can be compared with one, and only values of a kind."""
    if len(left) != 1 or len(right) != 1:
        return False
    return any(isinstance(left[0], kind) and isinstance(right[0], kind) for kind in (str, int | float)) and compare(*left, *right)


def _field(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _item(place: int) -> Step:
    return lambda value: [value[place]] if isinstance(value, list) and -len(value) <= place < len(value) else []


def _slice(places: slice) -> Step:
    return lambda value: value[places] if isinstance(value, list) else []


def _wildcard(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descend(value: Any) -> list[Any]:
    found: list[Any] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(reversed(_wildcard(one)))
    return found
