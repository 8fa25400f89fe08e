"""Any object of any built-in kind, written as Go writes it, is read as it was; any bytes at all are read or refused."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probate import errors
from probate.machinery import builtin
from probate.machinery.gvk import GroupVersion
from probate.machinery.protobuf import decode, numbers
from probate.machinery.schema import Schema

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "protobuf" / "kubectl-1.37.json").read_bytes())
BODIES = [base64.b64decode(row["body"]) for row in RECORDED]
KINDS = sorted({(one.group, one.version, one.kind) for one in builtin.load()})
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
JSON_VALUES = st.one_of(st.integers(-9, 9), TEXTS, st.booleans(), st.dictionaries(TEXTS, st.none(), max_size=2))
DEEPEST = 12


def resolve(api_version: str, kind: str) -> Schema | None:
    return builtin.schema(*GroupVersion.parse(api_version), kind)


# What there may be. Empty lists and maps are not: protobuf cannot tell them from absent ones.


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
    schema = builtin.schema(group, version, kind)
    assert schema is not None
    return {"apiVersion": str(GroupVersion(group, version)), "kind": kind, **draw(objects(schema, 0))}


def emptiable(definition: str) -> dict[str, bool]:
    """All fields of a type, and whether each is left out when it is empty."""
    found: dict[str, bool] = {}
    for field in (numbers.fields_of(definition) or {}).values():
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


# How Go writes it.


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def chunk(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def body_of(thing: dict[str, Any]) -> bytes:
    schema = resolve(thing["apiVersion"], thing["kind"])
    assert schema is not None
    type_meta = chunk(1, thing["apiVersion"].encode()) + chunk(2, thing["kind"].encode())
    raw = message(thing, schema, schema.name)
    return b"k8s\x00" + chunk(1, type_meta) + chunk(2, raw) + chunk(3, b"") + chunk(4, b"")


def message(thing: dict[str, Any], schema: Schema, definition: str) -> bytes:
    written = b""
    for field in (numbers.fields_of(definition) or {}).values():
        if field.inlined:
            written += chunk(field.number, message(thing, schema, field.inlined))
        elif field.name in thing:
            written += value_of(field.number, thing[field.name], schema.properties[field.name], schema)
        elif field.is_left_out_if_empty and schema.properties[field.name].type in SCALARS:
            written += empty(field.number, schema.properties[field.name])
    return written


SCALARS = {"integer", "boolean", "string"}


def empty(number: int, schema: Schema) -> bytes:
    return whole(number, 0) if schema.type in {"integer", "boolean"} else chunk(number, b"")


def value_of(number: int, value: Any, schema: Schema, owner: Schema) -> bytes:
    if schema.items is not None:
        return b"".join(value_of(number, one, schema.items, owner) for one in value)
    if schema.values is not None:
        entries = (chunk(1, key.encode()) + chunk(2, bytes_of(one, schema.values, owner)) for key, one in value.items())
        return b"".join(chunk(number, one) for one in entries)
    if schema.type in {"integer", "boolean"}:
        return whole(number, value)
    if schema.type == "number":
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return chunk(number, bytes_of(value, schema, owner))


def bytes_of(value: Any, schema: Schema, owner: Schema) -> bytes:
    short = schema.name.rpartition(".")[2]
    if short in WRITTEN:
        return bytes(WRITTEN[short](value))
    if short in SCHEMA_CHOICES:
        return choice_of(value, short, owner)
    if schema.name:
        return message(value, schema, schema.name)
    if schema.items is not None:
        return value_of(1, value, schema, owner)
    return base64.b64decode(value) if schema.format == "byte" else value.encode()


def time_of(text: str) -> bytes:
    moment = datetime.fromisoformat(text.removesuffix("Z"))
    return whole(1, (moment - EPOCH) // timedelta(seconds=1)) + whole(2, moment.microsecond * 1000)


def int_or_string_of(value: int | str) -> bytes:
    if isinstance(value, str):
        return whole(1, 1) + whole(2, 0) + chunk(3, value.encode())
    return whole(1, 0) + whole(2, value) + chunk(3, b"")


def choice_of(value: Any, short: str, owner: Schema) -> bytes:
    if isinstance(value, bool):
        return whole(1, value)
    if isinstance(value, list):
        return b"".join(chunk(2, one.encode() if isinstance(one, str) else message(one, owner, owner.name)) for one in value)
    written = message(value, owner, owner.name)
    return whole(1, 1) + chunk(2, written) if short.endswith("Bool") else chunk(1, written)


def json_of(value: Any) -> bytes:
    return chunk(1, json.dumps(value).encode())


WRITTEN: dict[str, Any] = {
    "Time": time_of,
    "MicroTime": time_of,
    "Quantity": lambda text: chunk(1, text.encode()),
    "IntOrString": int_or_string_of,
    "RawExtension": json_of,
    "FieldsV1": json_of,
    "JSON": json_of,
}


# What holds.


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(whole_objects())
def test_what_was_written_is_read(thing: dict[str, Any]) -> None:
    unknown: list[str] = []
    found = decode.decode(body_of(thing), resolve, on_unknown=unknown.append)
    assert found == thing
    assert unknown == []


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    read_or_refused(data)
    read_or_refused(b"k8s\x00" + data)


@given(st.sampled_from(KINDS), st.binary(max_size=200))
def test_random_bytes_as_any_kind_are_read_or_refused(kind: tuple[str, str, str], data: bytes) -> None:
    group, version, name = kind
    type_meta = chunk(1, str(GroupVersion(group, version)).encode()) + chunk(2, name.encode())
    read_or_refused(b"k8s\x00" + chunk(1, type_meta) + chunk(2, data))


@given(st.sampled_from(BODIES), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=5))
def test_damaged_bodies_are_read_or_refused(body: bytes, changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(body)
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    read_or_refused(bytes(damaged))


def read_or_refused(body: bytes) -> None:
    """Nothing but `BadRequest` may come of it, and what is read can be written as JSON."""
    with contextlib.suppress(errors.BadRequest):
        json.dumps(decode.decode(body, resolve), allow_nan=False)
