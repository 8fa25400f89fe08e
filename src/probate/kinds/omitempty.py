"""What becomes of fields that hold nothing: Go's types cannot tell some of them from absent ones, and always write others.

Kubernetes reads an object into structs and writes it anew, so what a client gets back is less what says nothing, and more what has
no way to be absent. Which field is which is in the tags of those structs (`protobuf.numbers`), and nowhere else:

    drop({"spec": {"replicas": 0, "paused": False, "selector": {}}}, deployment)       {"spec": {"replicas": 0, "selector": {}}}
    write({}, config_map)                                                              {"metadata": {}}
    write({}, role)                                                                    {"metadata": {}, "rules": None}

Both change what they are given, and leave alone what the schema does not know or has another shape than it says.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

from probate.api.schema.node import Schema
from probate.kinds.protobuf import field_numbers

Object = dict[str, Any]


class _Field:
    """A field of a struct. `inner` is the struct in it, in each item of its list, or in each value of its map."""

    __slots__ = ("inner", "is_always_written", "is_dropped_if_empty", "is_map", "zero")

    def __init__(self, schema: Schema, field: field_numbers.Field, making: dict[str, Struct]) -> None:
        self.zero = None if field.is_pointer else _zero(schema)
        self.is_always_written = field.sign in {"", "^"}
        # An empty list that is always written is null after Kubernetes has stored it: its storage knows no empty lists.
        self.is_dropped_if_empty = field.is_left_out_if_empty or (not field.is_pointer and self.zero is None)
        self.is_map = schema.values is not None
        self.inner = _made(schema.items or schema.values or schema, making)


class Struct:
    """A struct, as far as it matters when its fields are empty.

    `structs` are those in its fields; `always` is always written, and `written` are those of its structs in which something is.
    """

    __slots__ = ("always", "fields", "structs", "written")

    def __init__(self) -> None:
        self.fields: dict[str, _Field] = {}
        self.structs: dict[str, Struct] = {}
        self.always: list[tuple[str, _Field]] = []
        self.written: list[tuple[str, Struct]] = []

    def within(self) -> set[Struct]:
        """Itself and all that it holds."""
        found: set[Struct] = set()
        left = [self]
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += one.structs.values()
        return found

    def drop(self, object_: Object) -> None:
        """Remove the fields that hold nothing, at any depth."""
        gone = []
        fields, structs = self.fields, self.structs
        for name, value in object_.items():
            if not value:
                if name in fields and (value is None or fields[name].is_dropped_if_empty):
                    gone.append(name)
            elif name in structs:
                if type(value) is dict and not fields[name].is_map:  # as most often: what `_parts` gives, without asking it
                    structs[name].drop(value)
                    continue
                for part in _parts(value, fields[name]):
                    structs[name].drop(part)
        for name in gone:
            del object_[name]

    def write(self, object_: Object) -> None:
        """Add the fields that are always written, at any depth."""
        for name, field in self.always:
            if name not in object_ or (object_[name] is None and field.zero is not None):
                object_[name] = {} if type(field.zero) is dict else field.zero
        for name, inner in self.written:
            value = object_.get(name)
            if type(value) is dict and not self.fields[name].is_map:
                inner.write(value)
            elif value:
                for part in _parts(value, self.fields[name]):
                    inner.write(part)


_structs: dict[str, Struct] = {}  # by definition, each complete
_one_at_a_time = threading.Lock()


def struct(schema: Schema) -> Struct | None:
    """The struct of this definition; None if the schema is of no struct whose tags are known."""
    found = _structs.get(schema.name)
    if found is None and schema.properties:
        with _one_at_a_time:  # whoever asks meanwhile, on another thread, must not get one that is half made
            making: dict[str, Struct] = {}
            found = _made(schema, making)
            for one in making.values():
                one.written += [(name, inner) for name, inner in one.structs.items() if any(it.always for it in inner.within())]
            _structs.update(making)
    return found


def _made(schema: Schema, making: dict[str, Struct]) -> Struct | None:
    """The struct of this definition, with all that it holds. It may hold itself, so it is in `making` before it is complete."""
    found = _structs.get(schema.name) or making.get(schema.name)
    if found is not None or not schema.properties or schema.name not in field_numbers.definitions():
        return found
    made = making[schema.name] = Struct()
    made.fields |= {field.name: _Field(schema.properties[field.name], field, making) for field in _flat(schema.name)}
    made.structs |= {name: field.inner for name, field in made.fields.items() if field.inner is not None}
    made.always += [(name, field) for name, field in made.fields.items() if field.is_always_written]
    return made


@cache
def _flat(definition: str) -> tuple[field_numbers.Field, ...]:
    """The fields as JSON has them: those of inlined structs among the others."""

    def fields() -> Iterator[field_numbers.Field]:
        for field in (field_numbers.fields_of(definition) or {}).values():
            yield from _flat(field.inlined) if field.inlined else (field,)

    return tuple(fields())


def _zero(schema: Schema) -> Any:
    """What is written for nothing, where something has to be. (For a struct: an empty object, to be filled.)"""
    if schema.format in {"date-time", "byte"} or schema.keeps_unknown or schema.is_map or schema.items is not None:
        return None
    if schema.format == "quantity":
        return "0"
    return 0 if schema.is_int_or_string else {"string": "", "integer": 0, "number": 0, "boolean": False, "object": {}}[schema.type]


def drop(object_: Object, schema: Schema) -> None:
    """Remove the fields that hold nothing, at any depth."""
    if (known := struct(schema)) is not None:
        known.drop(object_)


def write(object_: Object, schema: Schema) -> None:
    """Add the fields that are always written, at any depth."""
    if (known := struct(schema)) is not None:
        known.write(object_)


def _parts(value: Any, field: _Field) -> list[Object]:
    """The structs in a field."""
    if type(value) is dict:
        return [item for item in value.values() if type(item) is dict] if field.is_map else [value]
    return [item for item in value if type(item) is dict] if type(value) is list else []
