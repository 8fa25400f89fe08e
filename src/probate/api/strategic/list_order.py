"""In which order a merged list stands: rule 3 of this package.

    before: A B     patch: B C     merged: A B C     A stood before B; C is only in the patch
    before: A       patch: B       merged: B A       nothing tells them apart, so the patch comes first

Items are told apart by their identity: a primitive's value, or the value of an item's merge key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from probate.api.field_errors import Path, shown
from probate.core import errors

_NONE: Hashable = ()


def identity(item: Any, merge_key: str) -> Hashable:
    """What tells the item from others in its list; `()` if it has nothing that could."""
    value = item.get(merge_key) if isinstance(item, dict) else item
    if value is None or isinstance(value, (dict, list)):
        return _NONE
    return (isinstance(value, bool), value)  # for Python, True is 1


def required_identity(item: Any, merge_key: str, path: Path) -> Hashable:
    """The same for an item of a patch, which must have one."""
    found = identity(item, merge_key)
    if found == _NONE and merge_key and isinstance(item, dict):
        raise errors.BadRequest(f"{path}: {shown(item)} does not contain declared merge key: {merge_key}")
    if found == _NONE:
        raise errors.BadRequest(f"{path}: {shown(item)} cannot be an item of this list")
    return found


def arrange(merged: list[Any], *, wanted: Sequence[Hashable], before: Sequence[Hashable], merge_key: str) -> list[Any]:
    """The merged items, those wanted in that order, the others as they were before."""
    rank, place = _positions(wanted), _positions(before)
    named = [(identity(item, merge_key), item) for item in merged]
    first = sorted((one for one in named if one[0] in rank), key=lambda one: rank[one[0]])
    others = [one for one in named if one[0] not in rank]
    return [item for _, item in _interleave(first, others, place)]


def check_order(items: Iterable[Hashable], order: Sequence[Hashable], path: Path) -> None:
    """Refuse an order that leaves out what the patch sets, or has it in another order than the patch."""
    rest = iter(order)
    if order and not all(item in rest for item in items):
        raise errors.BadRequest(
            f"{path}: the order in the patch's list does not match it: name the list's items there, in their order"
        )


def _interleave(
    first: list[tuple[Hashable, Any]], others: list[tuple[Hashable, Any]], place: dict[Hashable, int]
) -> list[tuple[Hashable, Any]]:
    result: list[tuple[Hashable, Any]] = []
    waiting = 0
    for one in first:
        while waiting < len(others) and _stood_before(others[waiting][0], one[0], place):
            result.append(others[waiting])
            waiting += 1
        result.append(one)
    return result + others[waiting:]


def _stood_before(one: Hashable, other: Hashable, place: dict[Hashable, int]) -> bool:
    return one in place and other in place and place[one] < place[other]


def _positions(identities: Sequence[Hashable]) -> dict[Hashable, int]:
    positions: dict[Hashable, int] = {}
    for number, one in enumerate(identities):
        positions.setdefault(one, number)
    return positions
