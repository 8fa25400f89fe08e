"""The built-in kinds that Kubernetes does not have: `catalog` merges them with those of Kubernetes.

A source is a module with `RESOURCES`, `DEFINITIONS` and `TAGS`, in the form of what the build writes: rows of resources with their
subresources, OpenAPI v2 definitions by name, and what becomes of empty fields. To add a kind, add a module to `_SOURCES` and
its group to `kind_names.GROUPS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

from probate.kinds.tenants import definitions as tenants


class _Source(Protocol):
    RESOURCES: list[dict[str, Any]]
    DEFINITIONS: dict[str, dict[str, Any]]
    TAGS: dict[str, str]


_SOURCES: tuple[_Source, ...] = (tenants,)


def resources() -> list[dict[str, Any]]:
    """Returns the rows of all resources."""
    return [row for source in _SOURCES for row in source.RESOURCES]


def definitions() -> dict[str, dict[str, Any]]:
    """Returns the OpenAPI v2 definitions of all kinds and their types, by name."""
    return {name: definition for source in _SOURCES for name, definition in source.DEFINITIONS.items()}


@cache
def tags() -> Mapping[str, str]:
    """Returns what becomes of the empty fields of each type, in the notation of `protobuf.field_numbers`."""
    return {name: fields for source in _SOURCES for name, fields in source.TAGS.items()}


@cache
def groups() -> frozenset[str]:
    """Returns the API groups of these kinds. Kubernetes has none of them."""
    return frozenset(row["group"] for row in resources())
