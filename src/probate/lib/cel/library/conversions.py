"""Type conversions, and `type()`."""

from __future__ import annotations

import base64
import math
import re
from decimal import Decimal
from typing import Any

from probate.lib.cel import timestamps
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, first, traversal
from probate.lib.cel.numbers import MAX_INT, OVERFLOW, Uint, from_float, signed, unsigned
from probate.lib.cel.timestamps import Duration, Timestamp
from probate.lib.cel.values import TypeValue, size, type_name

LIBRARY = Library()
function = LIBRARY.function

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DOUBLE = re.compile(
    r"[+-]?([0-9]{1,400}\.?[0-9]{0,400}([eE][+-]?[0-9]{1,5})?|\.[0-9]{1,400}([eE][+-]?[0-9]{1,5})?|[iI]nf(inity)?|[nN]a[nN])"
)
_TRUE, _FALSE = frozenset({"1", "t", "T", "true", "TRUE", "True"}), frozenset({"0", "f", "F", "false", "FALSE", "False"})


@function("size(string) -> int", "size(bytes) -> int", "size(list<A>) -> int", "size(map<A, B>) -> int")
@function("string::size() -> int", "bytes::size() -> int", "list<A>::size() -> int", "map<A, B>::size() -> int")
def _size(_: Meter, value: Any) -> int:
    return size(value)


@function("type(A) -> type")
def _type(_: Meter, value: Any) -> TypeValue:
    return TypeValue(type_name(value))


@function("dyn(A) -> dyn")
def _dyn(_: Meter, value: Any) -> Any:
    return value


@function(
    "bool(bool) -> bool",
    "int(int) -> int",
    "uint(uint) -> uint",
    "double(double) -> double",
    "string(string) -> string",
    grows=first,
)
@function("bytes(bytes) -> bytes", "timestamp(timestamp) -> timestamp", "duration(duration) -> duration", grows=first)
def _same(_: Meter, value: Any) -> Any:
    return value


@function("bool(string) -> bool")
def _bool(_: Meter, text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise CelError(f"type conversion error from 'string' to 'bool': {text[:40]}")


@function("int(uint) -> int")
def _int_of_unsigned(_: Meter, value: int) -> int:
    return signed(int(value))


@function("int(double) -> int")
def _int_of_double(_: Meter, value: float) -> int:
    return from_float(value)


@function("int(string) -> int")
def _int_of_text(_: Meter, text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise CelError(f"type conversion error from 'string' to 'int': {text[:40]}")
    return signed(int(text))


@function("int(timestamp) -> int")
def _int_of_moment(_: Meter, value: Timestamp) -> int:
    return value.ns // timestamps.SECOND


@function("int(duration) -> int")
def _int_of_duration(_: Meter, value: Duration) -> int:
    return value.ns


@function("uint(int) -> uint")
def _unsigned_of_int(_: Meter, value: int) -> Uint:
    return unsigned(value)


@function("uint(double) -> uint")
def _unsigned_of_double(_: Meter, value: float) -> Uint:
    if math.isnan(value) or not 0 <= value < 2 * (MAX_INT + 1):
        raise CelError(OVERFLOW)
    return Uint(int(value))


@function("uint(string) -> uint")
def _unsigned_of_text(_: Meter, text: str) -> Uint:
    if not _INTEGER.fullmatch(text) or text[0] in "+-":
        raise CelError(f"type conversion error from 'string' to 'uint': {text[:40]}")
    return unsigned(int(text))


@function("double(int) -> double", "double(uint) -> double")
def _double(_: Meter, value: int) -> float:
    return float(value)


@function("double(string) -> double", cost=traversal)
def _double_of_text(_: Meter, text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise CelError(f"type conversion error from 'string' to 'double': {text[:40]}")
    return float(text)


@function("string(int) -> string", "string(uint) -> string", grows=lambda _: 20)
def _text_of_number(_: Meter, value: int) -> str:
    return str(int(value))


@function("string(bool) -> string", grows=lambda _: 5)
def _text_of_bool(_: Meter, value: bool) -> str:
    return "true" if value else "false"


@function("string(double) -> string", grows=lambda _: 25)
def _text_of_double(_: Meter, value: float) -> str:
    return format_double(value)


@function("string(bytes) -> string", cost=traversal, grows=first)
def _text_of_bytes(_: Meter, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


@function("string(timestamp) -> string", "string(duration) -> string", grows=lambda _: 35)
def _text_of_time(_: Meter, value: Any) -> str:
    return str(value)


@function("bytes(string) -> bytes", cost=traversal, grows=first)
def _bytes(_: Meter, text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@function("timestamp(string) -> timestamp")
def _timestamp(_: Meter, text: str) -> Timestamp:
    return timestamps.timestamp(text)


@function("timestamp(int) -> timestamp")
def _timestamp_of_seconds(_: Meter, value: int) -> Timestamp:
    return Timestamp(value * timestamps.SECOND)


@function("duration(string) -> duration")
def _duration(_: Meter, text: str) -> Duration:
    return timestamps.duration(text[:200])


@function("duration(int) -> duration")
def _duration_of_nanoseconds(_: Meter, value: int) -> Duration:
    return Duration(value)


@function("base64.encode(bytes) -> string", cost=traversal, grows=lambda size: size * 4 // 3 + 4)
def _encode(_: Meter, value: bytes) -> str:
    return base64.b64encode(value).decode()


@function("base64.decode(string) -> bytes", cost=traversal, grows=first)
def _decode(_: Meter, text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError as error:
        raise CelError(f"illegal base64 data: {error}") from None


def format_double(value: float) -> str:
    """Formats a double as Go does: the shortest representation, with an exponent from one million on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    shortest = Decimal(repr(value)).normalize()
    power = shortest.adjusted()
    if value == 0 or -4 <= power < 6:
        return f"{shortest:f}"
    digits = "".join(map(str, shortest.as_tuple().digits))
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{'-' if value < 0 else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
