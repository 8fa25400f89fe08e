"""Fields taken out of an object: those that somebody applied, does not apply any more, and nobody else owns."""

from __future__ import annotations

from typing import Any

from probate.machinery.apply import extract, fieldsets
from probate.machinery.apply.fieldsets import FieldSet
from probate.machinery.apply.shapes import DEDUCED, NoKey, Shape


def without(value: Any, fields: FieldSet, shape: Shape) -> Any:
    """The value less these fields; null if nothing is left of it. What is not concerned is shared."""
    if type(value) is dict and not shape.is_piece:
        left = {}
        for key, inner in value.items():
            node = fields.get(f"f:{key}")
            if node is None:
                left[key] = inner
            elif not fieldsets.has(node):
                left[key] = without(inner, node, shape.of(key) or DEDUCED)
        return left or None
    if type(value) is list and shape.list_type != "atomic" and shape.item is not None:
        items = []
        for item in value:
            node = fields.get(_place(shape, item))
            if node is None:
                items.append(item)
            elif not fieldsets.has(node):
                items.append(without(item, node, shape.item))
        return items or None
    return value


def abandoned(merged: dict[str, Any], last: FieldSet, owned: FieldSet, shape: Shape) -> dict[str, Any]:
    """The merged object less what the last apply set, unless it is `owned`: by this apply or by anybody else.

    A struct counts as set by what is in it, so it goes when nothing is left that somebody wants; but what nobody ever owned (a
    default, say) goes only with a struct that goes.
    """
    if not fieldsets.difference(last, owned):
        return merged
    last = with_structs(last, shape)
    everything = _all(merged, shape)
    left = without(merged, last, shape) or {}
    stays = fieldsets.union(_all(left, shape), with_structs(owned, shape))
    left = without(merged, fieldsets.difference(everything, stays), shape) or {}
    gone = fieldsets.intersection(fieldsets.difference(everything, _all(left, shape)), last)
    return without(merged, gone, shape) or {}


def _all(value: dict[str, Any], shape: Shape) -> FieldSet:
    return with_structs(extract.fields_of(value, shape, is_checked=False), shape)


def with_structs(fields: FieldSet, shape: Shape) -> FieldSet:
    """The set, with each struct in it that has a field in it."""
    found: FieldSet = {}
    for key, node in fields.items():
        if not node or key == fieldsets.SELF:
            found[key] = node
            continue
        name = key[2:]
        is_name = key.startswith("f:")
        inner = (shape.of(name) if is_name else shape.item) or DEDUCED
        deeper = with_structs(node, inner)
        found[key] = fieldsets.marked(deeper) if is_name and shape.is_field(name) else deeper
    return found


def _place(shape: Shape, item: Any) -> str:
    try:
        return shape.place(item)
    except NoKey:
        return ""
