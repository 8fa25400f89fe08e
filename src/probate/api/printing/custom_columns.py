"""The tables of custom resources: the columns that their definition names in additionalPrinterColumns.

A definition without columns shows Age. A cell is the first value at the column's path, in the column's type; a value that is
missing or of another type is null, which kubectl shows as nothing or `<none>`. A column of type string takes any value and
shows what is no text as JSON. Cells of a row that would take too long are null as well.

    printer = custom.printer(version["additionalPrinterColumns"])      once for a definition
    table.rows(printer, objects, now=clock.now())
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from probate.api.printing import ages, object_fields
from probate.api.printing.columns import AGE, NAME, Column, Object, Printer
from probate.core import work_limits
from probate.lib import jsonpath

_DEFAULT: list[Object] = [
    {"name": "Age", "type": "date", "description": AGE.description, "jsonPath": ".metadata.creationTimestamp"}
]
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
MAX_EFFORT = 20_000
"""Of one row."""
_WRITTEN_OUT = 2**63  # JSON as we write it has no larger whole numbers


def printer(additional: Sequence[Object] | None) -> Printer:
    """The printer for these columns. Make it once: the paths are parsed here."""
    readable = _readable(additional or _DEFAULT)
    found = (NAME, *(_column(one) for one, _ in readable))
    fills = [(path.find, _FILLS.get(object_fields.text(one, "type"), _nothing)) for one, path in readable]

    def cells(object_: Object, now: float) -> list[Any]:
        with work_limits.limited(MAX_EFFORT):
            return [object_fields.name(object_), *(_cell(find, fill, object_, now) for find, fill in fills)]

    return Printer(found, cells)


def columns(additional: Sequence[Object] | None) -> list[Column]:
    """The columns: Name, then those that the definition names."""
    return list(printer(additional).columns)


def cells(additional: Sequence[Object] | None, object_: Object, *, now: float) -> list[Any]:
    """One object's cells. For many, make a `printer` once."""
    return printer(additional).cells(object_, now)


def _readable(additional: Sequence[Object]) -> list[tuple[Object, jsonpath.Path]]:
    """The columns up to the first whose path cannot be read, as Kubernetes shows them."""
    found = []
    for one in additional:
        try:
            found.append((one, jsonpath.parse(object_fields.text(one, "jsonPath"))))
        except jsonpath.BadPath:
            break
    return found


def _column(one: Object) -> Column:
    path = object_fields.text(one, "jsonPath")
    return Column(
        name=object_fields.text(one, "name"),
        type=object_fields.text(one, "type"),
        format=object_fields.text(one, "format"),
        description=object_fields.text(one, "description") or f"The value at {path}.",
        priority=object_fields.number(one, "priority"),
    )


def _cell(find: Callable[[Object], list[Any]], fill: Callable[[Any, float], Any], object_: Object, now: float) -> Any:
    try:
        found = find(object_)
        return fill(found[0], now) if found else None
    except work_limits.TooMuch:
        return None


def _integer(value: Any, _: float) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if abs(value) < _WRITTEN_OUT else None


def _number(value: Any, _: float) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _plain(value)


def _boolean(value: Any, _: float) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: float) -> str | None:
    if not isinstance(value, str):
        return None
    if value in {"", "null", "0001-01-01T00:00:00Z"}:
        return ages.UNKNOWN
    moment = ages.seconds(value)
    return ages.INVALID if moment is None else ages.duration(now - moment)


def _string(value: Any, _: float) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(_ESCAPES)
        work_limits.spend(len(text) // 100)
        return text
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(_plain(value))


def _plain(value: float) -> int | float:
    """Whole floats as whole numbers, since Kubernetes does not tell 1.0 from 1."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _WRITTEN_OUT else value


def _nothing(_value: Any, _now: float) -> None:
    return None


_FILLS: dict[str, Callable[[Any, float], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "string": _string,
}
