"""Reading an object's fields without trusting their shape.

A table is made of whatever is stored, also of objects that a controller has not filled in yet. Every function here has an answer
for a field that is missing, null or of another type: the empty value that Kubernetes would have in its place.

    fields.text(pod, "status", "phase")            "Running", or ""
    fields.number(deployment, "spec", "replicas")  3, or 0
    fields.objects(pod, "spec", "containers")      the containers, or []
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def at(value: Any, *path: str) -> Any:
    """What is there, whatever it is. None if there is nothing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def mapping(value: Any, *path: str) -> Object:
    """The object or map that is there."""
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def objects(value: Any, *path: str) -> list[Object]:
    """The list of objects that is there."""
    found = at(value, *path)
    return [one for one in found if isinstance(one, dict)] if found and isinstance(found, list) else []


def texts(value: Any, *path: str) -> list[str]:
    """The list of texts that is there."""
    found = at(value, *path)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def text(value: Any, *path: str, default: str = "") -> str:
    """The text that is there. An empty one is one: `default` is for none."""
    for key in path:  # `at`, once more: this is asked a dozen times for every row
        if not isinstance(value, dict):
            return default
        value = value.get(key)
    return value if isinstance(value, str) else default


def number(value: Any, *path: str) -> int:
    """The whole number that is there."""
    found = at(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def boolean(value: Any, *path: str, default: bool = False) -> bool:
    """Whether it is so; `default` where nobody says."""
    found = at(value, *path)
    return found if isinstance(found, bool) else default


def count(value: Any, *path: str) -> int:
    """How many entries a list or map has."""
    found = at(value, *path)
    return len(found) if isinstance(found, list | dict) else 0


def scalar(value: Any, *path: str, default: str) -> str:
    """A text or a number, as text: quantities, and what is an integer or a string."""
    found = at(value, *path)
    return str(found) if isinstance(found, str | int | float) and not isinstance(found, bool) else default


def quantity(value: Any, *path: str) -> str:
    """A quantity as it was written; nothing is as good as none."""
    return scalar(value, *path, default="0")


def name(object_: Object) -> str:
    """The object's name."""
    return text(object_, "metadata", "name")


def is_deleting(object_: Object) -> bool:
    """Whether somebody has deleted it and it waits for its end."""
    return bool(at(object_, "metadata", "deletionTimestamp"))


def condition(object_: Object, type_: str) -> Object | None:
    """The first condition of this type in the object's status."""
    return next((one for one in objects(object_, "status", "conditions") if one.get("type") == type_), None)


def is_true(object_: Object, type_: str) -> bool:
    """Whether the object has a condition of this type that is True."""
    return any(one.get("type") == type_ and one.get("status") == "True" for one in objects(object_, "status", "conditions"))
