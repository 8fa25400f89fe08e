"""What a table is made of: columns, and printers that fill them.

A `Printer` joins a resource's columns with the function that makes one object's cells: as many, in the same order. The server
always fills all columns; a column with priority 1 is one that kubectl shows only with `-o wide`.

    Printer((NAME, integer("Data", "..."), AGE), lambda object_, now: ["settings", 3, "5m"])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from probate.api.printing import object_fields

Object = object_fields.Object
Cells = Callable[[Object, float], list[Any]]  # of one object, at that time (seconds since 1970)


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column, as the Table document describes it."""

    name: str
    type: str = "string"  # string, integer, number, boolean, date
    format: str = ""  # "name" marks the column that names the object
    description: str = ""
    priority: int = 0

    def document(self) -> Object:
        """The column as an entry of columnDefinitions."""
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
    """How a resource's objects become rows."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Object], list[Object]] = _no_conditions  # of a row: kubectl can leave out what has ended
    order: Callable[[Object], Any] | None = None  # of a list's rows, where it is not the list's own


def text(name: str, description: str) -> Column:
    """A column of texts, which is what most are: also of numbers that Kubernetes says are texts."""
    return Column(name=name, description=description)


def integer(name: str, description: str) -> Column:
    """A column of whole numbers."""
    return Column(name=name, type="integer", description=description)


def boolean(name: str, description: str) -> Column:
    """A column of true and false."""
    return Column(name=name, type="boolean", description=description)


def wide(name: str, description: str) -> Column:
    """A column that is shown only with `-o wide`."""
    return Column(name=name, description=description, priority=1)


NAME = Column(name="Name", format="name", description="The object's name, unique among its kind in its namespace.")
AGE = text("Age", "How long ago the object was created.")
CREATED_AT = Column(name="Created At", type="date", description="When the object was created.")
CONTAINERS = wide("Containers", "The names of the containers in the pod template.")
IMAGES = wide("Images", "The images of the containers in the pod template.")
SELECTOR = wide("Selector", "The labels that choose the pods.")
