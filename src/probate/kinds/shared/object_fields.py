"""Reading and filling fields of objects whose shape nobody has checked.

Wrong types are found by the decoder, which says so to the user; here they must only do no harm. So a value of another shape than
expected counts as not there, and nothing is ever put below or over it.

`fill` and `fill_zero` differ as Kubernetes' own types do: where zero is a meaning of its own (`replicas: 0`), only an absent field
is filled; where it is not (`timeoutSeconds: 0`, `dnsPolicy: ""`), zero means absent.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def child(parent: Object, key: str) -> Object | None:
    """The object in this field, if there is one."""
    value = parent.get(key)
    return value if isinstance(value, dict) else None


def made(parent: Object, key: str) -> Object | None:
    """The object in this field, put there if the field is absent. None: something else is in its place."""
    if parent.get(key) is None:
        parent[key] = {}
    return child(parent, key)


def items(parent: Object | None, key: str) -> list[Object]:
    """The objects in the list in this field."""
    value = None if parent is None else parent.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def below(parent: Object | None, *keys: str) -> Object | None:
    """The object at this path, if there is one."""
    for key in keys:
        parent = None if parent is None else child(parent, key)
    return parent


def is_zero(value: object) -> bool:
    """Whether Kubernetes' types cannot tell the value from an absent one, where zero has no meaning of its own."""
    return value is None or (isinstance(value, (str, int, float)) and not value)


def fill(parent: Object, **defaults: Any) -> None:
    """Set the fields that are absent."""
    for key, value in defaults.items():
        if parent.get(key) is None:
            parent[key] = value


def fill_zero(parent: Object, **defaults: Any) -> None:
    """Set the fields that are absent or zero."""
    for key, value in defaults.items():
        if is_zero(parent.get(key)):
            parent[key] = value


def drop_empty(parent: Object, *keys: str) -> None:
    """Remove the maps and lists that hold nothing."""
    for key in keys:
        if key in parent and isinstance(parent[key], (dict, list)) and not parent[key]:
            del parent[key]


def text(parent: Object, key: str) -> str:
    """The text in this field, or the empty one."""
    value = parent.get(key)
    return value if isinstance(value, str) else ""
