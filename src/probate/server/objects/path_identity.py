"""Checks that the object in the body is the object that the path names.

Name and namespace in the body and in the path must agree if both have them. A namespace is dropped from objects of a cluster-scoped
kind, and an object that replaces another must have a name.
"""

from __future__ import annotations

from typing import Any

from probate.core import errors
from probate.server.request import Target

Meta = dict[str, Any]


def check_namespace(meta: Meta, target: Target) -> None:
    """Raises `BadRequest` if the object has another namespace than the path. Removes it from objects of a cluster-scoped kind."""
    value = meta.get("namespace")
    if not value or value == target.namespace:
        return
    if target.namespace:
        raise errors.BadRequest(
            f"the namespace of the object ({value}) does not match the namespace on the request ({target.namespace})"
        )
    del meta["namespace"]


def check_name(meta: Meta, target: Target) -> None:
    """Raises `BadRequest` if the object has another name than the path, or none."""
    name = meta.get("name")
    if not name:
        raise errors.BadRequest(f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided")
    if name != target.name:
        raise errors.BadRequest(f"the name of the object ({name}) does not match the name on the URL ({target.name})")


def check_identity(meta: Meta, target: Target) -> None:
    """Raises `BadRequest` unless name and namespace are those of the path."""
    check_name(meta, target)
    check_namespace(meta, target)


def is_unconditional(value: Any) -> bool:
    """Whether a resourceVersion is absent, or `0`, which no object has: the write applies to any version."""
    return not value or value == "0"
