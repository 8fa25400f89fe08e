"""What is wrong with a field, in Kubernetes' words: the causes of an `Invalid` answer.

A check yields problems; nobody raises before all are found, or more than anybody reads: `first` stops a check there, so that a
body full of mistakes costs no more than a good one. `Path` spells where: `spec.containers[1].name`, `data[a b]`.

    problems = [required(path / "name"), not_supported(path / "restartPolicy", "Sometimes", ["Always", "Never", "OnFailure"])]
    if problems: raise errors.Invalid(kind, name, problems)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

MAX_PROBLEMS = 250
MAX_NAME = 200
"""Characters of one name that a path shows. A path is made for every part of an object, so it must not be long."""
MAX_SUPPORTED = 100
"""Values that a message names where another was given."""
MAX_SHOWN = 200
"""Characters of a value that a message shows."""

REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
NOT_FOUND = "FieldValueNotFound"
TYPE_INVALID = "FieldValueTypeInvalid"


class Path(NamedTuple):
    """A field's place in an object. `path / "spec" / 0 / "name"` goes deeper; `path @ "a b"` is a key of a map."""

    text: str = ""

    def __truediv__(self, part: str | int) -> Path:
        if isinstance(part, int):
            return Path(f"{self.text}[{part}]")
        return Path(field(self.text, part))

    def __matmul__(self, key: str) -> Path:
        return Path(f"{self.text}[{key if len(key) <= MAX_NAME else cut(key)}]")

    def __str__(self) -> str:
        return self.text


def field(path: str, name: str) -> str:
    """The place of a field below a place."""
    shown = name if len(name) <= MAX_NAME else cut(name)
    return f"{path}.{shown}" if path else shown


def cut(name: str) -> str:
    """As much of a long name as tells it from others."""
    return f"{name[: MAX_NAME - 3]}..."


def first(found: Iterable[Problem]) -> list[Problem]:
    """As many problems as are told."""
    return list(islice(found, MAX_PROBLEMS))


class Problem(NamedTuple):
    """One cause: Kubernetes' reason for it, where, and a sentence."""

    reason: str
    field: str
    message: str


def required(path: Path, detail: str = "") -> Problem:
    """The field must be given."""
    return Problem(REQUIRED, str(path), f"Required value: {detail}" if detail else "Required value")


def invalid(path: Path, value: Any, detail: str) -> Problem:
    """The field's value is wrong."""
    return Problem(INVALID, str(path), f"Invalid value: {shown(value)}: {detail}")


def not_supported(path: Path, value: Any, supported: Iterable[str], *, is_in_order: bool = False) -> Problem:
    """The field's value is none of those there are. They are told in order of their names if they are not in any other."""
    told = list(supported) if is_in_order else sorted(supported)
    listed = ", ".join(f'"{one}"' for one in told[:MAX_SUPPORTED])
    return Problem(NOT_SUPPORTED, str(path), f"Unsupported value: {shown(value)}: supported values: {listed}")


def forbidden(path: Path, detail: str) -> Problem:
    """The field must not be given, or not changed."""
    return Problem(FORBIDDEN, str(path), f"Forbidden: {detail}")


def duplicate(path: Path, value: Any) -> Problem:
    """The value is there already."""
    return Problem(DUPLICATE, str(path), f"Duplicate value: {shown(value)}")


def too_long(path: Path, limit: int) -> Problem:
    """The text is over its limit."""
    return Problem(TOO_LONG, str(path), f"Too long: may not be more than {limit} bytes")


def too_many(path: Path, actual: int, limit: int) -> Problem:
    """The list is over its limit."""
    return Problem(TOO_MANY, str(path), f"Too many: {actual}: must have at most {limit} items")


def not_found(path: Path, value: Any) -> Problem:
    """The field names something that is not there."""
    return Problem(NOT_FOUND, str(path), f"Not found: {shown(value)}")


def type_invalid(path: Path, value: Any, detail: str) -> Problem:
    """The value is of the wrong type."""
    return Problem(TYPE_INVALID, str(path), f"Invalid value: {shown(value)}: {detail}")


def shown(value: Any) -> str:
    """The value as a message shows it, cut where it would fill the screen: the rest is not even looked at."""
    text = f'"{value[:MAX_SHOWN]}"' if isinstance(value, str) else ""
    for piece in () if isinstance(value, str) else _json(value):
        text += piece
        if len(text) > MAX_SHOWN:
            break
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def _json(value: Any) -> Iterator[str]:
    """The value's JSON piece by piece, with no piece much longer than what is shown."""
    if isinstance(value, dict):
        yield "{"
        for number, (name, inner) in enumerate(value.items()):
            yield f"{',' if number else ''}{json.dumps(name[:MAX_SHOWN], ensure_ascii=False)}:"
            yield from _json(inner)
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for number, inner in enumerate(value):
            yield "," if number else ""
            yield from _json(inner)
        yield "]"
    else:
        yield json.dumps(value[:MAX_SHOWN] if isinstance(value, str) else value, ensure_ascii=False)
