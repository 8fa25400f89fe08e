"""Which fields a document sets: those that whoever applies it wants to own.

    {"metadata": {"labels": {"x": "1"}}, "data": {}}      {"f:metadata": {"f:labels": {"f:x": {}}}, "f:data": {}}

A struct is not set by what is in it, unless it is empty; a key of a map is. The document is checked on the way: what is in it must
be known to the schema, and items of lists must differ.
"""

from __future__ import annotations

from typing import Any

from probate.api.apply.field_sets import LEAF, FieldSet, marked
from probate.api.apply.schema_shapes import DEDUCED, SCALARS, NoKey, Shape
from probate.core import work_limits


class Unfit(ValueError):
    """The document does not fit the schema. Says where, and why."""


def fields_of(document: dict[str, Any], shape: Shape, *, is_checked: bool = True) -> FieldSet:
    """The fields that the document sets; `Unfit` if it is to be checked and is wrong."""
    return _in_map(document, shape, "", is_checked=is_checked)


def _in_map(value: dict[str, Any], shape: Shape, path: str, *, is_checked: bool) -> FieldSet:
    found: FieldSet = {}
    work_limits.spend(len(value))
    for key, inner in value.items():
        known = shape.of(key)
        if known is None:
            if is_checked:
                raise Unfit(f"{path}.{key}: field not declared in schema")
            known = DEDUCED
        node = _below(inner, known, f"{path}.{key}", is_checked=is_checked)
        if inner is None or inner == {} or not shape.is_field(key):
            node = marked(node or LEAF)
        if node is not None:
            found[f"f:{key}"] = node
    return found


def _below(value: Any, shape: Shape, path: str, *, is_checked: bool) -> FieldSet | None:
    """What is set in a value; None if nothing is."""
    sort = type(value)
    if is_checked:
        _check(value, shape, path)
    if sort is dict:
        return LEAF if shape.is_piece else _in_map(value, shape, path, is_checked=is_checked) or None
    if sort is list and shape.list_type != "atomic" and shape.item is not None:
        return _in_list(value, shape, path, is_checked=is_checked) or None
    if value is None and (shape.type == "object" or shape.item is not None) and not shape.is_piece:
        return None
    return LEAF


def _in_list(value: list[Any], shape: Shape, path: str, *, is_checked: bool) -> FieldSet:
    found: FieldSet = {}
    work_limits.spend(len(value))
    for index, item in enumerate(value):
        try:
            place = shape.place(item)
        except NoKey as error:
            if is_checked:
                raise Unfit(f"{path}[{index}]: {error}") from None
            place = f"i:{index}"
        if is_checked and place in found:
            raise Unfit(f"{path}[{index}]: there is another such item: {place[2:]}")
        found[place] = marked(_below(item, shape.item or DEDUCED, f"{path}[{index}]", is_checked=is_checked) or LEAF)
    return found


def _check(value: Any, shape: Shape, path: str) -> None:
    wanted = shape.type
    if not wanted or value is None:
        return
    given = "object" if type(value) is dict else "array" if type(value) is list else "a single value"
    if given != ("a single value" if wanted in SCALARS else wanted):
        raise Unfit(f"{path}: expected {wanted}, got {given}")
