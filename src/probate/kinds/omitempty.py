"""Drops empty fields and writes fields that are never absent, as Go's `omitempty` tags say.

Go's types cannot distinguish some empty fields from absent ones, and always write others. Kubernetes reads an object into structs
and writes it again, so a client gets back an object without some of its empty fields, and with every field that cannot be absent.
Only the tags of those structs say which field is which (`protobuf.field_numbers`, and for Probate's own kinds `builtin.own_kinds`):

    drop({"spec": {"replicas": 0, "paused": False, "selector": {}}}, deployment)       {"spec": {"replicas": 0, "selector": {}}}
    write({}, config_map)                                                              {"metadata": {}}
    write({}, role)                                                                    {"metadata": {}, "rules": None}

Both change the given object in place. They do not touch fields that are not in the schema, or whose shape differs from the schema.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.kinds.builtin import own_kinds
from probate.kinds.protobuf import field_numbers


class _Field:
    """A field of a struct. `inner` is the struct in it, in each item of its list, or in each value of its map."""

    __slots__ = ("inner", "is_always_written", "is_dropped_if_empty", "is_map", "zero")

    def __init__(self, schema: Schema, field: field_numbers.Field, making: dict[str, Struct]) -> None:
        self.zero = None if field.is_pointer else _zero(schema)
        self.is_always_written = field.sign in {"", "^"}
        # An empty list that is always written is null after Kubernetes has stored it: its storage does not distinguish empty lists
        # from absent ones.
        self.is_dropped_if_empty = field.is_left_out_if_empty or (not field.is_pointer and self.zero is None)
        self.is_map = schema.values is not None
        self.inner = _build(schema.items or schema.values or schema, making)


class Struct:
    """The part of a struct type that matters for empty fields.

    `structs` are the struct types of its fields; `always` lists the fields that are always written; `written` lists the struct
    fields that contain, at any depth, a field that is always written.
    """

    __slots__ = ("always", "fields", "structs", "written")

    def __init__(self) -> None:
        self.fields: dict[str, _Field] = {}
        self.structs: dict[str, Struct] = {}
        self.always: list[tuple[str, _Field]] = []
        self.written: list[tuple[str, Struct]] = []

    def within(self) -> set[Struct]:
        """Returns this struct type and all that it contains, at any depth."""
        found: set[Struct] = set()
        left = [self]
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += one.structs.values()
        return found

    def drop(self, object_: Object) -> None:
        """Removes the empty fields, at any depth."""
        emptied = []
        fields, structs = self.fields, self.structs
        for name, value in object_.items():
            if not value:
                if name in fields and (value is None or fields[name].is_dropped_if_empty):
                    emptied.append(name)
            elif name in structs:
                if type(value) is dict and not fields[name].is_map:  # fast path for the most common case; equals `_parts`
                    structs[name].drop(value)
                    continue
                for part in _parts(value, fields[name]):
                    structs[name].drop(part)
        for name in emptied:
            del object_[name]

    def write(self, object_: Object) -> None:
        """Adds the fields that are always written, at any depth."""
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


_structs: dict[str, Struct] = {}  # by definition name; every entry is complete
_lock = threading.Lock()


def struct(schema: Schema) -> Struct | None:
    """Returns the struct type of this schema's definition; None if the schema has no definition whose tags are known."""
    found = _structs.get(schema.name)
    if found is None and schema.properties:
        with _lock:  # another thread must not get an incomplete struct type
            making: dict[str, Struct] = {}
            found = _build(schema, making)
            for struct_type in making.values():
                struct_type.written += [
                    (name, inner) for name, inner in struct_type.structs.items() if any(it.always for it in inner.within())
                ]
            _structs.update(making)
    return found


def _build(schema: Schema, making: dict[str, Struct]) -> Struct | None:
    """Returns the struct type of this definition, with all that it contains.

    A type may contain itself, so it is in `making` before it is complete.
    """
    found = _structs.get(schema.name) or making.get(schema.name)
    if (
        found is not None
        or not schema.properties
        or not (schema.name in field_numbers.definitions() or schema.name in own_kinds.tags())
    ):
        return found
    built = making[schema.name] = Struct()
    built.fields |= {field.name: _Field(schema.properties[field.name], field, making) for field in _flat(schema.name)}
    built.structs |= {name: field.inner for name, field in built.fields.items() if field.inner is not None}
    built.always += [(name, field) for name, field in built.fields.items() if field.is_always_written]
    return built


@cache
def _flat(definition: str) -> tuple[field_numbers.Field, ...]:
    """Returns the fields as JSON has them: the fields of inlined structs are among the others."""

    def fields() -> Iterator[field_numbers.Field]:
        if definition in own_kinds.tags():
            yield from field_numbers.parse(definition, own_kinds.tags()[definition])
        for field in (field_numbers.fields_of(definition) or {}).values():
            yield from _flat(field.inlined) if field.inlined else (field,)

    return tuple(fields())


def _zero(schema: Schema) -> Any:
    """Returns what Go writes for an empty field that is always written. For a struct this is an empty object, to be filled."""
    if schema.format in {"date-time", "byte"} or schema.preserves_unknown_fields or schema.is_map or schema.items is not None:
        return None
    if schema.format == "quantity":
        return "0"
    return 0 if schema.is_int_or_string else {"string": "", "integer": 0, "number": 0, "boolean": False, "object": {}}[schema.type]


def drop(object_: Object, schema: Schema) -> None:
    """Removes the empty fields, at any depth."""
    if (known := struct(schema)) is not None:
        known.drop(object_)


def write(object_: Object, schema: Schema) -> None:
    """Adds the fields that are always written, at any depth."""
    if (known := struct(schema)) is not None:
        known.write(object_)


def _parts(value: Any, field: _Field) -> list[Object]:
    """Returns the structs in a field."""
    if type(value) is dict:
        return [item for item in value.values() if type(item) is dict] if field.is_map else [value]
    return [item for item in value if type(item) is dict] if type(value) is list else []
