"""Schemas of built-in kinds, from their OpenAPI definitions.

Definitions refer to each other, some to themselves, and a reference may add to its target: a description, a patch strategy. Each
definition becomes one node on first use; a reference that adds something becomes a copy of that node, with the same fields.

    schemas = Schemas(definitions, defaults={"io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"}})
    schemas.schema("io.k8s.api.core.v1.Pod").properties["spec"].properties["containers"].merge_key    # "name"

A type without properties in OpenAPI, since its Go type implements its own JSON decoding, preserves all its fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from probate.api.schema.node import Schema

Definition: TypeAlias = dict[str, Any]

_REFERENCE = "#/definitions/"
_KEYWORDS = {
    "type": "type",
    "format": "format",
    "description": "description",
    "default": "default",
    "nullable": "is_nullable",
    "x-kubernetes-embedded-resource": "is_embedded_resource",
    "x-kubernetes-int-or-string": "is_int_or_string",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-patch-merge-key": "merge_key",
    "x-kubernetes-preserve-unknown-fields": "preserves_unknown_fields",
}
_LIST_KEYWORDS = {"required": "required", "x-kubernetes-list-map-keys": "map_keys"}

# What OpenAPI v2 cannot express about these types.
_SPECIAL_TYPES: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "", "format": "quantity", "is_int_or_string": True},
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {"preserves_unknown_fields": True},
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": {"preserves_unknown_fields": True},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "", "preserves_unknown_fields": True},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "", "is_int_or_string": True},
}


class Schemas:
    """The schemas of a set of OpenAPI definitions, each built once."""

    def __init__(self, definitions: Mapping[str, Definition], defaults: Mapping[str, Mapping[str, Any]]) -> None:
        self._definitions = definitions
        self._defaults = defaults
        self._finished: dict[str, Schema] = {}

    def schema(self, name: str) -> Schema:
        """Returns the schema of a definition. Raises `KeyError` if there is none."""
        if name not in self._finished:
            builder = _SchemaBuilder(self._definitions, self._defaults, self._finished)
            builder.definition_schema(name)
            self._finished |= builder.finish()  # published only now: no caller sees an incomplete node
        return self._finished[name]


class _SchemaBuilder:
    """Builds the schema of a definition and of all that it refers to. A definition within itself is the node under construction."""

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        defaults: Mapping[str, Mapping[str, Any]],
        finished: Mapping[str, Schema],
    ) -> None:
        self._definitions = definitions
        self._defaults = defaults
        self._finished = finished
        self._nodes: dict[str, Schema] = {}
        self._copies: list[tuple[Schema, Schema]] = []

    def definition_schema(self, name: str) -> Schema:
        node = self._finished.get(name) or self._nodes.get(name)
        if node is not None:
            return node
        definition = self._definitions[name]
        node = Schema(**{**_schema_arguments(definition), **_SPECIAL_TYPES.get(name, {}), "name": name})
        if definition.keys() <= {"description"}:
            node.preserves_unknown_fields = True
        self._nodes[name] = node
        self._fill(node, definition)
        for field, default in self._defaults.get(name, {}).items():
            node.properties[field].default = default
        return node

    def finish(self) -> dict[str, Schema]:
        """Returns all schemas that were built.

        A copy shares its original's properties from the start; it gets the original's items and values here.
        """
        for copy, original in self._copies:
            copy.items, copy.values = original.items, original.values
        return self._nodes

    def _node(self, definition: Definition) -> Schema:
        if "$ref" in definition:
            return self._reference(definition)
        node = Schema(**_schema_arguments(definition))
        self._fill(node, definition)
        return node

    def _reference(self, definition: Definition) -> Schema:
        original = self.definition_schema(definition["$ref"].removeprefix(_REFERENCE))
        overrides = _schema_arguments(definition)
        if not overrides:
            return original
        copy = msgspec.structs.replace(original, **overrides)
        self._copies.append((copy, original))
        return copy

    def _fill(self, node: Schema, definition: Definition) -> None:
        for name, inner in definition.get("properties", {}).items():
            node.properties[name] = self._node(inner)
        if "items" in definition:
            node.items = self._node(definition["items"])
        if "additionalProperties" in definition:
            node.values = self._node(definition["additionalProperties"])


def _schema_arguments(definition: Definition) -> dict[str, Any]:
    """Returns what a definition says about the value itself, as keyword arguments of `Schema`."""
    arguments = {argument: definition[keyword] for keyword, argument in _KEYWORDS.items() if keyword in definition}
    arguments |= {argument: tuple(definition[keyword]) for keyword, argument in _LIST_KEYWORDS.items() if keyword in definition}
    if "x-kubernetes-patch-strategy" in definition:
        arguments["patch_strategies"] = frozenset(definition["x-kubernetes-patch-strategy"].split(","))
    return arguments
