"""Kinds that a CustomResourceDefinition defines."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from probate.api import metadata, names
from probate.api.apply import ownable_part as owning
from probate.api.apply.ownable_part import Part
from probate.api.apply.schema_shapes import Shape
from probate.api.catalog import Resource
from probate.api.crds import resources
from probate.api.field_errors import Problem, first
from probate.api.printing import columns
from probate.api.printing import custom_columns as tables
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.api.selectors import selectable_fields
from probate.api.selectors.selectable_fields import SelectableField
from probate.api.structural import defaults, embedded_resources, nulls, prune, validate
from probate.api.structural.rules import evaluation
from probate.kinds import omitempty, warnings
from probate.kinds.builtin import catalog
from probate.kinds.shared import custom_strategy as preparation
from probate.server.kind_rules.contract import Object, Typed


class Custom:
    """The rules of one version of a custom resource."""

    def __init__(self, resource: Resource, definition: dict[str, Any]) -> None:
        self._resource = resource
        self._definition = definition
        self._has_status = resource.subresource("status") is not None

    def fits(self, value: Object) -> bool:
        return False

    def read(self, value: Object) -> Typed:
        object_: Object = orjson.loads(orjson.dumps(value))
        object_["metadata"], unknown = _metadata(value.get("metadata") or {}, "metadata")
        unknown += prune.prune(object_, self._resource.load_schema())
        return Typed(object_, [*unknown, *self._read_embedded(object_)][: typed.MAX_UNKNOWN] if self._has_embedded else unknown)

    def _read_embedded(self, object_: Object) -> Iterator[str]:
        """Leave of the metadata of embedded resources what metadata have. Says what went."""
        for path, resource in embedded_resources.found(object_, self._resource.load_schema()):
            if resource.get("metadata") is not None:
                resource["metadata"], unknown = _metadata(resource["metadata"], f"{path}.metadata")
                yield from unknown

    def set_defaults(self, object_: Object) -> None:
        self._default(object_)

    def prepare_new(self, object_: Object, *, uid: str, now: str) -> None:
        preparation.create_custom(object_, has_status=self._has_status)
        self._default(object_)

    def problems_of_new(self, object_: Object) -> list[Problem]:
        found = metadata.validate_create(
            object_["metadata"], is_namespaced=self._resource.is_namespaced, name_rule=names.dns_subdomain, is_custom=True
        )
        found += validate.validate(object_, self._resource.load_schema())
        return evaluation.judged(found, object_, self._resource.load_schema()) if self._has_rules else found

    def prepare_changed(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        self._default(new)
        if subresource == "status":
            preparation.update_custom_status(new, old)
        else:
            preparation.update_custom(new, old, has_status=self._has_status)

    def problems_of_changed(self, new: Object, old: Object, subresource: str) -> list[Problem]:
        found = metadata.validate_update(new["metadata"], old["metadata"], is_custom=True)
        found += validate.validate(new, self._resource.load_schema(), old)
        return evaluation.judged(found, new, self._resource.load_schema(), old) if self._has_rules else found

    def warnings_of_new(self, object_: Object) -> Sequence[str]:
        return warnings.custom(object_) if object_["metadata"].get("finalizers") else ()

    def warnings_of_changed(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return warnings.custom(new, old) if new["metadata"].get("finalizers") else ()

    def problems_of_applied(self, object_: Object) -> list[Problem]:
        return first(nulls.problems(object_, self._resource.load_schema()))

    @functools.cached_property
    def _has_embedded(self) -> bool:
        return embedded_resources.is_in(self._resource.load_schema())

    @functools.cached_property
    def _has_rules(self) -> bool:
        return evaluation.has_rules(self._resource.load_schema())

    @functools.cached_property
    def _shape(self) -> Shape:
        return Shape(self._resource.load_schema(), meta=_object_meta())

    def shape(self) -> Shape:
        return self._shape

    def blank(self) -> Object:
        return {"metadata": {}}

    def part(self, subresource: str) -> Part:
        if subresource == "status":
            return Part(only=frozenset({"status"}))
        return owning.WITHOUT_STATUS if self._has_status else owning.WHOLE

    @functools.cached_property
    def _printer(self) -> columns.Printer:
        return tables.printer(resources.printer_columns(self._definition, self._resource.version))

    def printer(self) -> columns.Printer:
        return self._printer

    def fields(self) -> Mapping[str, SelectableField]:
        return selectable_fields.custom_fields(resources.selectable_fields(self._definition, self._resource.version))

    def _default(self, object_: Object) -> None:
        defaults.default(object_, self._resource.load_schema())


def _metadata(value: Any, path: str) -> tuple[Object, list[str]]:
    """Metadata as they are stored, and the fields that they do not have, sorted."""
    reader = typed.Reader(lambda _: None)
    read: Object = reader.read(value, _object_meta(), path)
    omitempty.drop(read, _object_meta())
    return read, sorted(reader.unknown)


@functools.cache
def _object_meta() -> Schema:
    known = catalog.schema("", "v1", "ConfigMap")
    return known.properties["metadata"] if known is not None else Schema()
