"""Field errors, in Kubernetes' words: the causes of an `Invalid` response.

Validation functions yield field errors instead of raising, so that a response reports all of them. `limit_field_errors` stops a
validation after `MAX_FIELD_ERRORS`: an object full of mistakes costs no more than a valid one. `FieldPath` formats the path of a
field: `spec.containers[1].name`, `data[a b]`.

    field_errors = [required(path / "name"), not_supported(path / "restartPolicy", "Sometimes", ["Always", "Never", "OnFailure"])]
    if field_errors: raise errors.Invalid(kind, name, field_errors)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

MAX_FIELD_ERRORS = 250
MAX_NAME_LENGTH = 200
"""Longest field name in a path, in characters. Validation builds a path for every part of an object, so paths must be short."""
MAX_SUPPORTED_VALUES = 100
"""Largest number of supported values that a message lists."""
MAX_VALUE_LENGTH = 200
"""Longest value in a message, in characters."""

REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
NOT_FOUND = "FieldValueNotFound"
TYPE_INVALID = "FieldValueTypeInvalid"


class FieldPath(NamedTuple):
    """The path of a field in an object. `path / "spec" / 0 / "name"` goes deeper; `path @ "a b"` is a key of a map."""

    text: str = ""

    def __truediv__(self, part: str | int) -> FieldPath:
        if isinstance(part, int):
            return FieldPath(f"{self.text}[{part}]")
        return FieldPath(field(self.text, part))

    def __matmul__(self, key: str) -> FieldPath:
        return FieldPath(f"{self.text}[{key if len(key) <= MAX_NAME_LENGTH else truncate_name(key)}]")

    def __str__(self) -> str:
        return self.text


def field(path: str, name: str) -> str:
    """Returns the path of a field below `path`."""
    segment = name if len(name) <= MAX_NAME_LENGTH else truncate_name(name)
    return f"{path}.{segment}" if path else segment


def truncate_name(name: str) -> str:
    """Truncates a long field name."""
    return f"{name[: MAX_NAME_LENGTH - 3]}..."


def limit_field_errors(field_errors: Iterable[FieldError]) -> list[FieldError]:
    """Returns at most `MAX_FIELD_ERRORS` errors, and stops the validation there."""
    return list(islice(field_errors, MAX_FIELD_ERRORS))


class FieldError(NamedTuple):
    """One field error: Kubernetes' reason for it, the field's path, and a message."""

    reason: str
    field: str
    message: str


def required(path: FieldPath, detail: str = "") -> FieldError:
    """Returns the error for a missing value."""
    return FieldError(REQUIRED, str(path), f"Required value: {detail}" if detail else "Required value")


def invalid(path: FieldPath, value: Any, detail: str) -> FieldError:
    """Returns the error for a wrong value."""
    return FieldError(INVALID, str(path), f"Invalid value: {format_value(value)}: {detail}")


def not_supported(path: FieldPath, value: Any, supported: Iterable[str], *, is_ordered: bool = False) -> FieldError:
    """Returns the error for a value outside an enumeration. Sorts the supported values unless `is_ordered`."""
    values = list(supported) if is_ordered else sorted(supported)
    listed = ", ".join(f'"{each}"' for each in values[:MAX_SUPPORTED_VALUES])
    return FieldError(NOT_SUPPORTED, str(path), f"Unsupported value: {format_value(value)}: supported values: {listed}")


def forbidden(path: FieldPath, detail: str) -> FieldError:
    """Returns the error for a field that must not be set, or not be changed."""
    return FieldError(FORBIDDEN, str(path), f"Forbidden: {detail}")


def duplicate(path: FieldPath, value: Any) -> FieldError:
    """Returns the error for a value that occurs twice."""
    return FieldError(DUPLICATE, str(path), f"Duplicate value: {format_value(value)}")


def too_long(path: FieldPath, limit: int) -> FieldError:
    """Returns the error for a text over its limit."""
    return FieldError(TOO_LONG, str(path), f"Too long: may not be more than {limit} bytes")


def too_many(path: FieldPath, actual: int, limit: int) -> FieldError:
    """Returns the error for a list over its limit."""
    return FieldError(TOO_MANY, str(path), f"Too many: {actual}: must have at most {limit} items")


def not_found(path: FieldPath, value: Any) -> FieldError:
    """Returns the error for a reference to an object that does not exist."""
    return FieldError(NOT_FOUND, str(path), f"Not found: {format_value(value)}")


def type_invalid(path: FieldPath, value: Any, detail: str) -> FieldError:
    """Returns the error for a value of the wrong type."""
    return FieldError(TYPE_INVALID, str(path), f"Invalid value: {format_value(value)}: {detail}")


def format_value(value: Any) -> str:
    """Formats a value for a message. Stops reading the value at `MAX_VALUE_LENGTH` characters."""
    text = f'"{value[:MAX_VALUE_LENGTH]}"' if isinstance(value, str) else ""
    for piece in () if isinstance(value, str) else _json(value):
        text += piece
        if len(text) > MAX_VALUE_LENGTH:
            break
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 3]}..."


def _json(value: Any) -> Iterator[str]:
    """Yields the value's JSON in pieces, none much longer than `MAX_VALUE_LENGTH`."""
    if isinstance(value, dict):
        yield "{"
        for number, (name, inner) in enumerate(value.items()):
            yield f"{',' if number else ''}{json.dumps(name[:MAX_VALUE_LENGTH], ensure_ascii=False)}:"
            yield from _json(inner)
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for number, inner in enumerate(value):
            yield "," if number else ""
            yield from _json(inner)
        yield "]"
    else:
        yield json.dumps(value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value, ensure_ascii=False)
