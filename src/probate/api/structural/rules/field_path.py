"""Resolves `fieldPath` of a rule (`.a.b`, `.a['b.c']`): the field, below the node of the rule, at which a failure is reported."""

from __future__ import annotations

import re

from probate.api.field_errors import FieldPath
from probate.api.schema.node import Schema

_PART = re.compile(r"\.([^.\[\]']+)|\['((?:[^'\\]|\\.)*)'\]")


class InvalidFieldPath(ValueError):
    """The path does not refer to a field."""


def resolve_field_path(path: FieldPath, written: str, schema: Schema) -> FieldPath:
    """Returns the path of the field. Raises `InvalidFieldPath`."""
    at = 0
    written = written.strip()
    while at < len(written):
        match = _PART.match(written, at)
        if match is None:
            raise InvalidFieldPath("array notation is not allowed" if written[at] == "[" else "does not refer to a valid field")
        name = match[1] if match[1] is not None else re.sub(r"\\(.)", r"\1", match[2])
        path, schema = _step(path, name, schema)
        at = match.end()
    return path


def _step(path: FieldPath, name: str, schema: Schema) -> tuple[FieldPath, Schema]:
    if schema.values is not None:
        return path @ name, schema.values
    if name in schema.properties:
        return path / name, schema.properties[name]
    raise InvalidFieldPath("does not refer to a valid field")
