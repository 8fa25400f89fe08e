"""Fields taken out of an object: those that somebody applied, does not apply any more, and nobody else owns."""

from __future__ import annotations

from typing import Any

from probate.api.apply import extraction, field_sets
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.schema_shapes import DEDUCED, NoKey, Shape


def without(value: Any, fields: FieldSet, shape: Shape) -> Any:
    """The value less these fields; null if nothing is left of it. What is not concerned is shared."""
    if type(value) is dict and not shape.is_piece:
        left = {}
        for key, inner in value.items():
            node = fields.get(f"f:{key}")
            if node is None:
                left[key] = inner
            elif not field_sets.has(node):
                left[key] = without(inner, node, shape.of(key) or DEDUCED)
        return left or None
    if type(value) is list and shape.list_type != "atomic" and shape.item is not None:
        items = []
        for item in value:
            node = fields.get(_place(shape, item))
            if node is None:
                items.append(item)
            elif not field_sets.has(node):
                items.append(without(item, node, shape.item))
        return items or None
    return value


def abandoned(merged: dict[str, Any], last: FieldSet, owned: FieldSet, shape: Shape) -> dict[str, Any]:
    """The merged object less what the last apply set, unless it is `owned`: by this apply or by anybody else.

    A struct counts as set by what is in it, so it goes when nothing is left that somebody wants; but what nobody ever owned (a
    default, say) goes only with a struct that goes.
    """
    if not field_sets.difference(last, owned):
        return merged
    last = with_structs(last, shape)
    everything = _all(merged, shape)
    left = without(merged, last, shape) or {}
    stays = field_sets.union(_all(left, shape), with_structs(owned, shape))
    left = without(merged, field_sets.difference(everything, stays), shape) or {}
    gone = field_sets.intersection(field_sets.difference(everything, _all(left, shape)), last)
    return without(merged, gone, shape) or {}


def _all(value: dict[str, Any], shape: Shape) -> FieldSet:
    return with_structs(extraction.fields_of(value, shape, is_checked=False), shape)


def with_structs(fields: FieldSet, shape: Shape) -> FieldSet:
    """The set, with each struct in it that has a field in it."""
    found: FieldSet = {}
    for key, node in fields.items():
        if not node or key == field_sets.SELF:
            found[key] = node
            continue
        name = key[2:]
        is_name = key.startswith("f:")
        inner = (shape.of(name) if is_name else shape.item) or DEDUCED
        deeper = with_structs(node, inner)
        found[key] = field_sets.marked(deeper) if is_name and shape.is_field(name) else deeper
    return found


def _place(shape: Shape, item: Any) -> str:
    try:
        return shape.place(item)
    except NoKey:
        return ""
