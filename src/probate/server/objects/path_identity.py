"""Whether what was sent is the object that the path names.

A path says which object is meant, and so may the object itself. They must agree, as far as both say something: a kind that has no
namespaces has none whatever its objects say, and what replaces an object has to say its name.
"""

from __future__ import annotations

from typing import Any

from probate.core import errors
from probate.server.request import Target

Meta = dict[str, Any]


def check_namespace(meta: Meta, at: Target) -> None:
    """`BadRequest` if the object says that it is in another namespace. It is taken from an object whose kind has none."""
    given = meta.get("namespace")
    if not given or given == at.namespace:
        return
    if at.namespace:
        raise errors.BadRequest(
            f"the namespace of the object ({given}) does not match the namespace on the request ({at.namespace})"
        )
    del meta["namespace"]


def check_name(meta: Meta, at: Target) -> None:
    """`BadRequest` if the object has another name, or none."""
    name = meta.get("name")
    if not name:
        raise errors.BadRequest(f"the name of the object ({at.name} based on URL) was undeterminable: name must be provided")
    if name != at.name:
        raise errors.BadRequest(f"the name of the object ({name}) does not match the name on the URL ({at.name})")


def check(meta: Meta, at: Target) -> None:
    """`BadRequest` unless this object may take the place of the one that the path names."""
    check_name(meta, at)
    check_namespace(meta, at)


def is_any_version(given: Any) -> bool:
    """Whether a resourceVersion leaves open which version is meant. (There is no version 0.)"""
    return not given or given == "0"
