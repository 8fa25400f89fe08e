"""Reads fields that may be absent, and checks that apply to any field.

To most rules an absent field, a null and an empty value are the same, as in Kubernetes' own types.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from probate.api import names, quantities
from probate.api.field_errors import FieldError, FieldPath, duplicate, invalid, not_supported, required

Value = dict[str, Any]
Problems = Iterator[FieldError]

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
MAX_INT32 = 2**31 - 1

_PERCENT = re.compile(r"[0-9]{1,9}%")
_QUANTITY_MAPS = frozenset({"requests", "limits", "capacity", "overhead", "hard"})
_QUANTITIES = frozenset({"sizeLimit", "divisor"})


def child(object_: Value, name: str) -> Value:
    """Returns the object in this field; empty if absent."""
    return object_.get(name) or {}


def items(object_: Value, name: str) -> list[Any]:
    """Returns the list in this field; empty if absent."""
    return object_.get(name) or []


def objects(object_: Value, name: str) -> list[Value]:
    """Returns the objects in this list."""
    return [item or {} for item in items(object_, name)]


def texts(object_: Value, name: str) -> list[str]:
    """Returns the texts in this list."""
    return [item or "" for item in items(object_, name)]


def text(object_: Value, name: str) -> str:
    """Returns the text in this field; empty if absent."""
    return object_.get(name) or ""


def each(object_: Value, path: FieldPath, name: str) -> Iterator[tuple[Value, FieldPath]]:
    """Yields the objects in this list, each with its path."""
    for index, item in enumerate(objects(object_, name)):
        yield item, path / name / index


def check_given(object_: Value, path: FieldPath, *fields: str) -> Problems:
    """Validates that these fields are not empty."""
    yield from (required(path / field) for field in fields if not object_.get(field))


def check_nonnegative(object_: Value, path: FieldPath, *fields: str) -> Problems:
    """Validates that these numbers are not negative."""
    for field in fields:
        if (object_.get(field) or 0) < 0:
            yield invalid(path / field, object_[field], NEGATIVE)


def check_between(object_: Value, path: FieldPath, field: str, *, low: int, high: int) -> Problems:
    """Validates that the number, if set, is in this range."""
    value = object_.get(field)
    if value is not None and not low <= value <= high:
        yield invalid(path / field, value, f"must be between {low} and {high}, inclusive")


def check_choice(object_: Value, path: FieldPath, field: str, *, supported: Collection[str], is_required: bool = False) -> Problems:
    """Validates that the text is one of the supported values."""
    value = text(object_, field)
    if value and value not in supported:
        yield not_supported(path / field, value, supported)
    elif not value and is_required:
        yield required(path / field)


def check_rule(value: str, path: FieldPath, rule: names.NameRule) -> Problems:
    """Validates that the text obeys a naming rule. A text may violate it in several ways."""
    yield from (invalid(path, value, problem) for problem in rule(value))


def check_name(object_: Value, path: FieldPath, field: str, *, rule: names.NameRule) -> Problems:
    """Validates that the text is set and obeys the rule."""
    yield from check_rule(text(object_, field), path / field, rule) if text(object_, field) else [required(path / field)]


def check_optional_name(object_: Value, path: FieldPath, field: str, *, rule: names.NameRule) -> Problems:
    """Validates that the text, if set, obeys the rule."""
    if text(object_, field):
        yield from check_rule(text(object_, field), path / field, rule)


def check_unique(object_: Value, path: FieldPath, field: str, *, seen: set[Any]) -> Problems:
    """Validates that the value, if set, is not in `seen`, and adds it."""
    value = object_.get(field)
    if value and value in seen:
        yield duplicate(path / field, value)
    if value:
        seen.add(value)


def check_port(value: Any, path: FieldPath) -> Problems:
    """Validates a port number."""
    if not isinstance(value, int) or not 1 <= value <= 65535:
        yield invalid(path, value, "must be between 1 and 65535, inclusive")


def check_port_or_name(value: Any, path: FieldPath) -> Problems:
    """Validates a port number or a port name."""
    yield from check_rule(value, path, names.validate_port_name) if isinstance(value, str) else check_port(value, path)


def check_count_or_percent(value: Any, path: FieldPath) -> Problems:
    """Validates an integer or a percentage. It is not negative; a percentage may be over 100%."""
    if isinstance(value, str):
        if _PERCENT.fullmatch(value) is None:
            yield invalid(path, value, "must be an integer or percentage (e.g '5%')")
    elif value < 0:
        yield invalid(path, value, NEGATIVE)


def check_at_most_all(value: Any, path: FieldPath) -> Problems:
    """Validates that a percentage is not over 100%."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def is_zero(value: Any) -> bool:
    """Reports whether an integer or a percentage is zero."""
    return not value or (isinstance(value, str) and re.fullmatch(r"[+-]?0*[1-9][0-9]*%?", value) is None)


def check_unchanged(new: Any, old: Any, path: FieldPath) -> Problems:
    """Validates that the value has not changed."""
    if not is_same(new, old):
        yield invalid(path, new, IMMUTABLE)


def is_same(one: Any, other: Any) -> bool:
    """Reports whether two values are equal: empty equals absent, and quantities are compared by amount, not by spelling."""
    return bool(_plain(one) == _plain(other))


def without(object_: Value, *fields: str) -> Value:
    """Returns a copy of the object without these fields."""
    return {field: value for field, value in object_.items() if field not in fields}


def _plain(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        is_quantities = field in _QUANTITY_MAPS
        plain = {key: _plain(item, "sizeLimit" if is_quantities else key) for key, item in value.items()}
        return {key: item for key, item in plain.items() if item is not None} or None
    if isinstance(value, list):
        return [_plain(item) for item in value] or None
    if field in _QUANTITIES and quantities.is_quantity(value):
        return quantities.parse(value)
    return None if value == "" else value
