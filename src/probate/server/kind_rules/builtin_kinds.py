"""BuiltinKindRules: the rules of kinds that Kubernetes itself defines."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from probate.api import metadata, names, quantities
from probate.api.apply import ownable_part as owning
from probate.api.apply.ownable_part import OwnablePart
from probate.api.apply.schema_shapes import Shape
from probate.api.catalog import Resource
from probate.api.field_errors import FieldError
from probate.api.objects import Object
from probate.api.printers import columns
from probate.api.schema import exact_match, typed
from probate.api.schema.node import Schema
from probate.api.selectors import selectable_fields
from probate.api.selectors.selectable_fields import SelectableField
from probate.kinds import defaults as defaulting
from probate.kinds import omitempty, tables, validation, warnings
from probate.kinds import strategy as kind_strategy
from probate.kinds.core.pods import container_limit
from probate.server import api_errors
from probate.server.kind_rules import object_parts
from probate.server.kind_rules.contract import DecodedObject


class BuiltinKindRules:
    """The rules of a built-in resource. Validation uses the served version, everything else the stored version."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._served = resource.group_version_kind
        self._kind = resource.storage_gvk or self._served
        self._name_rule = names.name_rule(resource.group, resource.kind)
        self._has_create_strategy = kind_strategy.can_change_new(self._kind.group, self._kind.kind)
        self._group_kind = self._kind.group, self._kind.kind
        self._has_warnings = warnings.has_any(*self._group_kind)
        self._has_pods = container_limit.has_pods(*self._group_kind)

    @functools.cached_property
    def _schema(self) -> Schema:
        return self._resource.load_schema()

    def matches_exactly(self, value: Object) -> bool:
        is_over_limit = self._has_pods and bool(container_limit.problems(*self._group_kind, value))  # `decode` rejects it
        return not is_over_limit and exact_match.is_exact_match(value, self._schema)

    def decode(self, value: Object) -> DecodedObject:
        if self._has_pods:
            self._check_containers(value)
        reader = typed.Reader(_quantity)
        object_ = reader.read(value, self._schema)
        return DecodedObject(object_, reader.unknown)

    def _check_containers(self, value: Object) -> None:
        if problems := container_limit.problems(*self._group_kind, value):
            meta = value.get("metadata")
            name = meta.get("name") if isinstance(meta, dict) else None
            raise api_errors.invalid(self._resource, name if isinstance(name, str) else "", problems)

    def set_defaults(self, object_: Object) -> None:
        defaulting.apply(self._kind, object_)

    def prepare_for_create(self, object_: Object, *, uid: str, now: str) -> None:
        if self._has_create_strategy:
            kind_strategy.create(self._kind, object_, uid=uid, now=now)

    def validate_create(self, object_: Object) -> list[FieldError]:
        is_namespaced = self._resource.is_namespaced
        problems = metadata.validate_create(object_["metadata"], is_namespaced=is_namespaced, name_rule=self._name_rule)
        return problems + validation.create(self._served, object_)

    def prepare_for_update(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        defaulting.apply(self._kind, new)
        if subresource in object_parts.PARTIAL_SUBRESOURCES:
            new |= object_parts.merge_subresource(subresource, new, old, now=now)
        elif subresource == "status":
            kind_strategy.update_status(self._kind, new, old, now=now)
        else:
            kind_strategy.update(self._kind, new, old)

    def validate_update(self, new: Object, old: Object, subresource: str) -> list[FieldError]:
        problems = metadata.validate_update(new["metadata"], old["metadata"])
        if not subresource:
            return problems + validation.update(self._served, new, old)
        if subresource == "status":
            return problems + validation.status(self._served, new, old)
        return problems + validation.subresource(self._served, subresource, new, old=old)

    def warnings_on_create(self, object_: Object) -> Sequence[str]:
        return warnings.create(self._kind.group, self._kind.kind, object_) if self._has_warnings else ()

    def warnings_on_update(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        if subresource or not self._has_warnings:
            return ()
        return warnings.update(self._kind.group, self._kind.kind, new, old=old)

    def validate_apply(self, object_: Object) -> list[FieldError]:
        return []

    @functools.cached_property
    def _shape(self) -> Shape:
        return Shape(self._schema)

    def shape(self) -> Shape:
        return self._shape

    @functools.cached_property
    def _empty_object(self) -> Object:
        result: Object = {"metadata": {}}
        omitempty.write(result, self._schema)
        return result

    def empty_object(self) -> Object:
        return self._empty_object

    def ownable_part(self, subresource: str) -> OwnablePart:
        if subresource in object_parts.PARTIAL_SUBRESOURCES:
            return object_parts.ownable_part(subresource)
        if subresource == "status":
            reset_fields = kind_strategy.of(self._resource.group, self._resource.kind).metadata_kept_on_status
            return OwnablePart(included=frozenset({"metadata", "status"}), excluded_metadata=frozenset(reset_fields))
        return (
            owning.WITHOUT_STATUS if kind_strategy.of(self._resource.group, self._resource.kind).has_status else owning.WHOLE_OBJECT
        )

    def printer(self) -> columns.Printer:
        return tables.printer(self._resource.group, self._resource.version, self._resource.plural)

    def selectable_fields(self) -> Mapping[str, SelectableField]:
        return selectable_fields.supported_fields(self._resource.group_resource)


def _quantity(value: str | float) -> str | None:
    """Returns the canonical form of a quantity, or None if the value is not a quantity."""
    return quantities.canonical(value) if quantities.is_quantity(value) else None
