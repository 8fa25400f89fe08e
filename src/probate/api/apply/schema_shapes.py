"""What a schema says about field ownership: which values are atomic, which have parts, and what identifies the items of a list.

A map or struct has its fields as parts unless it is `atomic`. A list is atomic, a set (its items are parts), or a map (its items
are parts, identified by their keys). Where a schema does not describe a value, the shape is deduced from the value: a map has
parts, a list is atomic.

Shapes are created on demand, since schemas may contain themselves.
"""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.schema.node import UNSET, Schema

SCALARS = frozenset({"string", "integer", "number", "boolean"})
_META_FIELDS = ("apiVersion", "kind", "metadata")


class MissingKey(ValueError):
    """An item of a list lacks the field that identifies it."""


class Shape:
    """The shape of one value, as far as ownership is concerned."""

    __slots__ = (
        "_children",
        "_meta",
        "_preserves_unknown_fields",
        "_schema",
        "additional",
        "defaults",
        "is_atomic",
        "item",
        "keys",
        "list_type",
    )

    def __init__(self, schema: Schema, *, meta: Schema | None = None, preserves_unknown_fields: bool = False) -> None:
        """Creates a shape.

        `meta` is the schema of the metadata of embedded objects. `preserves_unknown_fields` allows unknown fields.
        """
        self._schema = schema
        self._meta = meta
        self._preserves_unknown_fields = preserves_unknown_fields or (schema.preserves_unknown_fields and not schema.name)
        self._children: dict[str, Shape] = {}
        self.is_atomic = schema.map_type == "atomic" or (not schema.type and not self._preserves_unknown_fields)
        self.list_type = _list_type(schema)
        self.item: Shape | None = None
        self.keys: tuple[str, ...] = ()
        self.defaults: dict[str, Any] = {}
        if self.list_type != "atomic" and schema.items is not None:
            self.item = self._create(schema.items)
            self.keys = tuple(sorted(schema.map_keys or ((schema.merge_key,) if schema.merge_key else ())))
            inner = schema.items.properties
            self.defaults = {key: inner[key].default for key in self.keys if key in inner and inner[key].default is not UNSET}
        self.additional = self._additional_shape()

    @property
    def type(self) -> str:
        """The type of the values: object, array, a scalar, or an empty string for any."""
        return self._schema.type if not self._schema.is_int_or_string else "string"

    def _create(self, schema: Schema) -> Shape:
        return Shape(schema, meta=self._meta, preserves_unknown_fields=self._preserves_unknown_fields)

    def _additional_shape(self) -> Shape | None:
        """Returns the shape of values whose keys are not fields; None if there must be none."""
        schema = self._schema
        if schema.values is not None:
            inner = schema.values
            is_untyped = not inner.type and not inner.is_int_or_string and not inner.name
            return DEDUCED if is_untyped else self._create(inner)
        if schema.type == "object" and not schema.properties and not (schema.is_embedded_resource and self._meta):
            return DEDUCED
        return DEDUCED if self._preserves_unknown_fields else None

    def is_field(self, key: str) -> bool:
        """Returns whether `key` is a field of a struct, and not a key of a map."""
        return key in self._schema.properties or (
            self._meta is not None and self._schema.is_embedded_resource and key in _META_FIELDS
        )

    def child(self, key: str) -> Shape | None:
        """Returns the shape of the value at a key; None if there must be no such key."""
        child = self._children.get(key)
        if child is not None:
            return child
        if self._meta is not None and self._schema.is_embedded_resource and key in _META_FIELDS:
            child = Shape(self._meta if key == "metadata" else Schema(type="string"))
        elif key in self._schema.properties:
            child = self._create(self._schema.properties[key])
        else:
            return self.additional
        self._children[key] = child
        return child

    def path_element(self, item: Any) -> str:
        """Returns the path element of an item in a set or map list. Raises `MissingKey` if the item lacks its key."""
        if self.list_type == "set":
            return f"v:{orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()}"
        if type(item) is not dict:
            raise MissingKey("each item must be an object")
        key_values = {}
        for key in self.keys:
            value = item.get(key, self.defaults.get(key))
            if value is None:
                raise MissingKey(f"each item must have the field {key!r}, which identifies it in the list")
            key_values[key] = value
        return f"k:{orjson.dumps(key_values).decode()}"


def _list_type(schema: Schema) -> str:
    if schema.list_type != "atomic" or "merge" not in schema.patch_strategies:
        return schema.list_type
    return "map" if schema.merge_key else "set"


class _Deduced(Shape):
    """The shape of a value without schema: maps have parts, everything else is atomic."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Schema(type="string"))
        self.is_atomic = False
        self.additional = self

    @property
    def type(self) -> str:
        return ""


DEDUCED: Shape = _Deduced()
