"""Defaulting: sets the defaults of a schema and removes nulls that the schema does not allow.

An absent field gets its default. A null in a non-nullable field is replaced by the default, or dropped without a default, so
that "unset" in a client's language has the same effect as omitting the field. Defaults are applied level by level: a value that
comes from a default gets its own defaults too.
"""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.schema.node import UNSET, Schema
from probate.core import work_limits


def default(value: Any, schema: Schema) -> None:
    """Drops nulls of non-nullable fields and sets defaults, in place, at any depth."""
    if isinstance(value, dict):
        _default_object(value, schema)
    elif isinstance(value, list) and schema.items is not None:
        _default_items(value, schema.items)


def has_defaults(schema: Schema) -> bool:
    """Returns whether `default` can add anything. Does not support recursive schemas."""
    below = [*schema.properties.values(), *(one for one in (schema.values, schema.items) if one is not None)]
    return schema.default is not UNSET or any(has_defaults(one) for one in below)


def _copy(value: Any) -> Any:
    """Copies a default. Charges its size, because a small object can need a large default many times."""
    text = orjson.dumps(value)
    work_limits.spend(1 + len(text) // 20)
    return orjson.loads(text)


def _default_object(value: dict[str, Any], schema: Schema) -> None:
    work_limits.spend(1 + len(schema.properties) // 20)
    for key, known in schema.properties.items():
        if known.default is not UNSET and key not in value:
            value[key] = _copy(known.default)
    for key in list(value):
        inner = schema.properties.get(key) or schema.values
        if inner is None:
            continue
        if value[key] is None and not inner.is_nullable:
            if inner.default is UNSET:
                del value[key]
                continue
            value[key] = _copy(inner.default)
        default(value[key], inner)


def _default_items(value: list[Any], items: Schema) -> None:
    for index, item in enumerate(value):
        if item is None and not items.is_nullable and items.default is not UNSET:
            value[index] = _copy(items.default)
        default(value[index], items)
