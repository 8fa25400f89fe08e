"""What the verbs ask of a kind, built-in or custom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from probate.api.apply.ownable_part import Part
from probate.api.apply.schema_shapes import Shape
from probate.api.field_errors import Problem
from probate.api.printing import columns
from probate.api.selectors.selectable_fields import SelectableField

Object: TypeAlias = dict[str, Any]


class Typed(NamedTuple):
    """An object as it may be stored, and the paths of the fields it had that its kind does not know."""

    object: Object
    unknown: list[str]


class Rules(Protocol):
    """The rules of one resource. Objects are changed in place where the name says `prepare`."""

    def __hash__(self) -> int: ...

    def fits(self, value: Object) -> bool:
        """Whether the value is, as it is, what `read` would make of it. If not, `read` knows more."""
        ...

    def read(self, value: Object) -> Typed:
        """The value as an object of this kind; `BadRequest` if its types are wrong. The value itself is left alone."""
        ...

    def set_defaults(self, object_: Object) -> None:
        """What a new object has if its author says nothing else."""
        ...

    def prepare_new(self, object_: Object, *, uid: str, now: str) -> None:
        """What a new object, its defaults set, has that its author does not give."""
        ...

    def problems_of_new(self, object_: Object) -> list[Problem]: ...

    def prepare_changed(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        """Defaults, and keeping what this way of writing cannot change."""
        ...

    def problems_of_changed(self, new: Object, old: Object, subresource: str) -> list[Problem]: ...

    def warnings_of_new(self, object_: Object) -> Sequence[str]:
        """What its author should know of an object that may be created."""
        ...

    def warnings_of_changed(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """What its author should know of an object that may take the place of the old one."""
        ...

    def problems_of_applied(self, object_: Object) -> list[Problem]:
        """What is wrong with an object after an apply that would be overlooked, if it was created or updated."""
        ...

    def printer(self) -> columns.Printer:
        """How tables show the kind."""
        ...

    def shape(self) -> Shape:
        """How its fields are owned, in the version that is served."""
        ...

    def blank(self) -> Object:
        """What an object has of which nobody has written anything."""
        ...

    def part(self, subresource: str) -> Part:
        """What can be owned by writing through the subresource."""
        ...

    def fields(self) -> Mapping[str, SelectableField]:
        """What field selectors may ask."""
        ...
