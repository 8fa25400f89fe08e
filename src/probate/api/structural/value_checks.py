"""Compiles the value validations of a schema into checks of single values: types, numbers, strings, formats, enums.

A check takes a value and its path and returns the problem, or None. A schema is compiled once, so a check costs only a comparison.
The messages are those that users know from `kubectl apply`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import orjson

from probate.api import field_errors
from probate.api.field_errors import FieldError, FieldPath
from probate.api.schema.node import Schema
from probate.api.structural import formats
from probate.lib.regexp import BadPattern, compile_pattern

Check = Callable[[Any, str], FieldError | None]

_KINDS = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
_NUMBER_FORMATS = {"integer": "int64", "number": "float64"}
_LARGEST = 2**63
_LARGEST_EXACT = 2**53 - 1


def kind_of(value: Any) -> str:
    """Returns the JSON type of the value. An integer beyond 64 bits is a number, not an integer."""
    kind = _KINDS[type(value)]
    return "number" if kind == "integer" and not -_LARGEST <= value < _LARGEST else kind


def type_check(schema: Schema) -> Check | None:
    """Compiles the type check. 1.0 is an integer."""
    types = ("integer", "string") if schema.is_int_or_string else (schema.type,) if schema.type else ()
    has_format = formats.test_of(schema.format) is not None
    if not types:
        return None

    def check(value: Any, path: str) -> FieldError | None:
        kind = kind_of(value)
        if kind in types or (kind == "null" and schema.is_nullable) or _is_number_of(types, kind, value):
            return None
        if has_format and kind not in {"string", "array", "null"}:
            return _wrong_type(path, schema.format, _NUMBER_FORMATS.get(kind, ""))
        return _wrong_type(path, ",".join(types), kind)

    return check


def text_check(limits: dict[str, Any]) -> Check | None:
    """Compiles the length and pattern checks of a string; a check reports the first failure."""
    longest, shortest, pattern = limits.get("maxLength"), limits.get("minLength"), limits.get("pattern")
    if longest is None and shortest is None and not pattern:
        return None
    matches = _matcher(pattern)

    def check(value: str, path: str) -> FieldError | None:
        if longest is not None and len(value) > longest:
            return field_errors.too_long(FieldPath(path), longest)
        if shortest is not None and len(value) < shortest:
            return wrong(path, value, f"should be at least {shortest} chars long")
        return None if matches(value) else wrong(path, value, f"should match '{pattern}'")

    return check


def format_check(name: str) -> Check | None:
    """Compiles the format check of a string."""
    test = formats.test_of(name)
    if test is None:
        return None
    return lambda value, path: None if test(value) else _wrong_type(path, name, value)


def number_checks(limits: dict[str, Any]) -> tuple[Check, ...]:
    """Compiles the range and multipleOf checks of a number."""
    found = (_multiple_check(limits.get("multipleOf")), _maximum_check(limits), _minimum_check(limits))
    return tuple(one for one in found if one is not None)


class Sizes(NamedTuple):
    """The size checks of lists and objects."""

    least_items: Check | None
    most_items: Check | None
    properties: Check | None


def size_checks(limits: dict[str, Any]) -> Sizes:
    """Compiles the size checks of a list or object."""
    items, properties = (_at_least(limits.get(f"min{what}"), what.lower()) for what in ("Items", "Properties"))
    return Sizes(items, _at_most(limits.get("maxItems")), _either(properties, _at_most(limits.get("maxProperties"))))


def enum_check(allowed: Any) -> Check | None:
    """Compiles the enum check."""
    if not isinstance(allowed, list) or not allowed:
        return None
    keys = {canonical(one) for one in allowed}
    shown = [
        one if isinstance(one, str) else orjson.dumps(one).decode() for one in allowed[: field_errors.MAX_SUPPORTED_VALUES + 1]
    ]
    return lambda value, path: (
        None if canonical(value) in keys else field_errors.not_supported(FieldPath(path), value, shown, is_ordered=True)
    )


def canonical(value: Any) -> Hashable:
    """Returns a hashable key; equal JSON values have equal keys: field order is irrelevant, 1.0 equals 1, true does not equal 1."""
    kind = type(value)
    if kind is str or value is None:
        return value  # type: ignore[no-any-return]
    if kind is dict or kind is list:
        return orjson.dumps(_plain(value), option=orjson.OPT_SORT_KEYS)
    return (kind is bool, value)


def wrong(path: str, value: Any, detail: str) -> FieldError:
    """Returns the problem of a value that violates a validation."""
    return field_errors.invalid(FieldPath(path), value, f"{path} in body {detail}")


def _wrong_type(path: str, expected: str, given: str) -> FieldError:
    return field_errors.type_invalid(FieldPath(path), given, f'{path} in body must be of type {expected}: "{given}"')


def _is_number_of(types: tuple[str, ...], kind: str, value: Any) -> bool:
    if kind == "integer":
        return "number" in types
    return kind == "number" and "integer" in types and abs(value) <= _LARGEST_EXACT and float(value).is_integer()


def _matcher(pattern: Any) -> Callable[[str], bool]:
    try:
        return compile_pattern(pattern).search if isinstance(pattern, str) and pattern else lambda _: True
    except BadPattern:
        return lambda _: True  # the server rejects such a CustomResourceDefinition on write


def _multiple_check(factor: Any) -> Check | None:
    if not factor:
        return None
    return lambda value, path: None if _is_multiple(value, factor) else wrong(path, value, f"should be a multiple of {factor}")


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    quotient = value / factor
    return math.isfinite(quotient) and abs(quotient - round(quotient)) <= 1e-9 * max(1.0, abs(quotient))


def _maximum_check(limits: dict[str, Any]) -> Check | None:
    most = limits.get("maximum")
    if most is None:
        return None
    if limits.get("exclusiveMaximum") is True:
        return lambda value, path: None if value < most else wrong(path, value, f"should be less than {most}")
    return lambda value, path: None if value <= most else wrong(path, value, f"should be less than or equal to {most}")


def _minimum_check(limits: dict[str, Any]) -> Check | None:
    least = limits.get("minimum")
    if least is None:
        return None
    if limits.get("exclusiveMinimum") is True:
        return lambda value, path: None if value > least else wrong(path, value, f"should be greater than {least}")
    return lambda value, path: None if value >= least else wrong(path, value, f"should be greater than or equal to {least}")


def _at_least(least: Any, what: str) -> Check | None:
    if not least:
        return None
    return lambda value, path: None if len(value) >= least else wrong(path, len(value), f"should have at least {least} {what}")


def _at_most(most: Any) -> Check | None:
    if most is None:
        return None
    return lambda value, path: None if len(value) <= most else field_errors.too_many(FieldPath(path), len(value), most)


def _either(first: Check | None, second: Check | None) -> Check | None:
    if first is None or second is None:
        return first or second
    return lambda value, path: first(value, path) or second(value, path)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case bool():
            return value
        case int() if not -_LARGEST <= value < 2**64:
            return float(value)
        case float() if value.is_integer() and abs(value) <= _LARGEST_EXACT:
            return int(value)
        case _:
            return value
