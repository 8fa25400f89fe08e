"""The types of expressions, as far as they are known before there are values.

    INT, STRING, ...        list_of(INT), map_of(STRING, DYN), optional_of(A)
    Type("object", fields=...)    an object whose fields are declared: by a schema
    Type("A")                     stands for any type, the same one throughout a function's signature

`size` is how large a value can be, where a schema says so: it counts for the estimated cost and for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Fields: TypeAlias = Callable[[str], "Type | None"]

_NULLABLE = frozenset({"null_type", "google.protobuf.Timestamp", "google.protobuf.Duration"})


class Type:
    """A type. Two are equal if they have the same name and parameters; those with fields only if they are the same one."""

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
        name = _SHOWN.get(self.name, self.name)
        return f"{name}({', '.join(map(repr, self.params))})" if self.params else name

    def sized(self, size: int | None) -> Type:
        """The same, no larger than this."""
        return Type(self.name, self.params, fields=self.fields, size=size, is_nullable=self.is_nullable)


_SHOWN = {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration", "null_type": "null"}

DYN, BOOL, INT, UINT, DOUBLE = Type("dyn"), Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL, TYPE = Type("string"), Type("bytes"), Type("null_type"), Type("type")
TIMESTAMP, DURATION = Type("google.protobuf.Timestamp"), Type("google.protobuf.Duration")
SIMPLE = {one.name: one for one in (DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TYPE)} | {
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "null": NULL,
}


def list_of(item: Type, size: int | None = None) -> Type:
    """Lists of such items."""
    return Type("list", (item,), size=size)


def map_of(key: Type, value: Type, size: int | None = None) -> Type:
    """Maps from these to those."""
    return Type("map", (key, value), size=size)


def optional_of(inner: Type) -> Type:
    """What may hold such a value."""
    return Type("optional_type", (inner,))


def substituted(kind: Type, bound: dict[str, Type]) -> Type:
    """The type with all that stands for others replaced; by dyn, where nothing is known."""
    if kind.is_param:
        return bound.get(kind.name, DYN)
    if not kind.params:
        return kind
    return Type(kind.name, tuple(substituted(one, bound) for one in kind.params), size=kind.size)


def fits(wanted: Type, given: Type, bound: dict[str, Type]) -> bool:
    """Whether a value of the given type may stand where the other is wanted. What parameters stand for is noted in `bound`."""
    if wanted.is_param:
        return _fits_param(wanted, given, bound)
    if wanted.name == "dyn" or given.name == "dyn":
        return True
    if given.name == "null_type":
        return wanted.is_nullable
    if wanted.name != given.name or len(wanted.params) != len(given.params):
        return wanted.name == "type" == given.name
    if wanted.fields is not given.fields:
        return wanted.fields is None or given.fields is None
    return all(fits(one, other, bound) for one, other in zip(wanted.params, given.params, strict=True))


def _fits_param(wanted: Type, given: Type, bound: dict[str, Type]) -> bool:
    before = bound.get(wanted.name)
    if before is None:
        bound[wanted.name] = given
        return True
    if fits(before, given, bound):
        if given.name == "dyn":
            bound[wanted.name] = DYN
        return True
    if fits(given, before, bound):
        bound[wanted.name] = given
        return True
    return False


def joined(one: Type | None, other: Type) -> Type | None:
    """A type for values of both; None if they do not go together."""
    if one is None or one == other:
        return other if one is None or (other.size or 0) > (one.size or 0) else one
    bound: dict[str, Type] = {}
    if fits(one, other, bound):
        return DYN if other.name == "dyn" else one
    return other if fits(other, one, bound) else None
