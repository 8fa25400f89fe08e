"""The order of a merged list: rule 3 of this package.

    before: A B     patch: B C     merged: A B C     A was before B; C is only in the patch
    before: A       patch: B       merged: B A       nothing orders A and B, so the patch's item comes first

An item is identified by a primitive's value, or by the value of its merge key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from probate.api.field_errors import FieldPath, format_value
from probate.core import errors

_NO_IDENTITY: Hashable = ()


def identity(item: Any, merge_key: str) -> Hashable:
    """Returns what identifies an item in its list; `()` if nothing does."""
    value = item.get(merge_key) if isinstance(item, dict) else item
    if value is None or isinstance(value, (dict, list)):
        return _NO_IDENTITY
    return (isinstance(value, bool), value)  # for Python, True is 1


def required_identity(item: Any, merge_key: str, path: FieldPath) -> Hashable:
    """Returns the identity of an item of a patch. Raises `BadRequest` if it has none."""
    item_identity = identity(item, merge_key)
    if item_identity == _NO_IDENTITY and merge_key and isinstance(item, dict):
        raise errors.BadRequest(f"{path}: {format_value(item)} does not contain declared merge key: {merge_key}")
    if item_identity == _NO_IDENTITY:
        raise errors.BadRequest(f"{path}: {format_value(item)} cannot be an item of this list")
    return item_identity


def arrange(merged: list[Any], *, order: Sequence[Hashable], before: Sequence[Hashable], merge_key: str) -> list[Any]:
    """Returns the merged items: those in `order` in that order, the others as they were before."""
    rank, old_positions = _positions(order), _positions(before)
    identified = [(identity(item, merge_key), item) for item in merged]
    ordered = sorted((pair for pair in identified if pair[0] in rank), key=lambda pair: rank[pair[0]])
    others = [pair for pair in identified if pair[0] not in rank]
    return [item for _, item in _interleave(ordered, others, old_positions)]


def check_order(items: Iterable[Hashable], order: Sequence[Hashable], path: FieldPath) -> None:
    """Raises `BadRequest` if an order omits an item that the patch sets, or contradicts the patch's own order."""
    remaining = iter(order)
    if order and not all(item in remaining for item in items):
        raise errors.BadRequest(
            f"{path}: the order in the patch's list does not match it: name the list's items there, in their order"
        )


def _interleave(
    ordered: list[tuple[Hashable, Any]], others: list[tuple[Hashable, Any]], old_positions: dict[Hashable, int]
) -> list[tuple[Hashable, Any]]:
    result: list[tuple[Hashable, Any]] = []
    next_other = 0
    for pair in ordered:
        while next_other < len(others) and _was_before(others[next_other][0], pair[0], old_positions):
            result.append(others[next_other])
            next_other += 1
        result.append(pair)
    return result + others[next_other:]


def _was_before(left: Hashable, right: Hashable, old_positions: dict[Hashable, int]) -> bool:
    return left in old_positions and right in old_positions and old_positions[left] < old_positions[right]


def _positions(identities: Sequence[Hashable]) -> dict[Hashable, int]:
    positions: dict[Hashable, int] = {}
    for number, item_identity in enumerate(identities):
        positions.setdefault(item_identity, number)
    return positions
