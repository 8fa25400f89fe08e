"""Schemas of built-in kinds, from their OpenAPI definitions.

Definitions refer to each other, some to themselves, and a reference may say more than its target does: a description, how it is
patched. Each definition becomes one node when it is first asked for; a reference that says more becomes a copy of that node, with
the same fields.

    schemas = Schemas(definitions, defaults={"io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"}})
    schemas.schema("io.k8s.api.core.v1.Pod").properties["spec"].properties["containers"].merge_key    # "name"

Whatever has no shape in OpenAPI, since in Go it reads its own JSON, keeps all that is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from probate.api.schema.node import Schema

Definition: TypeAlias = dict[str, Any]

_REFERENCE = "#/definitions/"
_PLAIN = {
    "type": "type",
    "format": "format",
    "description": "description",
    "default": "default",
    "nullable": "is_nullable",
    "x-kubernetes-embedded-resource": "is_embedded",
    "x-kubernetes-int-or-string": "is_int_or_string",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-patch-merge-key": "merge_key",
    "x-kubernetes-preserve-unknown-fields": "keeps_unknown",
}
_LISTS = {"required": "required", "x-kubernetes-list-map-keys": "map_keys"}

# What OpenAPI v2 cannot say of these.
_SPECIAL: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "", "format": "quantity", "is_int_or_string": True},
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {"keeps_unknown": True},
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": {"keeps_unknown": True},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "", "keeps_unknown": True},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "", "is_int_or_string": True},
}


class Schemas:
    """The schemas of a set of definitions, each made once."""

    def __init__(self, definitions: Mapping[str, Definition], defaults: Mapping[str, Mapping[str, Any]]) -> None:
        self._definitions = definitions
        self._defaults = defaults
        self._finished: dict[str, Schema] = {}

    def schema(self, name: str) -> Schema:
        """The schema of the definition of this name, which must be there."""
        if name not in self._finished:
            making = _Making(self._definitions, self._defaults, self._finished)
            making.named(name)
            self._finished |= making.finish()  # nobody sees a node that still lacks some of its fields
        return self._finished[name]


class _Making:
    """One definition and all it needs, in the making: a definition within itself is the node that is being made."""

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        defaults: Mapping[str, Mapping[str, Any]],
        finished: Mapping[str, Schema],
    ) -> None:
        self._definitions = definitions
        self._defaults = defaults
        self._finished = finished
        self._begun: dict[str, Schema] = {}
        self._copies: list[tuple[Schema, Schema]] = []

    def named(self, name: str) -> Schema:
        known = self._finished.get(name) or self._begun.get(name)
        if known is not None:
            return known
        definition = self._definitions[name]
        node = Schema(**{**_said(definition), **_SPECIAL.get(name, {}), "name": name})
        if definition.keys() <= {"description"}:
            node.keeps_unknown = True
        self._begun[name] = node
        self._fill(node, definition)
        for field, default in self._defaults.get(name, {}).items():
            node.properties[field].default = default
        return node

    def finish(self) -> dict[str, Schema]:
        """All that was made. A copy has shared its original's fields all along; the rest its original may have got since."""
        for copy, original in self._copies:
            copy.items, copy.values = original.items, original.values
        return self._begun

    def _node(self, written: Definition) -> Schema:
        if "$ref" in written:
            return self._reference(written)
        node = Schema(**_said(written))
        self._fill(node, written)
        return node

    def _reference(self, written: Definition) -> Schema:
        original = self.named(written["$ref"].removeprefix(_REFERENCE))
        more = _said(written)
        if not more:
            return original
        copy = msgspec.structs.replace(original, **more)
        self._copies.append((copy, original))
        return copy

    def _fill(self, node: Schema, written: Definition) -> None:
        for name, inner in written.get("properties", {}).items():
            node.properties[name] = self._node(inner)
        if "items" in written:
            node.items = self._node(written["items"])
        if "additionalProperties" in written:
            node.values = self._node(written["additionalProperties"])


def _said(written: Definition) -> dict[str, Any]:
    """What is written of a value itself, in the words of `Schema`."""
    said = {ours: written[theirs] for theirs, ours in _PLAIN.items() if theirs in written}
    said |= {ours: tuple(written[theirs]) for theirs, ours in _LISTS.items() if theirs in written}
    if "x-kubernetes-patch-strategy" in written:
        said["strategies"] = frozenset(written["x-kubernetes-patch-strategy"].split(","))
    return said
