"""Tables of custom resources: the columns that their CRD defines in additionalPrinterColumns.

A CRD without columns shows Age. A cell is the first value at the column's path, converted to the column's type; a value that is
missing or of another type is null, which kubectl shows as nothing or `<none>`. A column of type string accepts any value and
shows non-strings as JSON. Cells that would take too long to compute are null as well.

    printer = custom_columns.printer(version["additionalPrinterColumns"])      once for each CRD version
    table.rows(printer, objects, now=clock.now())
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from probate.api.objects import Object
from probate.api.printers import ages, object_fields
from probate.api.printers.columns import AGE, NAME, Column, Printer
from probate.core import work_limits
from probate.lib import jsonpath

_DEFAULT_COLUMNS: list[Object] = [
    {"name": "Age", "type": "date", "description": AGE.description, "jsonPath": ".metadata.creationTimestamp"}
]
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
MAX_ROW_STEPS = 20_000
"""Work limit of one row, in steps."""
_MAX_INTEGER = 2**63  # the server's JSON has no larger integers


def printer(additional: Sequence[Object] | None) -> Printer:
    """Returns the printer for these columns. Build it once: it parses the paths."""
    parsed = _parse_columns(additional or _DEFAULT_COLUMNS)
    columns = (NAME, *(_column(definition) for definition, _ in parsed))
    readers = [(path.find, _CONVERTERS.get(object_fields.text(definition, "type"), _null)) for definition, path in parsed]

    def cells(object_: Object, now: float) -> list[Any]:
        with work_limits.WorkLimit(MAX_ROW_STEPS):
            return [object_fields.name(object_), *(_cell(find, fill, object_, now=now) for find, fill in readers)]

    return Printer(columns, cells)


def columns(additional: Sequence[Object] | None) -> list[Column]:
    """Returns the columns: Name, then those of the CRD."""
    return list(printer(additional).columns)


def cells(additional: Sequence[Object] | None, object_: Object, *, now: float) -> list[Any]:
    """Returns one object's cells. For many objects, build a `printer` once."""
    return printer(additional).cells(object_, now)


def _parse_columns(additional: Sequence[Object]) -> list[tuple[Object, jsonpath.Path]]:
    """Returns the columns up to the first with an invalid path, as Kubernetes does."""
    parsed = []
    for definition in additional:
        try:
            parsed.append((definition, jsonpath.parse(object_fields.text(definition, "jsonPath"))))
        except jsonpath.BadPath:
            break
    return parsed


def _column(definition: Object) -> Column:
    path = object_fields.text(definition, "jsonPath")
    return Column(
        name=object_fields.text(definition, "name"),
        type=object_fields.text(definition, "type"),
        format=object_fields.text(definition, "format"),
        description=object_fields.text(definition, "description") or f"The value at {path}.",
        priority=object_fields.number(definition, "priority"),
    )


def _cell(find: Callable[[Object], list[Any]], convert: Callable[[Any, float], Any], object_: Object, *, now: float) -> Any:
    try:
        values = find(object_)
        return convert(values[0], now) if values else None
    except work_limits.TooMuchWork:
        return None


def _integer(value: Any, _: float) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if abs(value) < _MAX_INTEGER else None


def _number(value: Any, _: float) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _integral(value)


def _boolean(value: Any, _: float) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: float) -> str | None:
    if not isinstance(value, str):
        return None
    if value in {"", "null", "0001-01-01T00:00:00Z"}:
        return ages.UNKNOWN
    time = ages.parse_timestamp(value)
    return ages.INVALID if time is None else ages.format_duration(now - time)


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
    return str(_integral(value))


def _integral(value: float) -> int | float:
    """Returns integral floats as integers, since Kubernetes does not distinguish 1.0 from 1."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_INTEGER else value


def _null(_value: Any, _now: float) -> None:
    return None


_CONVERTERS: dict[str, Callable[[Any, float], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "string": _string,
}
