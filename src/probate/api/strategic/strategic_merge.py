"""Merges a patch into an object, a field, a list: rules 1, 2 and 4 of this package.

An absent value is merged as an empty one, so a directive or a null has the same meaning at any depth.
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import FieldPath, format_value
from probate.api.schema.node import Schema
from probate.api.strategic import directives, list_order
from probate.core import errors

_ANYTHING = Schema()


def merge_object(original: dict[str, Any], patch: dict[str, Any], schema: Schema, *, path: FieldPath) -> dict[str, Any]:
    """Returns the object with the patch's fields and directives applied."""
    directive = directives.patch_action(patch, path)
    if directive == "delete":
        return {}
    start = {} if directive == "replace" else original
    retained_keys = directives.retained_keys(patch, path)
    merged = {name: value for name, value in start.items() if retained_keys is None or name in retained_keys}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif not directives.is_directive(name):
            merged[name] = _merge_value(merged.get(name), value, _field(schema, name), path=path / name)
    _apply_orders(merged, start, patch, schema=schema, path=path)
    _apply_deletions(merged, patch, path)
    return merged


def _field(schema: Schema, name: str) -> Schema:
    return schema.properties.get(name) or schema.values or _ANYTHING


def _merge_value(original: Any, patch: Any, schema: Schema, *, path: FieldPath) -> Any:
    if isinstance(patch, dict):
        is_merged = isinstance(original, dict) and "replace" not in schema.patch_strategies
        return merge_object(original if is_merged else {}, patch, schema, path=path)
    if isinstance(patch, list):
        is_merged = isinstance(original, list) and len(original) > 0 and _has_merge_strategy(schema)
        return _merge_list(original, patch, schema, path=path) if is_merged else _new_list(patch, schema, path)
    return patch


def _has_merge_strategy(schema: Schema) -> bool:
    return "merge" in schema.patch_strategies


def _new_list(patch: list[Any], schema: Schema, path: FieldPath) -> list[Any]:
    """Returns the patch's items, for a list that is absent, empty or replaced."""
    items = schema.items or _ANYTHING
    return [
        _merge_value(None, item, items, path=path / number)
        for number, item in enumerate(patch)
        if not _is_list_directive(item, schema, path / number)
    ]


def _is_list_directive(item: Any, schema: Schema, path: FieldPath) -> bool:
    """Returns whether an item is a directive for the list, not an item of it."""
    directive = directives.patch_action(item, path) if isinstance(item, dict) else "merge"
    if directive == "delete" and not _has_merge_strategy(schema):
        raise errors.BadRequest(f"{path}: this list is replaced as a whole, so nothing can be deleted from it: send all its items")
    return directive != "merge"


def _merge_list(original: list[Any], patch: list[Any], schema: Schema, *, path: FieldPath) -> list[Any]:
    if schema.merge_key:
        return _merge_items(original, patch, schema, path=path)
    order = [list_order.required_identity(value, "", path / number) for number, value in enumerate(patch)]
    before = [list_order.identity(value, "") for value in original]
    union = dict(zip([*before, *order], [*original, *patch], strict=True))
    return list_order.arrange(list(union.values()), order=order, before=before, merge_key="")


def _merge_items(original: list[Any], patch: list[Any], schema: Schema, *, path: FieldPath) -> list[Any]:
    """Merges a list of objects by merge key."""
    _check_objects(patch, path)
    if any(directives.patch_action(item, path / number) == "replace" for number, item in enumerate(patch)):
        return _new_list(patch, schema, path)
    remaining = _without_deleted(original, patch, schema, path=path)
    before = [list_order.identity(item, schema.merge_key) for item in remaining]
    merged, order = dict(enumerate(remaining)), []
    first_index = {item_identity: number for number, item_identity in reversed(list(enumerate(before)))}
    for number, item in enumerate(patch):
        if not _is_list_directive(item, schema, path / number):
            order.append(list_order.required_identity(item, schema.merge_key, path / number))
            index = first_index.setdefault(order[-1], len(merged))
            merged[index] = _merge_value(merged.get(index), item, schema.items or _ANYTHING, path=path / number)
    return list_order.arrange(list(merged.values()), order=order, before=before, merge_key=schema.merge_key)


def _check_objects(patch: list[Any], path: FieldPath) -> None:
    for number, item in enumerate(patch):
        if not isinstance(item, dict):
            raise errors.BadRequest(f"{path / number}: the items of this list are objects, not {format_value(item)}")


def _without_deleted(original: list[Any], patch: list[Any], schema: Schema, *, path: FieldPath) -> list[Any]:
    deleted = {
        list_order.required_identity(item, schema.merge_key, path / number)
        for number, item in enumerate(patch)
        if directives.patch_action(item, path / number) == "delete"
    }
    return [item for item in original if list_order.identity(item, schema.merge_key) not in deleted]


def _apply_orders(merged: dict[str, Any], start: dict[str, Any], patch: dict[str, Any], *, schema: Schema, path: FieldPath) -> None:
    for name, order in directives.orders(patch, path):
        field, order_path = _field(schema, name), path / f"{directives.SET_ELEMENT_ORDER}/{name}"
        if isinstance(merged.get(name), list) and _has_merge_strategy(field):
            identities = [
                list_order.required_identity(item, field.merge_key, order_path / number) for number, item in enumerate(order)
            ]
            list_order.check_order(_set_items(patch.get(name), field), identities, order_path)
            old = start.get(name)
            before = [list_order.identity(item, field.merge_key) for item in old] if isinstance(old, list) else []
            merged[name] = list_order.arrange(merged[name], order=identities, before=before, merge_key=field.merge_key)


def _set_items(patch: Any, schema: Schema) -> list[Any]:
    items = patch if isinstance(patch, list) else []
    return [
        list_order.identity(item, schema.merge_key) for item in items if not isinstance(item, dict) or directives.PATCH not in item
    ]


def _apply_deletions(merged: dict[str, Any], patch: dict[str, Any], path: FieldPath) -> None:
    for name, values in directives.deletions(patch, path):
        list_path = path / f"{directives.DELETE_FROM_LIST}/{name}"
        deleted = {list_order.required_identity(value, "", list_path / number) for number, value in enumerate(values)}
        if isinstance(merged.get(name), list):
            merged[name] = [value for value in merged[name] if list_order.identity(value, "") not in deleted]
