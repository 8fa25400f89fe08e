"""What a patch says beside the fields it changes: its directives, read and checked.

A name with a dollar sign that is none of these is a field like any other: a CustomResourceDefinition's schema has `$ref`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import Path
from probate.core import errors

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList"
SET_ELEMENT_ORDER = "$setElementOrder"


def of(patch: dict[str, Any], path: Path) -> str:
    """What is to be done with the object or item as a whole: merge, replace or delete."""
    directive = patch.get(PATCH, "merge")
    if directive not in ("merge", "replace", "delete"):
        raise errors.BadRequest(f"{path / PATCH}: unknown patch type: it is delete, replace or merge")
    return str(directive)


def is_directive(name: str) -> bool:
    """Whether the name is no field's."""
    return name in (PATCH, RETAIN_KEYS) or name.partition("/")[0] in (DELETE_FROM_LIST, SET_ELEMENT_ORDER)


def retained(patch: dict[str, Any], path: Path) -> frozenset[str] | None:
    """The fields that are to stay, or None if all are."""
    if RETAIN_KEYS not in patch:
        return None
    keys = patch[RETAIN_KEYS]
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise errors.BadRequest(f"{path / RETAIN_KEYS}: invalid patch format of retainKeys: it is a list of field names")
    for name, value in patch.items():
        if value is not None and not is_directive(name) and name not in keys:
            raise errors.BadRequest(
                f"{path / RETAIN_KEYS}: invalid patch format of retainKeys: the patch sets {name}, so name it there"
            )
    return frozenset(keys)


def deletions(patch: dict[str, Any], path: Path) -> Iterator[tuple[str, list[Any]]]:
    """Each list that loses values, by its field's name, and the values."""
    return _lists(patch, path, prefix=DELETE_FROM_LIST, name="primitive list")


def orders(patch: dict[str, Any], path: Path) -> Iterator[tuple[str, list[Any]]]:
    """Each list that gets an order, by its field's name, and the order."""
    return _lists(patch, path, prefix=SET_ELEMENT_ORDER, name="setElementOrder list")


def _lists(patch: dict[str, Any], path: Path, *, prefix: str, name: str) -> Iterator[tuple[str, list[Any]]]:
    for key, value in patch.items():
        directive, _, field = key.partition("/")
        if directive == prefix:
            if not field or not isinstance(value, list):
                raise errors.BadRequest(f"{path / key}: invalid patch format of {name}: write {prefix}/<field>: [...]")
            yield field, value
