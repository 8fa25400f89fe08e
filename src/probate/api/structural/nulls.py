"""Reports nulls that a schema does not allow. Apply rejects them; create and update drop them (see `defaults`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import FieldError, FieldPath, type_invalid
from probate.api.schema.node import UNSET, Schema
from probate.core import work_limits


def problems(value: Any, schema: Schema, path: FieldPath | None = None) -> Iterator[FieldError]:
    """Yields a problem for each null in the value that the schema neither allows nor has a default for."""
    if isinstance(value, dict):
        work_limits.spend(len(value))
        for key, inner in value.items():
            known = schema.properties.get(key) or schema.values
            if known is not None:
                yield from _at(inner, known, FieldPath(key) if path is None else path / key)
    elif isinstance(value, list) and schema.items is not None and path is not None:
        work_limits.spend(len(value))
        for index, item in enumerate(value):
            yield from _at(item, schema.items, path / index)


def _at(value: Any, schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    if value is not None:
        yield from problems(value, schema, path)
    elif schema.type and not schema.is_nullable and schema.default is UNSET:
        yield type_invalid(path, None, f'must be of type {schema.type}: "null"')
