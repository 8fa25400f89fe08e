"""Reads an object's fields without trusting their types.

Tables are printed from any stored object, also one that a controller has not filled in yet. Every function returns a value for a
field that is missing, null or of another type: the zero value that Kubernetes would have there.

    object_fields.text(pod, "status", "phase")            "Running", or ""
    object_fields.number(deployment, "spec", "replicas")  3, or 0
    object_fields.objects(pod, "spec", "containers")      the containers, or []
"""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object


def at(value: Any, *path: str) -> Any:
    """Returns the value at a path, of any type; None if there is none."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def mapping(value: Any, *path: str) -> Object:
    """Returns the object or map at a path."""
    value_at_path = at(value, *path)
    return value_at_path if isinstance(value_at_path, dict) else {}


def objects(value: Any, *path: str) -> list[Object]:
    """Returns the list of objects at a path."""
    items = at(value, *path)
    return [item for item in items if isinstance(item, dict)] if items and isinstance(items, list) else []


def texts(value: Any, *path: str) -> list[str]:
    """Returns the list of strings at a path."""
    items = at(value, *path)
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def text(value: Any, *path: str, default: str = "") -> str:
    """Returns the string at a path. An empty string is a value: `default` is for a missing one."""
    for key in path:  # Fast path: `at`, inlined, since every row calls this a dozen times.
        if not isinstance(value, dict):
            return default
        value = value.get(key)
    return value if isinstance(value, str) else default


def number(value: Any, *path: str) -> int:
    """Returns the integer at a path."""
    value_at_path = at(value, *path)
    return value_at_path if isinstance(value_at_path, int) and not isinstance(value_at_path, bool) else 0


def boolean(value: Any, *path: str, default: bool = False) -> bool:
    """Returns the boolean at a path; `default` for a missing one."""
    value_at_path = at(value, *path)
    return value_at_path if isinstance(value_at_path, bool) else default


def count(value: Any, *path: str) -> int:
    """Returns the number of entries of a list or map."""
    value_at_path = at(value, *path)
    return len(value_at_path) if isinstance(value_at_path, list | dict) else 0


def scalar(value: Any, *path: str, default: str) -> str:
    """Returns a string or a number as a string: for quantities and int-or-string fields."""
    value_at_path = at(value, *path)
    return str(value_at_path) if isinstance(value_at_path, str | int | float) and not isinstance(value_at_path, bool) else default


def quantity(value: Any, *path: str) -> str:
    """Returns a quantity as it is written; "0" for a missing one."""
    return scalar(value, *path, default="0")


def name(object_: Object) -> str:
    """Returns the object's name."""
    return text(object_, "metadata", "name")


def is_deleting(object_: Object) -> bool:
    """Returns whether the object has a deletionTimestamp."""
    return bool(at(object_, "metadata", "deletionTimestamp"))


def condition(object_: Object, type_: str) -> Object | None:
    """Returns the first condition of this type in the object's status."""
    return next((condition for condition in objects(object_, "status", "conditions") if condition.get("type") == type_), None)


def is_true(object_: Object, type_: str) -> bool:
    """Returns whether the object has a condition of this type with status True."""
    return any(
        condition.get("type") == type_ and condition.get("status") == "True"
        for condition in objects(object_, "status", "conditions")
    )
