"""What a schema says about owning fields: which values are one piece, which have parts, and how the items of a list are told apart.

A map or struct has its fields as parts unless it is `atomic`. A list is one piece, a set (its items are parts), or a map (its items
are parts, told apart by their keys). Where a schema says nothing of a value, the value says it: a map has parts, a list is one
piece.

Shapes are made as they are asked for, since schemas may hold themselves.
"""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.schema.node import UNSET, Schema

SCALARS = frozenset({"string", "integer", "number", "boolean"})
_META_FIELDS = ("apiVersion", "kind", "metadata")


class NoKey(ValueError):
    """An item of a list does not say which it is."""


class Shape:
    """The shape of one value, as far as owning goes."""

    __slots__ = ("_keeps_unknown", "_known", "_meta", "_schema", "defaults", "is_piece", "item", "keys", "list_type", "rest")

    def __init__(self, schema: Schema, *, meta: Schema | None = None, keeps_unknown: bool = False) -> None:
        """`meta` is how the metadata of embedded objects look, `keeps_unknown` whether unknown fields are known to be all right."""
        self._schema = schema
        self._meta = meta
        self._keeps_unknown = keeps_unknown or (schema.keeps_unknown and not schema.name)
        self._known: dict[str, Shape] = {}
        self.is_piece = schema.map_type == "atomic" or (not schema.type and not self._keeps_unknown)
        self.list_type = _list_type(schema)
        self.item: Shape | None = None
        self.keys: tuple[str, ...] = ()
        self.defaults: dict[str, Any] = {}
        if self.list_type != "atomic" and schema.items is not None:
            self.item = self._made(schema.items)
            self.keys = tuple(sorted(schema.map_keys or ((schema.merge_key,) if schema.merge_key else ())))
            inner = schema.items.properties
            self.defaults = {key: inner[key].default for key in self.keys if key in inner and inner[key].default is not UNSET}
        self.rest = self._of_the_rest()

    @property
    def type(self) -> str:
        """What its values are: object, array, a scalar; empty if anything."""
        return self._schema.type if not self._schema.is_int_or_string else "string"

    def _made(self, schema: Schema) -> Shape:
        return Shape(schema, meta=self._meta, keeps_unknown=self._keeps_unknown)

    def _of_the_rest(self) -> Shape | None:
        """The shape of what is under keys that are no fields; None if there must be none."""
        schema = self._schema
        if schema.values is not None:
            inner = schema.values
            says_nothing = not inner.type and not inner.is_int_or_string and not inner.name
            return DEDUCED if says_nothing else self._made(inner)
        if schema.type == "object" and not schema.properties and not (schema.is_embedded and self._meta):
            return DEDUCED
        return DEDUCED if self._keeps_unknown else None

    def is_field(self, key: str) -> bool:
        """Whether it has a field of this name, and not just any key."""
        return key in self._schema.properties or (self._meta is not None and self._schema.is_embedded and key in _META_FIELDS)

    def of(self, key: str) -> Shape | None:
        """The shape of what is under the key; None if there must be nothing."""
        known = self._known.get(key)
        if known is not None:
            return known
        if self._meta is not None and self._schema.is_embedded and key in _META_FIELDS:
            made = Shape(self._meta if key == "metadata" else Schema(type="string"))
        elif key in self._schema.properties:
            made = self._made(self._schema.properties[key])
        else:
            return self.rest
        self._known[key] = made
        return made

    def place(self, item: Any) -> str:
        """The item of a set or map list, as sets of fields name it. `NoKey` if it does not say which it is."""
        if self.list_type == "set":
            return f"v:{orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()}"
        if type(item) is not dict:
            raise NoKey("each item must be an object")
        named = {}
        for key in self.keys:
            value = item.get(key, self.defaults.get(key))
            if value is None:
                raise NoKey(f"each item must have the field {key!r}, which tells it from the others")
            named[key] = value
        return f"k:{orjson.dumps(named).decode()}"


def _list_type(schema: Schema) -> str:
    if schema.list_type != "atomic" or "merge" not in schema.strategies:
        return schema.list_type
    return "map" if schema.merge_key else "set"


class _Deduced(Shape):
    """Whatever a value says of itself: maps have parts, all else is one piece."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Schema(type="string"))
        self.is_piece = False
        self.rest = self

    @property
    def type(self) -> str:
        return ""


DEDUCED: Shape = _Deduced()
