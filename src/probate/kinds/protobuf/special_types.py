"""Reads the types whose JSON is not an object of their fields.

    Time { seconds = 1, nanos = 2 }                    "2030-01-02T03:04:05Z", null if it is empty
    MicroTime { seconds = 1, nanos = 2 }               "2030-01-02T03:04:05.000006Z"
    Quantity { string = 1 }                            "100m"
    IntOrString { type = 1, intVal = 2, strVal = 3 }   80 or "http"
    RawExtension, FieldsV1, JSON { raw = 1 }           the JSON in these bytes
    JSONSchemaPropsOrBool { allows = 1, schema = 2 }   true, false or a schema

A schema may contain such types again, but OpenAPI does not describe their content: `read_schema` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from probate.api.serialization import documents
from probate.core import errors
from probate.lib import protobuf

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  the zone is written as Z
_NO_TIME = -62135596800  # the first second of the year 1
_INTEGER, _STRING = 0, 1  # the types of an IntOrString


def _time(fields: protobuf.Fields) -> str | None:
    moment = _moment(fields)
    return None if moment is None else f"{moment}Z"


def _micro_time(fields: protobuf.Fields) -> str | None:
    moment = _moment(fields)
    micros = protobuf.signed(fields.varint(2), 32) // 1000 % 1_000_000
    return None if moment is None else f"{moment}.{micros:06}Z"


def _moment(fields: protobuf.Fields) -> str | None:
    """Returns the time in seconds, or None for Go's zero time."""
    seconds = protobuf.signed(fields.varint(1), 64)
    if not fields.numbers() or seconds == _NO_TIME:
        return None
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat()
    except OverflowError:
        raise protobuf.Malformed("this time is not within the years 1 to 9999") from None


def _quantity(fields: protobuf.Fields) -> str:
    return fields.chunk(1).decode(errors="replace") or "0"


def _int_or_string(fields: protobuf.Fields) -> int | str:
    chosen = fields.varint(1)
    if chosen not in {_INTEGER, _STRING}:
        raise protobuf.Malformed(f"{chosen} is not a type of an IntOrString")
    return protobuf.signed(fields.varint(2), 32) if chosen == _INTEGER else fields.chunk(3).decode(errors="replace")


def _json(fields: protobuf.Fields) -> Any:
    raw = fields.chunk(1)
    try:
        return documents.parse_json(raw, finds_duplicates=False).value if raw else None
    except errors.BadRequest as error:
        raise protobuf.Malformed(str(error)) from None


def _schema_or_bool(fields: protobuf.Fields, read_schema: Callable[[bytes], Any]) -> Any:
    return read_schema(fields.message(2)) if 2 in fields.chunks else bool(fields.varint(1))


def _schema_or_array(fields: protobuf.Fields, read_schema: Callable[[bytes], Any]) -> Any:
    if 2 in fields.chunks:
        return [read_schema(one) for one in fields.chunks[2]]
    return read_schema(fields.message(1)) if 1 in fields.chunks else None


def _schema_or_string_array(fields: protobuf.Fields, read_schema: Callable[[bytes], Any]) -> Any:
    if 2 in fields.chunks:
        return [one.decode(errors="replace") for one in fields.chunks[2]]
    return read_schema(fields.message(1)) if 1 in fields.chunks else None


READERS: dict[str, Callable[[protobuf.Fields], Any]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.FieldsV1": _json,
    f"{_EXTENSIONS}.JSON": _json,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _json,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}

SCHEMA_READERS: dict[str, Callable[[protobuf.Fields, Callable[[bytes], Any]], Any]] = {
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_array,
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_string_array,
}
