"""Any object of any built-in kind, written as Go writes it, is read as it was; any bytes at all are read or refused."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode, field_numbers
from support.protobuf_objects import KINDS, SCHEMA_CHOICES, whole_objects

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "protobuf" / "kubectl-1.37.json").read_bytes())
BODIES = [base64.b64decode(row["body"]) for row in RECORDED]
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001


def resolve(api_version: str, kind: str) -> Schema | None:
    return catalog.schema(*GroupVersion.parse(api_version), kind)


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


def varint_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def body_of(thing: dict[str, Any]) -> bytes:
    schema = resolve(thing["apiVersion"], thing["kind"])
    assert schema is not None
    type_meta = chunk(1, thing["apiVersion"].encode()) + chunk(2, thing["kind"].encode())
    raw = message(thing, schema, schema.name)
    return b"k8s\x00" + chunk(1, type_meta) + chunk(2, raw) + chunk(3, b"") + chunk(4, b"")


def message(thing: dict[str, Any], schema: Schema, definition: str) -> bytes:
    written = b""
    for field in (field_numbers.fields_of(definition) or {}).values():
        if field.inlined:
            written += chunk(field.number, message(thing, schema, field.inlined))
        elif field.name in thing:
            written += value_of(field.number, thing[field.name], schema.properties[field.name], schema)
        elif field.is_left_out_if_empty and schema.properties[field.name].type in SCALARS:
            written += empty(field.number, schema.properties[field.name])
    return written


SCALARS = {"integer", "boolean", "string"}


def empty(number: int, schema: Schema) -> bytes:
    return varint_field(number, 0) if schema.type in {"integer", "boolean"} else chunk(number, b"")


def value_of(number: int, value: Any, schema: Schema, owner: Schema) -> bytes:
    if schema.items is not None:
        return b"".join(value_of(number, one, schema.items, owner) for one in value)
    if schema.values is not None:
        entries = (chunk(1, key.encode()) + chunk(2, bytes_of(one, schema.values, owner)) for key, one in value.items())
        return b"".join(chunk(number, one) for one in entries)
    if schema.type in {"integer", "boolean"}:
        return varint_field(number, value)
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
    return varint_field(1, (moment - EPOCH) // timedelta(seconds=1)) + varint_field(2, moment.microsecond * 1000)


def int_or_string_of(value: int | str) -> bytes:
    if isinstance(value, str):
        return varint_field(1, 1) + varint_field(2, 0) + chunk(3, value.encode())
    return varint_field(1, 0) + varint_field(2, value) + chunk(3, b"")


def choice_of(value: Any, short: str, owner: Schema) -> bytes:
    if isinstance(value, bool):
        return varint_field(1, value)
    if isinstance(value, list):
        return b"".join(chunk(2, one.encode() if isinstance(one, str) else message(one, owner, owner.name)) for one in value)
    written = message(value, owner, owner.name)
    return varint_field(1, 1) + chunk(2, written) if short.endswith("Bool") else chunk(1, written)


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
