"""Takes a change back from the other view without touching what was not changed there.

The conversion between views is exact for what a tenant writes. Others may write what no tenant would, such as the name of a volume
without prefix: converted there and back it would get one.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Change(NamedTuple):
    """A value before a change, as the other view showed it, as it was left there, and that one converted back."""

    before: Any
    shown: Any
    changed: Any
    converted: Any


def merge(change: Change) -> Any:
    """Returns the converted value, in which each field that was not changed is as it was before."""
    if change.shown == change.changed:
        return change.before
    if all(isinstance(value, dict) for value in change):
        return {key: _field(change, key) for key in change.converted}
    if all(isinstance(value, list) for value in change) and len({len(value) for value in change}) == 1:
        return [merge(Change(*values)) for values in zip(*change, strict=True)]
    return change.converted


def _field(change: Change, key: str) -> Any:
    values = [value[key] for value in change if key in value]
    return merge(Change(*values)) if len(values) == len(change) else change.converted[key]
