"""The entry: a resource's printer, its rows, and the Table document that a client asked for by its Accept header.

    printer = table.printer("apps", "v1", "deployments")           or custom.printer(additionalPrinterColumns)
    rows = table.rows(printer, objects, now=clock.now())
    table.document(printer.columns, rows, resource_version="42")

A get answers a table of one row, a list one of many. A watch sends one table with one row per event: columns belong into the first
only, so `document(None, ...)` makes those after it. Resources without a table of their own show their name and creation time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from probate.api.printing import object_fields
from probate.api.printing.columns import CREATED_AT, NAME, Column, Object, Printer
from probate.kinds.admissionregistration import columns as admissionregistration_columns
from probate.kinds.apiregistration import columns as apiregistration_columns
from probate.kinds.apps import columns as app_columns
from probate.kinds.autoscaling import columns as autoscaling_columns
from probate.kinds.batch import columns as batch_columns
from probate.kinds.certificates import columns as certificate_columns
from probate.kinds.core import columns as core_columns
from probate.kinds.core import node_columns
from probate.kinds.core.pods import columns as pod_columns
from probate.kinds.core.services import columns as service_columns
from probate.kinds.events import columns as event_columns
from probate.kinds.networking import columns as networking_columns
from probate.kinds.rbac import columns as rbac_columns
from probate.kinds.resource import columns as resource_columns
from probate.kinds.scheduling import columns as scheduling_columns
from probate.kinds.storage import columns as storage_columns

IncludeObject = Literal["None", "Metadata", "Object"]
Version = Literal["v1", "v1beta1"]
"""Of meta.k8s.io."""

_NEVER = "0001-01-01T00:00:00Z"
_THEMES = (
    pod_columns,
    app_columns,
    batch_columns,
    core_columns,
    node_columns,
    event_columns,
    service_columns,
    networking_columns,
    storage_columns,
    autoscaling_columns,
    scheduling_columns,
    resource_columns,
    rbac_columns,
    certificate_columns,
    admissionregistration_columns,
    apiregistration_columns,
)
_PRINTERS: dict[tuple[str, str], Printer] = {key: printer for theme in _THEMES for key, printer in theme.PRINTERS.items()}


def _created(object_: Object, _: float) -> list[Any]:
    return [object_fields.name(object_), object_fields.text(object_, "metadata", "creationTimestamp", default=_NEVER)]


GENERIC = Printer((NAME, CREATED_AT), _created)


class Row(NamedTuple):
    """One object and its cells. `conditions` say of a row what kubectl may act on: that a pod has ended."""

    cells: list[Any]
    object: Object
    conditions: list[Object]


def printer(group: str, version: str, plural: str) -> Printer:
    """The printer of a built-in resource; the generic one where there is none. A version changes nothing so far."""
    return _PRINTERS.get((group, plural), GENERIC)


def columns(group: str, version: str, plural: str) -> list[Column]:
    """The columns of a built-in resource."""
    return list(printer(group, version, plural).columns)


def cells(group: str, version: str, plural: str, object_: Object, *, now: float) -> list[Any]:
    """One object's cells, as many as there are columns. Never fails: what is missing shows as Kubernetes shows it."""
    return printer(group, version, plural).cells(object_, now)


def rows(printer: Printer, objects: Iterable[Object], *, now: float) -> list[Row]:
    """The objects' rows, in their order or in the one that their kind is read in."""
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
    """The Table. `columns` is None for the events of a watch after its first."""
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
