"""Sets of fields of an object, in the very form in which `managedFields` holds them (FieldsV1).

    {"f:spec": {"f:replicas": {}, "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}}

holds spec.replicas, the container c itself, and its image; neither spec nor the list of containers. A key is a field (`f:`), the
item of a list with these keys (`k:`), the item of a set (`v:`), or of a list by its place (`i:`). A node that is empty, or has a
`.`, is in the set itself. The outermost node never is.

Sets share their nodes with others: nobody may change one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import orjson

FieldSet: TypeAlias = dict[str, Any]

SELF = "."
LEAF: FieldSet = {}
MAX_DEPTH = 100


class Malformed(ValueError):
    """This is no set of fields."""


def marked(node: FieldSet) -> FieldSet:
    """The node, and itself in the set."""
    return node if not node or SELF in node else {SELF: LEAF, **node}


def has(node: FieldSet) -> bool:
    """Whether the node itself is in the set."""
    return not node or SELF in node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """All that is in either."""
    if not one or not other or one is other:
        return one or other
    joined = dict(one)
    for key, node in other.items():
        known = joined.get(key)
        joined[key] = node if known is None else _joined(known, node)
    return joined


def _joined(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one or not other:
        return marked(one or other)
    return union(one, other)


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in the one and not in the other. A field that is in the other takes nothing that is below it along."""
    return {key: left for key, node in one.items() if (left := _less(node, other.get(key))) is not None}


def _less(node: FieldSet, other: FieldSet | None) -> FieldSet | None:
    if other is None:
        return node
    is_in = has(node) and not has(other)
    left = {key: kept for key, inner in node.items() if key != SELF and (kept := _less(inner, other.get(key))) is not None}
    if is_in:
        return marked(left)
    return left or None


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in both."""
    return {
        key: both for key, node in one.items() if (mate := other.get(key)) is not None and (both := _shared(node, mate)) is not None
    }


def _shared(node: FieldSet, other: FieldSet) -> FieldSet | None:
    inner = {
        key: both
        for key, one in node.items()
        if key != SELF and (mate := other.get(key)) is not None and (both := _shared(one, mate)) is not None
    }
    if has(node) and has(other):
        return marked(inner)
    return inner or None


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The fields as people write them: .spec.containers[name="c"].image"""
    for key in sorted(fields):
        if key == SELF:
            continue
        path = prefix + _step(key)
        if has(fields[key]):
            yield path
        yield from paths(fields[key], path)


def _step(key: str) -> str:
    sort, _, rest = key.partition(":")
    if sort == "f":
        return f".{rest}"
    if sort == "k":
        return f"[{','.join(f'{name}={orjson.dumps(value).decode()}' for name, value in orjson.loads(rest).items())}]"
    return f"[={rest}]" if sort == "v" else f"[{rest}]"


def read(written: Any, depth: int = 0) -> FieldSet:
    """A set that a client wrote; `Malformed` if it is none."""
    if not isinstance(written, dict) or depth > MAX_DEPTH:
        raise Malformed
    return {_key(key): read(node, depth + 1) for key, node in written.items()}


def _key(key: str) -> str:
    """The key as we spell it: the same item has one spelling only."""
    sort, _, rest = key.partition(":")
    if key == SELF or sort == "f":
        return key
    try:
        value = orjson.loads(rest)
    except orjson.JSONDecodeError:
        raise Malformed from None
    if sort == "k" and isinstance(value, dict):
        return f"k:{orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()}"
    if sort == "v" or (sort == "i" and type(value) is int):
        return f"{sort}:{orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()}"
    raise Malformed
