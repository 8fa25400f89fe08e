"""Removes fields from an object: those that a manager applied before, omits now, and no other manager owns."""

from __future__ import annotations

from typing import Any

from probate.api.apply import extraction, field_sets
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.schema_shapes import DEDUCED, MissingKey, Shape


def remove_fields(value: Any, fields: FieldSet, shape: Shape) -> Any:
    """Returns the value without these fields; None if nothing remains. Shares unchanged parts."""
    if type(value) is dict and not shape.is_atomic:
        remaining = {}
        for key, inner in value.items():
            node = fields.get(f"f:{key}")
            if node is None:
                remaining[key] = inner
            elif not field_sets.contains_self(node):
                remaining[key] = remove_fields(inner, node, shape.child(key) or DEDUCED)
        return remaining or None
    if type(value) is list and shape.list_type != "atomic" and shape.item is not None:
        items = []
        for item in value:
            node = fields.get(_path_element(shape, item))
            if node is None:
                items.append(item)
            elif not field_sets.contains_self(node):
                items.append(remove_fields(item, node, shape.item))
        return items or None
    return value


def remove_abandoned(merged: dict[str, Any], last: FieldSet, owned: FieldSet, *, shape: Shape) -> dict[str, Any]:
    """Returns the merged object without the fields of the manager's last apply that are not owned any more.

    `owned` are the fields that this apply or another manager owns. A struct counts as set by its fields, so it is removed when no
    owned field remains in it. Fields that no manager ever owned (a default, for example) are removed only together with it.
    """
    if not field_sets.difference(last, owned):
        return merged
    last = include_structs(last, shape)
    everything = _all_fields(merged, shape)
    remaining = remove_fields(merged, last, shape) or {}
    retained = field_sets.union(_all_fields(remaining, shape), include_structs(owned, shape))
    remaining = remove_fields(merged, field_sets.difference(everything, retained), shape) or {}
    abandoned_fields = field_sets.intersection(field_sets.difference(everything, _all_fields(remaining, shape)), last)
    return remove_fields(merged, abandoned_fields, shape) or {}


def _all_fields(value: dict[str, Any], shape: Shape) -> FieldSet:
    return include_structs(extraction.extract_fields(value, shape, is_checked=False), shape)


def include_structs(fields: FieldSet, shape: Shape) -> FieldSet:
    """Returns the set, with each struct in it that has a field in it."""
    fields_and_structs: FieldSet = {}
    for key, node in fields.items():
        if not node or key == field_sets.SELF:
            fields_and_structs[key] = node
            continue
        name = key[2:]
        is_name = key.startswith("f:")
        inner = (shape.child(name) if is_name else shape.item) or DEDUCED
        deeper = include_structs(node, inner)
        fields_and_structs[key] = field_sets.include_self(deeper) if is_name and shape.is_field(name) else deeper
    return fields_and_structs


def _path_element(shape: Shape, item: Any) -> str:
    try:
        return shape.path_element(item)
    except MissingKey:
        return ""
