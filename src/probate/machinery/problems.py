"""What is wrong with a field, in Kubernetes' words: the causes of an `Invalid` answer.

A check returns problems; nobody raises before all are found. `Path` spells where: `spec.containers[1].name`, `data[a b]`.

    problems = [required(path / "name"), not_supported(path / "restartPolicy", "Sometimes", ["Always", "Never", "OnFailure"])]
    if problems: raise errors.Invalid(kind, name, problems)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

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
        return Path(f"{self.text}.{part}" if self.text else part)

    def __matmul__(self, key: str) -> Path:
        return Path(f"{self.text}[{key}]")

    def __str__(self) -> str:
        return self.text


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


def not_supported(path: Path, value: Any, supported: Iterable[str]) -> Problem:
    """The field's value is none of those there are."""
    listed = ", ".join(f'"{one}"' for one in sorted(supported))
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
    """The value as a message shows it, cut where it would fill the screen."""
    text = f'"{value}"' if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= 200 else text[:197] + "..."
