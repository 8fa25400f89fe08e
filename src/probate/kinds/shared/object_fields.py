"""Reads and fills fields of objects whose shape has not been checked.

The decoder finds wrong types and reports them to the client; these functions must only tolerate them. A value of an unexpected
shape counts as absent, and nothing is written below or over it.

`fill` and `fill_zero` differ as Kubernetes' own types do: if zero has a meaning of its own (`replicas: 0`), only an absent field is
filled; if not (`timeoutSeconds: 0`, `dnsPolicy: ""`), zero means absent.
"""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object


def child(parent: Object, key: str) -> Object | None:
    """Returns the object in this field, if there is one."""
    value = parent.get(key)
    return value if isinstance(value, dict) else None


def ensure_child(parent: Object, key: str) -> Object | None:
    """Returns the object in this field, after adding an empty one if the field is absent.

    Returns None if the field has a value of another shape.
    """
    if parent.get(key) is None:
        parent[key] = {}
    return child(parent, key)


def items(parent: Object | None, key: str) -> list[Object]:
    """Returns the objects in the list in this field."""
    value = None if parent is None else parent.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def below(parent: Object | None, *keys: str) -> Object | None:
    """Returns the object at this path, if there is one."""
    for key in keys:
        parent = None if parent is None else child(parent, key)
    return parent


def is_zero(value: object) -> bool:
    """Reports whether Kubernetes' types cannot distinguish the value from an absent one.

    Applies to fields in which zero has no meaning of its own.
    """
    return value is None or (isinstance(value, (str, int, float)) and not value)


def fill(parent: Object, **defaults: Any) -> None:
    """Sets the fields that are absent."""
    for key, value in defaults.items():
        if parent.get(key) is None:
            parent[key] = value


def fill_zero(parent: Object, **defaults: Any) -> None:
    """Sets the fields that are absent or zero."""
    for key, value in defaults.items():
        if is_zero(parent.get(key)):
            parent[key] = value


def drop_empty(parent: Object, *keys: str) -> None:
    """Removes the empty maps and lists in these fields."""
    for key in keys:
        if key in parent and isinstance(parent[key], (dict, list)) and not parent[key]:
            del parent[key]


def text(parent: Object, key: str) -> str:
    """Returns the text in this field, or the empty text."""
    value = parent.get(key)
    return value if isinstance(value, str) else ""


def restore_fields(new: Object, old: Object, *keys: str) -> None:
    """Restores these fields to their old values."""
    for key in keys:
        new.pop(key, None)
        if key in old:
            new[key] = old[key]


def add_finalizer(object_: Object, finalizer: str) -> None:
    """Adds a finalizer to an object's metadata, unless the object has it already."""
    if (metadata := ensure_child(object_, "metadata")) is not None:
        add_to_list(metadata, "finalizers", finalizer)


def add_to_list(parent: Object, key: str, name: str) -> None:
    """Appends a name to the list under `key`, unless the list has it."""
    given = parent.get(key)
    names = given if isinstance(given, list) else []
    if name not in names:
        parent[key] = [*names, name]
