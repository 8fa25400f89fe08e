"""The directives of a strategic merge patch: the entries beside the fields that it changes.

A name with a dollar sign that is not one of these is an ordinary field: a CustomResourceDefinition's schema has `$ref`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import FieldPath
from probate.core import errors

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList"
SET_ELEMENT_ORDER = "$setElementOrder"


def patch_action(patch: dict[str, Any], path: FieldPath) -> str:
    """Returns the action on the object or item as a whole: merge, replace or delete."""
    directive = patch.get(PATCH, "merge")
    if directive not in ("merge", "replace", "delete"):
        raise errors.BadRequest(f"{path / PATCH}: unknown patch type: it is delete, replace or merge")
    return str(directive)


def is_directive(name: str) -> bool:
    """Returns whether the name is a directive, not a field."""
    return name in (PATCH, RETAIN_KEYS) or name.partition("/")[0] in (DELETE_FROM_LIST, SET_ELEMENT_ORDER)


def retained_keys(patch: dict[str, Any], path: FieldPath) -> frozenset[str] | None:
    """Returns the fields to retain, or None for all."""
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


def deletions(patch: dict[str, Any], path: FieldPath) -> Iterator[tuple[str, list[Any]]]:
    """Yields the field name of each list that loses values, and the values."""
    return _parse_lists(patch, path, prefix=DELETE_FROM_LIST, name="primitive list")


def orders(patch: dict[str, Any], path: FieldPath) -> Iterator[tuple[str, list[Any]]]:
    """Yields the field name of each list that gets an order, and the order."""
    return _parse_lists(patch, path, prefix=SET_ELEMENT_ORDER, name="setElementOrder list")


def _parse_lists(patch: dict[str, Any], path: FieldPath, *, prefix: str, name: str) -> Iterator[tuple[str, list[Any]]]:
    for key, value in patch.items():
        directive, _, field = key.partition("/")
        if directive == prefix:
            if not field or not isinstance(value, list):
                raise errors.BadRequest(f"{path / key}: invalid patch format of {name}: write {prefix}/<field>: [...]")
            yield field, value
