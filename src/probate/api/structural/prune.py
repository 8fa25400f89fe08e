"""Dropping what a schema does not know, and saying what was dropped.

Kubernetes stores only specified fields. Under `x-kubernetes-preserve-unknown-fields` unknown fields stay, but known ones are
pruned inside as their own schemas say. The apiVersion, kind and metadata of an embedded resource are known without saying.
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import field
from probate.api.schema.node import Schema
from probate.api.schema.typed import MAX_UNKNOWN

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})

_UNKNOWN = Schema()


def prune(value: Any, schema: Schema) -> list[str]:
    """Drop unknown fields, in place. The paths of all that was dropped, as a fieldValidation answer names them, sorted."""
    dropped: list[str] = []
    _prune(value, schema, "", dropped)
    return sorted(dropped)


def _prune(value: Any, schema: Schema, path: str, dropped: list[str]) -> None:
    if isinstance(value, dict):
        _prune_object(value, schema, path, dropped)
    elif isinstance(value, list):
        items = schema.items or _UNKNOWN
        for index, item in enumerate(value):
            if schema.keeps_unknown:
                _prune_kept_item(item, schema, f"{path}[{index}]", dropped)
            elif isinstance(item, dict | list):
                _prune(item, items, f"{path}[{index}]", dropped)


def _prune_object(value: dict[str, Any], schema: Schema, path: str, dropped: list[str]) -> None:
    for key in list(value):
        if schema.is_embedded and key in META_FIELDS:
            continue
        known = schema.properties.get(key) or schema.values
        here = field(path, key)
        if known is not None:
            _prune(value[key], known, here, dropped)
        elif not schema.keeps_unknown:
            del value[key]
            if len(dropped) < MAX_UNKNOWN:
                dropped.append(here)


def _prune_kept_item(item: Any, schema: Schema, path: str, dropped: list[str]) -> None:
    """An item of a list that keeps what is unknown: so does each item, but what its schema knows is pruned inside."""
    if schema.items is None:
        return
    if isinstance(item, list):
        for index, inner in enumerate(item):
            _prune_kept_item(inner, schema.items, f"{path}[{index}]", dropped)
    elif isinstance(item, dict):
        _prune_known(item, schema.items, path, dropped)


def _prune_known(item: dict[str, Any], schema: Schema, path: str, dropped: list[str]) -> None:
    for key, value in item.items():
        known = schema.properties.get(key) or schema.values
        if known is not None and not (schema.is_embedded and key in META_FIELDS):
            _prune(value, known, field(path, key), dropped)
