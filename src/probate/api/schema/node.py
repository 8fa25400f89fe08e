"""What is known of a value's shape: one node type for built-in kinds and for custom ones.

A `Schema` describes one value. An object's fields are in `properties`, a map's values in `values`, a list's items in `items`.
Nodes may refer to themselves (a JSON schema holds JSON schemas), so a schema is a graph, made once and never changed after.

    spec.containers of a Pod:   type="array", list_type="map", map_keys=("name",), merge_key="name", strategies={"merge"}
                                items: type="object", properties={"name": ..., "image": ...}, required=("name",)
"""

from __future__ import annotations

from typing import Any

import msgspec

UNSET: Any = msgspec.UNSET


class Schema(msgspec.Struct, kw_only=True):
    """The shape of one value. Everything is optional: an empty schema allows anything."""

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
    is_embedded: bool = False  # a whole object with apiVersion, kind and metadata of its own
    keeps_unknown: bool = False  # x-kubernetes-preserve-unknown-fields
    list_type: str = "atomic"  # atomic, set, map
    map_keys: tuple[str, ...] = ()
    map_type: str = "granular"  # granular, atomic
    merge_key: str = ""  # of strategic merge patches
    strategies: frozenset[str] = frozenset()  # of strategic merge patches: merge, replace, retainKeys
    limits: dict[str, Any] = msgspec.field(default_factory=dict)  # enum, pattern, minimum, maxLength, oneOf, ...: as written
    rules: tuple[dict[str, Any], ...] = ()  # x-kubernetes-validations, as written
    is_text: bool = False  # any text will do, as it is: what follows from the rest, worked out once

    def __post_init__(self) -> None:
        self.is_text = self.type == "string" and not self.format and not self.is_int_or_string

    @property
    def is_map(self) -> bool:
        """Whether its keys are data, not fields."""
        return self.values is not None
