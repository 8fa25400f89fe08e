"""Writes the types whose JSON is not an object of their fields: the reverse of `special_types`.

`ZEROS` is what Go writes for each type when the field is empty and not a pointer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from probate.lib import protobuf

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TIME = datetime(1, 1, 1, tzinfo=UTC)
_TRUE = b"\x08\x01"

WriteSchema = Callable[[Any], bytes]


@functools.lru_cache(maxsize=1024)
def _time(text: str) -> bytes:
    """Writes a time in seconds: the nanoseconds of a Time are never read."""
    return _timestamp(text, nanos=0)


@functools.lru_cache(maxsize=1024)
def _micro_time(text: str) -> bytes:
    return _timestamp(text, nanos=_moment(text).microsecond * 1000)


def _timestamp(text: str, *, nanos: int) -> bytes:
    moment = _moment(text)
    if moment == _NO_TIME:
        return b""
    seconds = (moment.replace(microsecond=0) - _EPOCH) // timedelta(seconds=1)
    return b"\x08%b\x10%b" % (protobuf.encode_varint(seconds), protobuf.encode_varint(nanos))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _quantity(value: Any) -> bytes:
    return b"\x0a" + protobuf.with_length(str(value).encode())


def _int_or_string(value: Any) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00\x1a" + protobuf.with_length(value.encode())
    return b"\x08\x00\x10%b\x1a\x00" % protobuf.encode_varint(value)


def _json(value: Any) -> bytes:
    return b"" if value is None else b"\x0a" + protobuf.with_length(orjson.dumps(value))


def _schema_or_bool(value: Any, write_schema: WriteSchema) -> bytes:
    if isinstance(value, bool):
        return _TRUE if value else b"\x08\x00"
    return _TRUE + protobuf.chunk(2, write_schema(value))


def _schema_or_array(value: Any, write_schema: WriteSchema) -> bytes:
    if isinstance(value, list):
        return b"".join([protobuf.chunk(2, write_schema(one)) for one in value])
    return protobuf.chunk(1, write_schema(value))


def _schema_or_string_array(value: Any, write_schema: WriteSchema) -> bytes:
    if isinstance(value, list):
        return b"".join([protobuf.chunk(2, one.encode()) for one in value])
    return protobuf.chunk(1, write_schema(value))


WRITERS: dict[str, Callable[[Any], bytes]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.FieldsV1": _json,
    f"{_EXTENSIONS}.JSON": _json,
    _QUANTITY: _quantity,
    _RAW: _json,
    _INT_OR_STRING: _int_or_string,
}

SCHEMA_WRITERS: dict[str, Callable[[Any, WriteSchema], bytes]] = {
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_array,
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_string_array,
}

ZEROS: dict[str, bytes] = {_QUANTITY: _quantity("0"), _INT_OR_STRING: _int_or_string(0)}
"""The other special types write nothing."""
