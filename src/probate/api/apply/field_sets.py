"""Sets of fields of an object, in the form that `managedFields` stores (FieldsV1).

    {"f:spec": {"f:replicas": {}, "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}}

holds spec.replicas, the container c itself, and its image; neither spec nor the list of containers. A key is a path element: a
field (`f:`), a list item with these keys (`k:`), an item of a set (`v:`), or a list item by index (`i:`). A node that is empty, or
has a `.`, is in the set itself. The root node never is.

Sets share their nodes: never modify one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import orjson

FieldSet: TypeAlias = dict[str, Any]

SELF = "."
LEAF: FieldSet = {}
MAX_DEPTH = 100


class MalformedFieldSet(ValueError):
    """The JSON is not a FieldsV1 field set."""


def include_self(node: FieldSet) -> FieldSet:
    """Returns the node with itself in the set."""
    return node if not node or SELF in node else {SELF: LEAF, **node}


def contains_self(node: FieldSet) -> bool:
    """Returns whether the node itself is in the set."""
    return not node or SELF in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Returns the fields that are in either set."""
    if not left or not right or left is right:
        return left or right
    joined = dict(left)
    for key, node in right.items():
        left_node = joined.get(key)
        joined[key] = node if left_node is None else _union_nodes(left_node, node)
    return joined


def _union_nodes(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or not right:
        return include_self(left or right)
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Returns the fields that are only in `left`. A field in `right` does not remove the fields below it."""
    return {key: remaining for key, node in left.items() if (remaining := _subtract_node(node, right.get(key))) is not None}


def _subtract_node(node: FieldSet, removed: FieldSet | None) -> FieldSet | None:
    if removed is None:
        return node
    is_in = contains_self(node) and not contains_self(removed)
    remaining = {
        key: rest for key, inner in node.items() if key != SELF and (rest := _subtract_node(inner, removed.get(key))) is not None
    }
    if is_in:
        return include_self(remaining)
    return remaining or None


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Returns the fields that are in both sets."""
    return {
        key: shared
        for key, node in left.items()
        if (counterpart := right.get(key)) is not None and (shared := _intersect_nodes(node, counterpart)) is not None
    }


def _intersect_nodes(node: FieldSet, other: FieldSet) -> FieldSet | None:
    inner = {
        key: shared
        for key, child in node.items()
        if key != SELF
        and (counterpart := other.get(key)) is not None
        and (shared := _intersect_nodes(child, counterpart)) is not None
    }
    if contains_self(node) and contains_self(other):
        return include_self(inner)
    return inner or None


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Yields the fields as paths: .spec.containers[name="c"].image"""
    for key in sorted(fields):
        if key == SELF:
            continue
        path = prefix + _format_element(key)
        if contains_self(fields[key]):
            yield path
        yield from paths(fields[key], path)


def _format_element(key: str) -> str:
    prefix, _, rest = key.partition(":")
    if prefix == "f":
        return f".{rest}"
    if prefix == "k":
        return f"[{','.join(f'{name}={orjson.dumps(value).decode()}' for name, value in orjson.loads(rest).items())}]"
    return f"[={rest}]" if prefix == "v" else f"[{rest}]"


def parse(value: Any, depth: int = 0) -> FieldSet:
    """Parses a field set that a client sent. Raises `MalformedFieldSet`."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        raise MalformedFieldSet
    return {_normalize_element(key): parse(node, depth + 1) for key, node in value.items()}


def _normalize_element(key: str) -> str:
    """Returns the canonical spelling of a path element, so that an item has only one."""
    prefix, _, rest = key.partition(":")
    if key == SELF or prefix == "f":
        return key
    try:
        value = orjson.loads(rest)
    except orjson.JSONDecodeError:
        raise MalformedFieldSet from None
    if prefix == "k" and isinstance(value, dict):
        return f"k:{orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()}"
    if prefix == "v" or (prefix == "i" and type(value) is int):
        return f"{prefix}:{orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()}"
    raise MalformedFieldSet
