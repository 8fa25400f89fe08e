"""KindRules: what the verbs need to know about a kind, built-in or custom. Kubernetes calls this a REST strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from probate.api.apply.ownable_part import OwnablePart
from probate.api.apply.schema_shapes import Shape
from probate.api.catalog import Catalog, Resource
from probate.api.field_errors import FieldError
from probate.api.objects import Object
from probate.api.printers import columns
from probate.api.selectors.selectable_fields import SelectableField


class DecodedObject(NamedTuple):
    """A decoded object, and the paths of fields that its schema does not have."""

    object: Object
    unknown_fields: list[str]


class KindRules(Protocol):
    """The rules of one resource. `set_defaults` and the `prepare_…` methods change objects in place; all others do not."""

    def __hash__(self) -> int: ...

    def matches_exactly(self, value: Object) -> bool:
        """Fast path: whether `decode` would return the value unchanged, without unknown fields. May return False if in doubt."""
        ...

    def decode(self, value: Object) -> DecodedObject:
        """Decodes a value by the schema, and drops unknown fields.

        Raises `BadRequest` if a type is wrong. Does not modify the value.
        """
        ...

    def set_defaults(self, object_: Object) -> None:
        """Sets the defaults of fields that are absent."""
        ...

    def prepare_for_create(self, object_: Object, *, uid: str, now: str) -> None:
        """Sets what the server sets on a new object after defaulting (Kubernetes' PrepareForCreate)."""
        ...

    def validate_create(self, object_: Object) -> list[FieldError]:
        """Returns the field errors of a new object."""
        ...

    def prepare_for_update(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        """Sets defaults, and restores what a write through this subresource cannot change (Kubernetes' PrepareForUpdate)."""
        ...

    def validate_update(self, new: Object, old: Object, subresource: str) -> list[FieldError]:
        """Returns the field errors of an update."""
        ...

    def warnings_on_create(self, object_: Object) -> Sequence[str]:
        """Returns the warnings for a valid new object."""
        ...

    def warnings_on_update(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """Returns the warnings for a valid update."""
        ...

    def validate_apply(self, object_: Object) -> list[FieldError]:
        """Returns field errors after an apply that a create or update would silently ignore."""
        ...

    def printer(self) -> columns.Printer:
        """Returns the table printer of the kind."""
        ...

    def shape(self) -> Shape:
        """Returns the shape of the served schema, by which fields are owned."""
        ...

    def empty_object(self) -> Object:
        """Returns the object that decoding an empty object gives: only fields that are always present."""
        ...

    def ownable_part(self, subresource: str) -> OwnablePart:
        """Returns the part of an object that a field manager can own by writing through this subresource."""
        ...

    def selectable_fields(self) -> Mapping[str, SelectableField]:
        """Returns the fields that field selectors support."""
        ...


class ServedKinds(Protocol):
    """The kinds that are served now. A change of a CRD changes them, so code keeps this object, and no catalog.

    `KindRegistry` implements it.
    """

    @property
    def catalog(self) -> Catalog:
        """The resources that are served now. Replaced as a whole, never modified."""
        ...

    def rules(self, resource: Resource) -> KindRules:
        """Returns the rules of a resource."""
        ...

    def crd(self, resource: Resource) -> Object:
        """Returns the CustomResourceDefinition of a custom resource."""
        ...
