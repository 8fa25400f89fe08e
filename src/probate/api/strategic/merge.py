"""Merging a patch into an object, a field, a list: rules 1, 2 and 4 of this package.

A value that is not there yet is merged into an empty one, so a directive or a null means the same however deep it is.
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import Path, shown
from probate.api.schema.node import Schema
from probate.api.strategic import directives, list_order
from probate.core import errors

_ANYTHING = Schema()


def merge_object(original: dict[str, Any], patch: dict[str, Any], schema: Schema, path: Path) -> dict[str, Any]:
    """The object with the patch's fields and directives applied."""
    directive = directives.of(patch, path)
    if directive == "delete":
        return {}
    start = {} if directive == "replace" else original
    retained = directives.retained(patch, path)
    merged = {name: value for name, value in start.items() if retained is None or name in retained}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif not directives.is_directive(name):
            merged[name] = _merge_value(merged.get(name), value, _field(schema, name), path / name)
    _apply_orders(merged, start, patch, schema, path)
    _apply_deletions(merged, patch, path)
    return merged


def _field(schema: Schema, name: str) -> Schema:
    return schema.properties.get(name) or schema.values or _ANYTHING


def _merge_value(original: Any, patch: Any, schema: Schema, path: Path) -> Any:
    if isinstance(patch, dict):
        is_merged = isinstance(original, dict) and "replace" not in schema.strategies
        return merge_object(original if is_merged else {}, patch, schema, path)
    if isinstance(patch, list):
        is_merged = isinstance(original, list) and len(original) > 0 and _is_merging(schema)
        return _merge_list(original, patch, schema, path) if is_merged else _new_list(patch, schema, path)
    return patch


def _is_merging(schema: Schema) -> bool:
    return "merge" in schema.strategies


def _new_list(patch: list[Any], schema: Schema, path: Path) -> list[Any]:
    """The patch's items where there was no list, or none that counts."""
    items = schema.items or _ANYTHING
    return [
        _merge_value(None, item, items, path / number)
        for number, item in enumerate(patch)
        if not _is_order(item, schema, path / number)
    ]


def _is_order(item: Any, schema: Schema, path: Path) -> bool:
    """Whether an item says what to do with the list, and is not to be in it."""
    directive = directives.of(item, path) if isinstance(item, dict) else "merge"
    if directive == "delete" and not _is_merging(schema):
        raise errors.BadRequest(f"{path}: this list is replaced as a whole, so nothing can be deleted from it: send all its items")
    return directive != "merge"


def _merge_list(original: list[Any], patch: list[Any], schema: Schema, path: Path) -> list[Any]:
    if schema.merge_key:
        return _merge_items(original, patch, schema, path)
    wanted = [list_order.required_identity(value, "", path / number) for number, value in enumerate(patch)]
    before = [list_order.identity(value, "") for value in original]
    union = dict(zip([*before, *wanted], [*original, *patch], strict=True))
    return list_order.arrange(list(union.values()), wanted=wanted, before=before, merge_key="")


def _merge_items(original: list[Any], patch: list[Any], schema: Schema, path: Path) -> list[Any]:
    """A list of objects, merged by their merge key."""
    _check_objects(patch, path)
    if any(directives.of(item, path / number) == "replace" for number, item in enumerate(patch)):
        return _new_list(patch, schema, path)
    kept = _without_deleted(original, patch, schema, path)
    before = [list_order.identity(item, schema.merge_key) for item in kept]
    merged, wanted = dict(enumerate(kept)), []
    first = {one: number for number, one in reversed(list(enumerate(before)))}
    for number, item in enumerate(patch):
        if not _is_order(item, schema, path / number):
            wanted.append(list_order.required_identity(item, schema.merge_key, path / number))
            place = first.setdefault(wanted[-1], len(merged))
            merged[place] = _merge_value(merged.get(place), item, schema.items or _ANYTHING, path / number)
    return list_order.arrange(list(merged.values()), wanted=wanted, before=before, merge_key=schema.merge_key)


def _check_objects(patch: list[Any], path: Path) -> None:
    for number, item in enumerate(patch):
        if not isinstance(item, dict):
            raise errors.BadRequest(f"{path / number}: the items of this list are objects, not {shown(item)}")


def _without_deleted(original: list[Any], patch: list[Any], schema: Schema, path: Path) -> list[Any]:
    gone = {
        list_order.required_identity(item, schema.merge_key, path / number)
        for number, item in enumerate(patch)
        if directives.of(item, path / number) == "delete"
    }
    return [item for item in original if list_order.identity(item, schema.merge_key) not in gone]


def _apply_orders(merged: dict[str, Any], start: dict[str, Any], patch: dict[str, Any], schema: Schema, path: Path) -> None:
    for name, order in directives.orders(patch, path):
        field, where = _field(schema, name), path / f"{directives.SET_ELEMENT_ORDER}/{name}"
        if isinstance(merged.get(name), list) and _is_merging(field):
            wanted = [list_order.required_identity(one, field.merge_key, where / number) for number, one in enumerate(order)]
            list_order.check_order(_set_items(patch.get(name), field), wanted, where)
            stood = start.get(name)
            before = [list_order.identity(item, field.merge_key) for item in stood] if isinstance(stood, list) else []
            merged[name] = list_order.arrange(merged[name], wanted=wanted, before=before, merge_key=field.merge_key)


def _set_items(patch: Any, schema: Schema) -> list[Any]:
    items = patch if isinstance(patch, list) else []
    return [
        list_order.identity(item, schema.merge_key) for item in items if not isinstance(item, dict) or directives.PATCH not in item
    ]


def _apply_deletions(merged: dict[str, Any], patch: dict[str, Any], path: Path) -> None:
    for name, values in directives.deletions(patch, path):
        where = path / f"{directives.DELETE_FROM_LIST}/{name}"
        gone = {list_order.required_identity(value, "", where / number) for number, value in enumerate(values)}
        if isinstance(merged.get(name), list):
            merged[name] = [value for value in merged[name] if list_order.identity(value, "") not in gone]
