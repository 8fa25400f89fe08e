"""JSON Merge Patch (RFC 7386): the patch has the shape of the object that it changes.

    merge({"spec": {"a": 1, "b": 2}}, {"spec": {"a": null, "c": [3]}})     {"spec": {"b": 2, "c": [3]}}

Objects are merged field by field and null deletes a field. Every other value, lists included, replaces the old one. The input
document is never modified; the result shares the parts that the patch does not touch.
"""

from __future__ import annotations

from typing import Any

from probate.core import errors


def apply(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """Returns the object with the patch merged in. Raises `BadRequest` if the patch is not an object."""
    if not isinstance(patch, dict):
        raise errors.BadRequest('a merge patch is an object with the fields to change, such as {"data": {"a": "1"}}')
    merged: dict[str, Any] = merge(document, patch)
    return merged


def merge(target: Any, patch: Any) -> Any:
    """Implements MergePatch of the RFC for any JSON values."""
    if not isinstance(patch, dict):
        return patch
    merged = target.copy() if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged
