"""Generates objects of any built-in kind as JSON, for tests of their protobuf encoding.

Empty lists and maps are left out: protobuf cannot tell them from absent ones.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import field_numbers

KINDS = sorted({(one.group, one.version, one.kind) for one in catalog.load() if one.has_protobuf})
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
JSON_VALUES = st.one_of(st.integers(-9, 9), TEXTS, st.booleans(), st.dictionaries(TEXTS, st.none(), max_size=2))
DEEPEST = 12


def values(schema: Schema, owner: Schema, depth: int) -> st.SearchStrategy[Any]:
    short = schema.name.rpartition(".")[2]
    if schema.items is not None:
        return st.lists(values(schema.items, owner, depth + 1), min_size=1, max_size=2)
    if schema.values is not None:
        return st.dictionaries(TEXTS, values(schema.values, owner, depth + 1), min_size=1, max_size=2)
    if short in SPECIAL:
        return SPECIAL[short]
    if short in SCHEMA_CHOICES:
        return SCHEMA_CHOICES[short](st.deferred(lambda: objects(owner, depth + 1)))
    if schema.name:
        return st.deferred(lambda: objects(schema, depth + 1))
    return scalars(schema)


def scalars(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.type == "boolean":
        return st.booleans()
    if schema.type == "integer":
        bits = 31 if schema.format == "int32" else 63
        return st.integers(-(2**bits), 2**bits - 1)
    if schema.type == "number":
        return st.floats(allow_nan=False, allow_infinity=False).map(lambda one: int(one) if one.is_integer() else one)
    return st.binary(max_size=4).map(lambda one: base64.b64encode(one).decode()) if schema.format == "byte" else TEXTS


@st.composite
def objects(draw: st.DrawFn, schema: Schema, depth: int) -> dict[str, Any]:
    left_out = emptiable(schema.name)
    names = sorted(schema.properties.keys() & left_out.keys())
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names and depth < DEEPEST else []
    made = {name: draw(values(schema.properties[name], schema, depth)) for name in chosen}
    return {name: value for name, value in made.items() if value or not left_out[name]}


@st.composite
def whole_objects(draw: st.DrawFn) -> dict[str, Any]:
    group, version, kind = draw(st.sampled_from(KINDS))
    schema = catalog.schema(group, version, kind)
    assert schema is not None
    return {"apiVersion": str(GroupVersion(group, version)), "kind": kind, **draw(objects(schema, 0))}


def emptiable(definition: str) -> dict[str, bool]:
    """Returns all fields of a type, and whether each is omitted when it is empty."""
    found: dict[str, bool] = {}
    for field in (field_numbers.fields_of(definition) or {}).values():
        found |= emptiable(field.inlined) if field.inlined else {field.name: field.is_left_out_if_empty}
    return found


TIMES = st.datetimes(min_value=datetime(1, 1, 2)).map(lambda one: one.replace(microsecond=0).isoformat() + "Z")  # noqa: DTZ001
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "Time": TIMES,
    "MicroTime": st.builds(lambda time, micros: f"{time[:-1]}.{micros:06}Z", TIMES, st.integers(0, 999_999)),
    "Quantity": st.integers(0, 99).map(lambda one: f"{one}m"),
    "IntOrString": st.one_of(st.integers(-(2**31), 2**31 - 1), TEXTS),
    "RawExtension": JSON_VALUES,
    "FieldsV1": JSON_VALUES,
    "JSON": JSON_VALUES,
}
SCHEMA_CHOICES: dict[str, Callable[[Any], st.SearchStrategy[Any]]] = {
    "JSONSchemaPropsOrBool": lambda schemas: schemas | st.booleans(),
    "JSONSchemaPropsOrArray": lambda schemas: schemas | st.lists(schemas, min_size=1, max_size=2),
    "JSONSchemaPropsOrStringArray": lambda schemas: schemas | st.lists(TEXTS, min_size=1, max_size=2),
}


class Filler:
    """Builds objects in which every field is set, each to a different value."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def value(self, schema: Schema, owner: Schema, depth: int = 0) -> Any:
        short = schema.name.rpartition(".")[2]
        if schema.items is not None:
            return [self.value(schema.items, owner, depth) for _ in range(2)]
        if schema.values is not None:
            return {f"k{number}": self.value(schema.values, owner, depth) for number in range(2)}
        if short in SAMPLES:
            return SAMPLES[short]
        return self.object(schema, depth) if schema.name else self._scalar(schema, next(self._numbers))

    def object(self, schema: Schema, depth: int = 0) -> Any:
        if depth > 5 and schema.name.endswith("JSONSchemaProps"):  # which holds itself
            return {"title": "deep"}
        return {name: self.value(schema.properties[name], schema, depth + 1) for name in flat_names(schema.name)}

    def _scalar(self, schema: Schema, number: int) -> Any:
        if schema.type in {"boolean", "integer", "number"}:
            return {"boolean": True, "integer": number, "number": number + 0.5}[schema.type]
        return base64.b64encode(b"%d" % number).decode() if schema.format == "byte" else f"é-{number}"


SAMPLES: dict[str, Any] = {
    "Time": "2030-01-02T03:04:05Z",
    "MicroTime": "2030-01-02T03:04:05.000006Z",
    "Quantity": "1500m",
    "IntOrString": "http",
    "RawExtension": {"a": [1, None]},
    "FieldsV1": {"f:a": {}},
    "JSON": [1, "x", False],
    "JSONSchemaPropsOrBool": {"title": "t"},
    "JSONSchemaPropsOrArray": [{"title": "t"}, {"title": "u"}],
    "JSONSchemaPropsOrStringArray": ["x", "y"],
}


def flat_names(definition: str) -> Iterator[str]:
    for field in (field_numbers.fields_of(definition) or {}).values():
        yield from flat_names(field.inlined) if field.inlined else (field.name,)
