"""Whether a value is just as its schema says, told at once.

`typed` reads a value part by part, and makes of it what is stored. Most values need none of that: every field is known and of its
type, nothing is null, and nothing has more than one spelling. So types are made of the schema which take only such values, and
whether a value is one of them is found out in native code:

    {"data": {"a": "1"}}          fits a ConfigMap: it is stored as it is
    {"data": {"a": 1}}            does not: `typed` says what is wrong
    {"cpu": "1000m"}              does not fit a map of quantities, since it is stored as 1

Who does not fit may be fine: that is for `typed` to say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from probate.api.schema.node import Schema

_RESPELLED = frozenset({"quantity", "byte", "date-time"})
_SOMETHING = dict[str, Any] | list[Any] | str | int | float | bool
_NUMBERS = {"int32": Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]}
_LONG = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

_structs: dict[str, Any] = {}  # by definition, each complete
_making: dict[str, Any] = {}  # None while it is being made: a part that holds itself is never plain
_one_at_a_time = threading.Lock()


def fits(value: Any, schema: Schema) -> bool:
    """Whether the value can be stored as it is."""
    wanted = _structs[schema.name] if schema.name in _structs else _learn(schema)
    if wanted is None:
        return False
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError:
        return False
    return True


def _learn(schema: Schema) -> Any:
    with _one_at_a_time:  # whoever asks meanwhile, on another thread, would leave out what is half made
        wanted = _of(schema)
        _structs.update(_making)
        _making.clear()
        return wanted


def _of(schema: Schema) -> Any:
    """The type of plain values; None if there are none."""
    if schema.is_int_or_string or schema.format in _RESPELLED:
        return None
    if not schema.type or schema.keeps_unknown:
        return Any
    return _TYPES[schema.type](schema)


def _object(schema: Schema) -> Any:
    if schema.values is not None:
        inner = _of(schema.values)
        return None if inner is None else dict[str, inner]  # type: ignore[valid-type]
    if not schema.properties:
        return dict
    return _named(schema) if schema.name else _struct(schema)


def _named(schema: Schema) -> Any:
    if schema.name in _structs:
        return _structs[schema.name]
    if schema.name not in _making:
        _making[schema.name] = None
        _making[schema.name] = _struct(schema)
    return _making[schema.name]


def _struct(schema: Schema) -> Any:
    parts = {name: part for name, inner in schema.properties.items() if (part := _of(inner)) is not None}
    fields = [(f"f{at}", _SOMETHING if part is Any else part, msgspec.UNSET) for at, part in enumerate(parts.values())]
    names = {f"f{at}": name for at, name in enumerate(parts)}
    return msgspec.defstruct("Plain", fields, forbid_unknown_fields=True, rename=names)


def _array(schema: Schema) -> Any:
    if schema.items is None:
        return list
    inner = _of(schema.items)
    return None if inner is None else list[inner]  # type: ignore[valid-type]


_TYPES: dict[str, Callable[[Schema], Any]] = {
    "object": _object,
    "array": _array,
    "string": lambda _: str,
    "integer": lambda schema: _NUMBERS.get(schema.format, _LONG),
    "number": lambda _: float,
    "boolean": lambda _: bool,
}
