"""Schema nodes: one node type for built-in kinds and for custom resources.

A `Schema` describes one value. An object's fields are in `properties`, a map's values in `values`, a list's items in `items`.
Nodes may refer to themselves (a JSON schema contains JSON schemas), so a schema is a graph. It is built once and then immutable.

    spec.containers of a Pod:   type="array", list_type="map", map_keys=("name",), merge_key="name", patch_strategies={"merge"}
                                items: type="object", properties={"name": ..., "image": ...}, required=("name",)
"""

from __future__ import annotations

from typing import Any

import msgspec

UNSET: Any = msgspec.UNSET


class Schema(msgspec.Struct, kw_only=True):
    """The schema of one value. Every field is optional: an empty schema allows any value."""

    type: str = ""  # object, array, string, integer, number, boolean; "" is any
    format: str = ""  # int32, int64, byte, date-time, quantity, ...
    description: str = ""
    name: str = ""  # of the definition, for built-in types: io.k8s.api.core.v1.PodSpec
    properties: dict[str, Schema] = msgspec.field(default_factory=dict)
    values: Schema | None = None  # of a map: what each value is
    items: Schema | None = None
    required: tuple[str, ...] = ()
    default: Any = UNSET
    is_nullable: bool = False
    is_int_or_string: bool = False
    is_embedded_resource: bool = False  # x-kubernetes-embedded-resource: an object with its own apiVersion, kind and metadata
    preserves_unknown_fields: bool = False  # x-kubernetes-preserve-unknown-fields
    list_type: str = "atomic"  # atomic, set, map
    map_keys: tuple[str, ...] = ()
    map_type: str = "granular"  # granular, atomic
    merge_key: str = ""  # of strategic merge patches
    patch_strategies: frozenset[str] = frozenset()  # of strategic merge patches: merge, replace, retainKeys
    value_validations: dict[str, Any] = msgspec.field(
        default_factory=dict
    )  # enum, pattern, minimum, maxLength, oneOf, ...: verbatim
    validation_rules: tuple[dict[str, Any], ...] = ()  # x-kubernetes-validations, verbatim
    is_plain_string: bool = False  # any string is valid and stored verbatim; computed from the other fields

    def __post_init__(self) -> None:
        self.is_plain_string = self.type == "string" and not self.format and not self.is_int_or_string

    @property
    def is_map(self) -> bool:
        """Returns whether the keys are data, not fields."""
        return self.values is not None
