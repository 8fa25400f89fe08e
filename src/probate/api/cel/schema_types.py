"""Derives the CEL types and values of objects from their schemas.

    Declarations().of(schema)   the type: objects by their fields, lists and maps by their parts
    Adapters().of(schema)       converts values to those that expressions see: numbers become doubles, strings of some formats
                                become timestamps, durations or bytes, and lists carry their list type (set or map)

Types also contain the maximum size of a value. Without a limit in the schema, the request size is the limit.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, TypeAlias

from probate.api.schema.node import UNSET, Schema
from probate.lib.cel import timestamps
from probate.lib.cel.cost_estimate import MAX_VALUE_SIZE
from probate.lib.cel.errors import CelError
from probate.lib.cel.syntax.identifier_escapes import unescape
from probate.lib.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of
from probate.lib.cel.values import MapList, SetList

MAX_REQUEST = MAX_VALUE_SIZE
"""Maximum size of an object in bytes, as Kubernetes assumes."""
_META_FIELDS = {"name": STRING.sized(253), "generateName": STRING.sized(253)}
_FORMATS = {"byte": BYTES, "date": TIMESTAMP, "date-time": TIMESTAMP, "duration": DURATION}
_MIN_BYTES = {"boolean": 4, "number": 1, "integer": 1, "string": 2, "array": 2, "object": 2}


class Declarations:
    """The types of one schema and of all its subschemas. Each type is created once, so equal calls return the identical object.

    With `is_lenient`, values without a known type have the type dyn, and so has the metadata of custom objects.
    """

    def __init__(self, *, is_lenient: bool = False) -> None:
        self._unknown = DYN if is_lenient else None
        self._known: dict[int, tuple[Schema, Type | None]] = {}

    def of(self, schema: Schema, *, is_root: bool = False) -> Type | None:
        """Returns the type of the schema's values; None if expressions cannot access such values."""
        entry = self._known.get(id(schema))
        if entry is None:
            entry = self._known[id(schema)] = (schema, self._create(schema, is_root=is_root))
        return entry[1]

    def _create(self, schema: Schema, *, is_root: bool) -> Type | None:
        if schema.is_int_or_string:
            return DYN
        match schema.type:
            case "array":
                item = self.of(schema.items) if schema.items is not None else None
                return list_of(item, most_items(schema)) if item is not None else None
            case "object":
                return self._object(schema, is_root=is_root)
            case "boolean":
                return BOOL
            case "number":
                return DOUBLE
            case "integer":
                return INT
            case "string":
                return _FORMATS.get(schema.format, STRING).sized(_max_characters(schema))
            case _:
                return self._unknown

    def _object(self, schema: Schema, *, is_root: bool) -> Type | None:
        if schema.values is not None:
            value = self.of(schema.values)
            return map_of(STRING.sized(MAX_REQUEST), value, most_items(schema)) if value is not None else None
        is_whole = is_root or schema.is_embedded_resource

        def field(written: str) -> Type | None:
            name = unescape(written)
            if name == "metadata" and is_whole:
                return self._unknown or self._meta
            found = schema.properties.get(name)
            if found is not None:
                return self.of(found)
            return STRING.sized(253) if is_whole and name in ("apiVersion", "kind") else None

        return Type("object", fields=field)

    _meta = Type("object", fields=_META_FIELDS.get)


def least_bytes(schema: Schema) -> int:
    """Returns the minimum size of a value in bytes of JSON."""
    if schema.is_int_or_string:
        return 1
    if schema.type == "object" and schema.values is None:
        required = [(name, one) for name, one in schema.properties.items() if name in schema.required and one.default is UNSET]
        return 2 + sum(len(name) + 4 + least_bytes(one) for name, one in required)
    if schema.type == "string" and schema.format in ("date", "date-time"):
        return 12 if schema.format == "date" else 22
    return _MIN_BYTES.get(schema.type, 1)


def most_items(schema: Schema) -> int:
    """Returns the maximum number of items or entries."""
    inner = schema.items if schema.type == "array" else schema.values
    limit = schema.value_validations.get("maxItems" if schema.type == "array" else "maxProperties")
    if isinstance(limit, int) and not isinstance(limit, bool):
        return max(limit, 0)
    least = least_bytes(inner) if inner is not None else 1
    return MAX_REQUEST // (least + (1 if schema.type == "array" else 6))


def _max_characters(schema: Schema) -> int:
    limit, choices = schema.value_validations.get("maxLength"), schema.value_validations.get("enum")
    if schema.format in ("date", "date-time"):
        return 35
    if isinstance(limit, int) and not isinstance(limit, bool):
        return max(limit, 0) * 4  # a character takes up to four bytes
    if isinstance(choices, list) and choices:
        return max(len(one) if isinstance(one, str) else 0 for one in choices)
    return MAX_REQUEST - 2


Adapter: TypeAlias = Callable[[Any], Any]


class Adapters:
    """Converters from JSON values to CEL values, for one schema and all its subschemas. None: no conversion is necessary."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Schema, Adapter | None]] = {}

    def of(self, schema: Schema) -> Adapter | None:
        entry = self._known.get(id(schema))
        if entry is None:
            entry = self._known[id(schema)] = (schema, self._create(schema))
        return entry[1]

    def _create(self, schema: Schema) -> Adapter | None:
        match schema.type:
            case "number":
                return _double
            case "string":
                return _FORMAT_ADAPTERS.get(schema.format)
            case "array":
                return self._list(schema)
            case "object":
                return self._object(schema)
            case _:
                return None

    def _list(self, schema: Schema) -> Adapter | None:
        item = self.of(schema.items) if schema.items is not None else None
        if schema.list_type == "set":
            return lambda value: SetList(_each(value, item)) if isinstance(value, list) else value
        if schema.list_type == "map":
            return lambda value: _keyed(_each(value, item), schema.map_keys) if isinstance(value, list) else value
        return None if item is None else lambda value: _each(value, item) if isinstance(value, list) else value

    def _object(self, schema: Schema) -> Adapter | None:
        if schema.values is not None:
            inner = self.of(schema.values)
            if inner is None:
                return None
            return lambda value: {name: inner(one) for name, one in value.items()} if isinstance(value, dict) else value
        fields = {name: found for name, one in schema.properties.items() if (found := self.of(one)) is not None}
        return (lambda value: _fields(value, fields) if isinstance(value, dict) else value) if fields else None


def _each(value: list[Any], item: Adapter | None) -> list[Any]:
    return value if item is None else [item(one) for one in value]


def _keyed(value: list[Any], keys: tuple[str, ...]) -> MapList:
    keyed = MapList(value)
    keyed.keys = keys
    return keyed


def _fields(value: dict[str, Any], fields: dict[str, Adapter]) -> dict[str, Any]:
    return {name: fields[name](one) if name in fields else one for name, one in value.items()}


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _tolerant(read: Callable[[str], Any]) -> Adapter:
    """Wraps a converter: returns a value that does not match its format unchanged; schema validation rejects it."""

    def adapt(value: Any) -> Any:
        try:
            return read(value) if isinstance(value, str) else value
        except (CelError, ValueError):
            return value

    return adapt


_FORMAT_ADAPTERS: dict[str, Adapter] = {
    "byte": _tolerant(lambda text: base64.b64decode(text, validate=True)),
    "date": _tolerant(lambda text: timestamps.timestamp(f"{text}T00:00:00Z")),
    "date-time": _tolerant(timestamps.timestamp),
    "duration": _tolerant(timestamps.duration),
}
