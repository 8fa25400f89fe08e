"""What the verbs ask of a kind, built-in or custom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from probate.machinery.problems import Problem
from probate.machinery.selectable_fields import SelectableField
from probate.machinery.tables.columns import Printer

Object: TypeAlias = dict[str, Any]


class Typed(NamedTuple):
    """An object as it may be stored, and the paths of the fields it had that its kind does not know."""

    object: Object
    unknown: list[str]


class Rules(Protocol):
    """The rules of one resource. Objects are changed in place where the name says `prepare`."""

    def read(self, value: Object) -> Typed:
        """The value as an object of this kind; `BadRequest` if its types are wrong. The value itself is left alone."""
        ...

    def prepare_new(self, object_: Object, *, uid: str, now: str) -> None:
        """Defaults, and what a new object has that its author does not give."""
        ...

    def problems_of_new(self, object_: Object) -> list[Problem]: ...

    def prepare_changed(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        """Defaults, and keeping what this way of writing cannot change."""
        ...

    def problems_of_changed(self, new: Object, old: Object, subresource: str) -> list[Problem]: ...

    def printer(self) -> Printer:
        """How tables show the kind."""
        ...

    def fields(self) -> Mapping[str, SelectableField]:
        """What field selectors may ask."""
        ...
