"""The `format` function: `'%s is %d'.format([a, b])`."""

from __future__ import annotations

import math
import re
from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.library.conversions import format_double
from probate.lib.cel.numbers import is_number
from probate.lib.cel.timestamps import Duration, Timestamp
from probate.lib.cel.values import NONE, Optional, TypeValue, of_key, type_name

MAX_PRECISION = 1000
_DIRECTIVE = re.compile(r"%(?:(%)|(?:\.([0-9]{1,6}))?([sdfebxXo])|)")


def format_template(meter: Meter, template: str, args: list[Any]) -> str:
    """Replaces the directives of the template with the formatted arguments."""
    waiting = iter(args)
    used = 0

    def one(match: re.Match[str]) -> str:
        nonlocal used
        if match[1]:
            return "%"
        if not match[3]:
            clause = template[match.start() + 1 : match.start() + 2]
            raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{clause}"')
        if used >= len(args):
            raise CelError(f"index {used} out of range")
        used += 1
        text = _directive(meter, match[3], int(match[2] or 6), value=next(waiting))
        meter.charge(len(text) // 10)
        return text

    return _DIRECTIVE.sub(one, template)


def _directive(meter: Meter, kind: str, precision: int, *, value: Any) -> str:
    if precision > MAX_PRECISION:
        raise CelError(f"precision is too large: {precision}")
    match kind:
        case "s":
            return to_string(meter, value)
        case "d":
            return _decimal(value)
        case "f" | "e":
            return _floating(kind, precision, value)
        case "b" | "o":
            return _binary_or_octal(kind, value)
        case _:
            return _hexadecimal(kind, value)


def _type_error(what: str, value: Any) -> CelError:
    return CelError(f"error during formatting: {what} can only be used on numbers, was given {type_name(value)}")


def _decimal(value: Any) -> str:
    if type(value) is float:
        return (
            format_double(value) if not math.isfinite(value) else str(int(value)) if value == int(value) else format_double(value)
        )
    if not is_number(value):
        raise _type_error("decimal clause", value)
    return str(int(value))


def _floating(kind: str, precision: int, value: Any) -> str:
    if not is_number(value):
        raise _type_error("fixed-point clause" if kind == "f" else "scientific clause", value)
    number = float(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return f"{number:.{precision}{kind}}"


def _binary_or_octal(kind: str, value: Any) -> str:
    if type(value) is bool and kind == "b":
        return str(int(value))
    if not is_number(value) or type(value) is float:
        raise _type_error("binary clause" if kind == "b" else "octal clause", value)
    return format(int(value), kind)


def _hexadecimal(kind: str, value: Any) -> str:
    if isinstance(value, str | bytes):
        text = (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value).hex()
        return text.upper() if kind == "X" else text
    if not is_number(value) or type(value) is float:
        raise _type_error("hex clause", value)
    return format(int(value), kind)


def to_string(meter: Meter, value: Any) -> str:
    """Converts any value to a string."""
    meter.charge(1)
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, float):
        return format_double(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, TypeValue):
        return value.name
    return _collection_to_string(meter, value)


def _collection_to_string(meter: Meter, value: Any) -> str:
    if isinstance(value, list):
        text = ", ".join(to_string(meter, one) for one in value)
        meter.charge(len(text) // 10)
        return f"[{text}]"
    if isinstance(value, dict):
        entries = sorted((to_string(meter, of_key(name)), to_string(meter, one)) for name, one in value.items())
        text = ", ".join(f"{name}: {one}" for name, one in entries)
        meter.charge(len(text) // 10)
        return f"{{{text}}}"
    if isinstance(value, Optional):
        return "optional.none()" if value is NONE else f"optional({to_string(meter, value.value)})"
    if hasattr(value, "cel_shown"):
        return str(value.cel_shown())
    raise CelError(f"error during formatting: string clause cannot be used on {type_name(value)}")
