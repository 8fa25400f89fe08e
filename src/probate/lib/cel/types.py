"""The static types of expressions.

    INT, STRING, ...              list_of(INT), map_of(STRING, DYN), optional_of(A)
    Type("object", fields=...)    an object with declared fields, from a schema
    Type("A")                     a type parameter; it has the same value throughout a function signature

`size` is the maximum size of a value, if a schema limits it. Only the cost estimate uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Fields: TypeAlias = Callable[[str], "Type | None"]

_NULLABLE = frozenset({"null_type", "google.protobuf.Timestamp", "google.protobuf.Duration"})


class Type:
    """A type. Two types are equal if their names and parameters are equal; types with fields must also share the same `fields`."""

    __slots__ = ("fields", "is_nullable", "name", "params", "size")

    def __init__(
        self,
        name: str,
        params: tuple[Type, ...] = (),
        *,
        fields: Fields | None = None,
        size: int | None = None,
        is_nullable: bool = False,
    ) -> None:
        self.name = name
        self.params = params
        self.fields = fields
        self.size = size
        self.is_nullable = is_nullable or fields is not None or name in _NULLABLE or "." in name

    @property
    def is_param(self) -> bool:
        return len(self.name) == 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Type):
            return NotImplemented
        return self.name == other.name and self.params == other.params and self.fields is other.fields

    def __hash__(self) -> int:
        return hash((self.name, self.params))

    def __repr__(self) -> str:
        name = _DISPLAY_NAMES.get(self.name, self.name)
        return f"{name}({', '.join(map(repr, self.params))})" if self.params else name

    def sized(self, size: int | None) -> Type:
        """Returns a copy of the type with this maximum size."""
        return Type(self.name, self.params, fields=self.fields, size=size, is_nullable=self.is_nullable)


_DISPLAY_NAMES = {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration", "null_type": "null"}

DYN, BOOL, INT, UINT, DOUBLE = Type("dyn"), Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL, TYPE = Type("string"), Type("bytes"), Type("null_type"), Type("type")
TIMESTAMP, DURATION = Type("google.protobuf.Timestamp"), Type("google.protobuf.Duration")
SIMPLE = {one.name: one for one in (DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TYPE)} | {
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "null": NULL,
}


def list_of(item: Type, size: int | None = None) -> Type:
    """Returns the type of lists of `item`."""
    return Type("list", (item,), size=size)


def map_of(key: Type, value: Type, size: int | None = None) -> Type:
    """Returns the type of maps from `key` to `value`."""
    return Type("map", (key, value), size=size)


def optional_of(inner: Type) -> Type:
    """Returns the type of optionals of `inner`."""
    return Type("optional_type", (inner,))


def substitute(kind: Type, bound: dict[str, Type]) -> Type:
    """Returns the type with its type parameters replaced; unbound parameters become dyn."""
    if kind.is_param:
        return bound.get(kind.name, DYN)
    if not kind.params:
        return kind
    return Type(kind.name, tuple(substitute(one, bound) for one in kind.params), size=kind.size)


def is_assignable(expected: Type, given: Type, bound: dict[str, Type]) -> bool:
    """Returns whether a value of type `given` is assignable to `expected`. Records the values of type parameters in `bound`."""
    if expected.is_param:
        return _fits_param(expected, given, bound)
    if expected.name == "dyn" or given.name == "dyn":
        return True
    if given.name == "null_type":
        return expected.is_nullable
    if expected.name != given.name or len(expected.params) != len(given.params):
        return expected.name == "type" == given.name
    if expected.fields is not given.fields:
        return expected.fields is None or given.fields is None
    return all(is_assignable(one, other, bound) for one, other in zip(expected.params, given.params, strict=True))


def _fits_param(expected: Type, given: Type, bound: dict[str, Type]) -> bool:
    previous = bound.get(expected.name)
    if previous is None:
        bound[expected.name] = given
        return True
    if is_assignable(previous, given, bound):
        if given.name == "dyn":
            bound[expected.name] = DYN
        return True
    if is_assignable(given, previous, bound):
        bound[expected.name] = given
        return True
    return False


def join_types(one: Type | None, other: Type) -> Type | None:
    """Returns a common type of both; None if they have none."""
    if one is None or one == other:
        return other if one is None or (other.size or 0) > (one.size or 0) else one
    bound: dict[str, Type] = {}
    if is_assignable(one, other, bound):
        return DYN if other.name == "dyn" else one
    return other if is_assignable(other, one, bound) else None
