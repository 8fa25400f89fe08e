"""CustomKindRules: the rules of kinds that a CustomResourceDefinition defines."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from probate.api import metadata, names
from probate.api.apply import ownable_part as owning
from probate.api.apply.ownable_part import OwnablePart
from probate.api.apply.schema_shapes import Shape
from probate.api.catalog import Resource
from probate.api.crds import resources
from probate.api.field_errors import FieldError, limit_field_errors
from probate.api.objects import Object
from probate.api.printers import columns
from probate.api.printers import custom_columns as tables
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.api.selectors import selectable_fields
from probate.api.selectors.selectable_fields import SelectableField
from probate.api.structural import defaults, embedded_resources, nulls, prune, validate
from probate.api.structural.rules import evaluation
from probate.kinds import custom_strategy, omitempty, warnings
from probate.kinds.builtin import catalog
from probate.server.kind_rules.contract import DecodedObject


class CustomKindRules:
    """The rules of one version of a custom resource."""

    def __init__(self, resource: Resource, crd: dict[str, Any]) -> None:
        self._resource = resource
        self._crd = crd
        self._has_status = resource.subresource("status") is not None

    def matches_exactly(self, value: Object) -> bool:
        return False

    def decode(self, value: Object) -> DecodedObject:
        object_: Object = orjson.loads(orjson.dumps(value))
        object_["metadata"], unknown = _metadata(value.get("metadata") or {}, "metadata")
        unknown += prune.prune(object_, self._resource.load_schema())
        return DecodedObject(
            object_, [*unknown, *self._prune_embedded(object_)][: typed.MAX_UNKNOWN] if self._has_embedded else unknown
        )

    def _prune_embedded(self, object_: Object) -> Iterator[str]:
        """Prunes the metadata of embedded resources. Yields the paths of the fields that were dropped."""
        for path, resource in embedded_resources.find_embedded_resources(object_, self._resource.load_schema()):
            if resource.get("metadata") is not None:
                resource["metadata"], unknown = _metadata(resource["metadata"], f"{path}.metadata")
                yield from unknown

    def set_defaults(self, object_: Object) -> None:
        self._set_schema_defaults(object_)

    def prepare_for_create(self, object_: Object, *, uid: str, now: str) -> None:
        custom_strategy.create_custom(object_, has_status=self._has_status)
        self._set_schema_defaults(object_)

    def validate_create(self, object_: Object) -> list[FieldError]:
        problems = metadata.validate_create(
            object_["metadata"], is_namespaced=self._resource.is_namespaced, name_rule=names.validate_dns_subdomain, is_custom=True
        )
        problems += validate.validate(object_, self._resource.load_schema())
        return evaluation.add_broken_rules(problems, object_, self._resource.load_schema()) if self._has_rules else problems

    def prepare_for_update(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        self._set_schema_defaults(new)
        if subresource == "status":
            custom_strategy.update_custom_status(new, old)
        else:
            custom_strategy.update_custom(new, old, has_status=self._has_status)

    def validate_update(self, new: Object, old: Object, subresource: str) -> list[FieldError]:
        problems = metadata.validate_update(new["metadata"], old["metadata"], is_custom=True)
        problems += validate.validate(new, self._resource.load_schema(), old)
        return evaluation.add_broken_rules(problems, new, self._resource.load_schema(), old=old) if self._has_rules else problems

    def warnings_on_create(self, object_: Object) -> Sequence[str]:
        return warnings.custom(object_) if object_["metadata"].get("finalizers") else ()

    def warnings_on_update(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return warnings.custom(new, old) if new["metadata"].get("finalizers") else ()

    def validate_apply(self, object_: Object) -> list[FieldError]:
        return limit_field_errors(nulls.problems(object_, self._resource.load_schema()))

    @functools.cached_property
    def _has_embedded(self) -> bool:
        return embedded_resources.may_contain_embedded(self._resource.load_schema())

    @functools.cached_property
    def _has_rules(self) -> bool:
        return evaluation.has_rules(self._resource.load_schema())

    @functools.cached_property
    def _shape(self) -> Shape:
        return Shape(self._resource.load_schema(), meta=_object_meta())

    def shape(self) -> Shape:
        return self._shape

    def empty_object(self) -> Object:
        return {"metadata": {}}

    def ownable_part(self, subresource: str) -> OwnablePart:
        if subresource == "status":
            return OwnablePart(included=frozenset({"status"}))
        return owning.WITHOUT_STATUS if self._has_status else owning.WHOLE_OBJECT

    @functools.cached_property
    def _printer(self) -> columns.Printer:
        return tables.printer(resources.printer_columns(self._crd, self._resource.version))

    def printer(self) -> columns.Printer:
        return self._printer

    def selectable_fields(self) -> Mapping[str, SelectableField]:
        return selectable_fields.custom_fields(resources.selectable_fields(self._crd, self._resource.version))

    def _set_schema_defaults(self, object_: Object) -> None:
        defaults.default(object_, self._resource.load_schema())


def _metadata(value: Any, path: str) -> tuple[Object, list[str]]:
    """Decodes metadata. Returns it and the sorted paths of unknown fields."""
    reader = typed.Reader(lambda _: None)
    decoded: Object = reader.read(value, _object_meta(), path)
    omitempty.drop(decoded, _object_meta())
    return decoded, sorted(reader.unknown)


@functools.cache
def _object_meta() -> Schema:
    config_map = catalog.schema("", "v1", "ConfigMap")
    return config_map.properties["metadata"] if config_map is not None else Schema()
