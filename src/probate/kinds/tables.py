"""Builds Tables: a resource's printer, its rows, and the Table document that a client asks for by its Accept header.

    printer = tables.printer("apps", "v1", "deployments")          or custom_columns.printer(additionalPrinterColumns)
    rows = tables.rows(printer, objects, now=clock.now())
    tables.document(printer.columns, rows, resource_version="42")

A get returns a table of one row, a list a table of many. A watch sends one table with one row per event: only the first table has
columns, so `document(None, ...)` builds the later ones. Resources without a printer of their own show their name and creation time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from probate.api.objects import Object
from probate.api.printers import object_fields
from probate.api.printers.columns import CREATED_AT, NAME, Column, Printer
from probate.kinds import registry

IncludeObject = Literal["None", "Metadata", "Object"]
Version = Literal["v1", "v1beta1"]
"""Versions of meta.k8s.io."""

_NEVER = "0001-01-01T00:00:00Z"


def _created(object_: Object, _: float) -> list[Any]:
    return [object_fields.name(object_), object_fields.text(object_, "metadata", "creationTimestamp", default=_NEVER)]


GENERIC = Printer((NAME, CREATED_AT), _created)


class Row(NamedTuple):
    """One object and its cells. `conditions` tell kubectl about the state of the row: that a pod has ended."""

    cells: list[Any]
    object: Object
    conditions: list[Object]


def printer(group: str, version: str, plural: str) -> Printer:
    """Returns the printer of a built-in resource, or the generic one if the resource has none.

    The version has no effect so far.
    """
    kind = registry.find_plural(group, plural)
    return GENERIC if kind is None or kind.columns is None else kind.columns()


def columns(group: str, version: str, plural: str) -> list[Column]:
    """Returns the columns of a built-in resource."""
    return list(printer(group, version, plural).columns)


def cells(group: str, version: str, plural: str, *, object_: Object, now: float) -> list[Any]:
    """Returns one object's cells, as many as there are columns. Never fails: an absent value shows as Kubernetes shows it."""
    return printer(group, version, plural).cells(object_, now)


def rows(printer: Printer, objects: Iterable[Object], *, now: float) -> list[Row]:
    """Returns the objects' rows, in the given order or in the order that the printer defines."""
    ordered = objects if printer.order is None else sorted(objects, key=printer.order)
    fill, conditions = printer.cells, printer.conditions
    return [Row(fill(object_, now), object_, conditions(object_)) for object_ in ordered]


def document(
    columns: Sequence[Column] | None,
    rows: Iterable[Row],
    *,
    include_object: IncludeObject = "Metadata",
    resource_version: str = "",
    continue_: str = "",
    remaining: int | None = None,
    version: Version = "v1",
) -> Object:
    """Returns the Table document. `columns` is None for the events of a watch after the first."""
    metadata = {"resourceVersion": resource_version, "continue": continue_, "remainingItemCount": remaining}
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {key: value for key, value in metadata.items() if value not in ("", None)},
        "columnDefinitions": None if columns is None else [one.document() for one in columns],
        "rows": [_row(one, include_object, f"meta.k8s.io/{version}") for one in rows],
    }


def _row(row: Row, include_object: IncludeObject, api_version: str) -> Object:
    written: Object = {"cells": row.cells}
    if row.conditions:
        written["conditions"] = row.conditions
    if include_object == "Object":
        written["object"] = row.object
    elif include_object == "None":
        written["object"] = None
    else:
        metadata = object_fields.mapping(row.object, "metadata")
        written["object"] = {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": metadata}
    return written
