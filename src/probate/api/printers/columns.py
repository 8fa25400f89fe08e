"""Columns of a table, and the printers that fill them.

A `Printer` combines a resource's columns with the function that returns one object's cells: as many, in the same order. The server
always fills all columns; kubectl shows a column with priority 1 only with `-o wide`.

    Printer((NAME, integer("Data", "..."), AGE), lambda object_, now: ["settings", 3, "5m"])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from probate.api.objects import Object

Cells = Callable[[Object, float], list[Any]]  # of one object, at that time (seconds since 1970)


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a Table."""

    name: str
    type: str = "string"  # string, integer, number, boolean, date
    format: str = ""  # "name" marks the column that names the object
    description: str = ""
    priority: int = 0

    def document(self) -> Object:
        """Returns the column as an entry of columnDefinitions."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def _no_conditions(_: Object) -> list[Object]:
    return []


class Printer(msgspec.Struct, frozen=True):
    """Prints objects of one resource as rows."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Object], list[Object]] = _no_conditions  # of a row: kubectl can omit finished objects
    order: Callable[[Object], Any] | None = None  # sort key of the rows, if it is not the list's order


def text(name: str, description: str) -> Column:
    """Returns a column of strings, as most are. Also for numbers that Kubernetes returns as strings."""
    return Column(name=name, description=description)


def integer(name: str, description: str) -> Column:
    """Returns a column of integers."""
    return Column(name=name, type="integer", description=description)


def boolean(name: str, description: str) -> Column:
    """Returns a column of booleans."""
    return Column(name=name, type="boolean", description=description)


def wide(name: str, description: str) -> Column:
    """Returns a column that kubectl shows only with `-o wide`."""
    return Column(name=name, description=description, priority=1)


NAME = Column(name="Name", format="name", description="The object's name, unique among its kind in its namespace.")
AGE = text("Age", "How long ago the object was created.")
CREATED_AT = Column(name="Created At", type="date", description="When the object was created.")
CONTAINERS = wide("Containers", "The names of the containers in the pod template.")
IMAGES = wide("Images", "The images of the containers in the pod template.")
SELECTOR = wide("Selector", "The labels that select the pods.")
