"""Pruning: drops fields that a schema does not specify, and reports them.

Kubernetes stores specified fields only. With `x-kubernetes-preserve-unknown-fields`, unknown fields are preserved, but the values
of known fields are pruned by their own schemas. The apiVersion, kind and metadata of an embedded resource are implicitly specified.
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import field
from probate.api.schema.node import Schema
from probate.api.schema.typed import MAX_UNKNOWN

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})

_UNKNOWN = Schema()


def prune(value: Any, schema: Schema) -> list[str]:
    """Drops unknown fields in place. Returns their sorted paths in the format of fieldValidation messages."""
    dropped: list[str] = []
    _prune(value, schema, "", dropped=dropped)
    return sorted(dropped)


def _prune(value: Any, schema: Schema, path: str, *, dropped: list[str]) -> None:
    if isinstance(value, dict):
        _prune_object(value, schema, path, dropped=dropped)
    elif isinstance(value, list):
        items = schema.items or _UNKNOWN
        for index, item in enumerate(value):
            if schema.preserves_unknown_fields:
                _prune_kept_item(item, schema, f"{path}[{index}]", dropped=dropped)
            elif isinstance(item, dict | list):
                _prune(item, items, f"{path}[{index}]", dropped=dropped)


def _prune_object(value: dict[str, Any], schema: Schema, path: str, *, dropped: list[str]) -> None:
    for key in list(value):
        if schema.is_embedded_resource and key in META_FIELDS:
            continue
        known = schema.properties.get(key) or schema.values
        here = field(path, key)
        if known is not None:
            _prune(value[key], known, here, dropped=dropped)
        elif not schema.preserves_unknown_fields:
            del value[key]
            if len(dropped) < MAX_UNKNOWN:
                dropped.append(here)


def _prune_kept_item(item: Any, schema: Schema, path: str, *, dropped: list[str]) -> None:
    """Prunes an item of a list that preserves unknown fields: the item preserves them too, but its known fields are pruned."""
    if schema.items is None:
        return
    if isinstance(item, list):
        for index, inner in enumerate(item):
            _prune_kept_item(inner, schema.items, f"{path}[{index}]", dropped=dropped)
    elif isinstance(item, dict):
        _prune_known(item, schema.items, path, dropped=dropped)


def _prune_known(item: dict[str, Any], schema: Schema, path: str, *, dropped: list[str]) -> None:
    for key, value in item.items():
        known = schema.properties.get(key) or schema.values
        if known is not None and not (schema.is_embedded_resource and key in META_FIELDS):
            _prune(value, known, field(path, key), dropped=dropped)
