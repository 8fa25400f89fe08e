"""`fieldPath` of a rule: the field, below the one it stands at, at which its failure is reported. `.a.b`, `.a['b.c']`."""

from __future__ import annotations

import re

from probate.api.field_errors import Path
from probate.api.schema.node import Schema

_PART = re.compile(r"\.([^.\[\]']+)|\['((?:[^'\\]|\\.)*)'\]")


class BadPlace(ValueError):
    """It names no field."""


def place(path: Path, written: str, schema: Schema) -> Path:
    """The field's path. Raises `BadPlace`."""
    at = 0
    written = written.strip()
    while at < len(written):
        match = _PART.match(written, at)
        if match is None:
            raise BadPlace("array notation is not allowed" if written[at] == "[" else "does not refer to a valid field")
        name = match[1] if match[1] is not None else re.sub(r"\\(.)", r"\1", match[2])
        path, schema = _step(path, name, schema)
        at = match.end()
    return path


def _step(path: Path, name: str, schema: Schema) -> tuple[Path, Schema]:
    if schema.values is not None:
        return path @ name, schema.values
    if name in schema.properties:
        return path / name, schema.properties[name]
    raise BadPlace("does not refer to a valid field")
