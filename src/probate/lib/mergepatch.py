"""JSON merge patch (RFC 7386): a patch looks like the object it changes.

    merge({"spec": {"a": 1, "b": 2}}, {"spec": {"a": null, "c": [3]}})     {"spec": {"b": 2, "c": [3]}}

A field of an object is merged, null deletes it, anything else, lists too, is taken as it is. The document given is never
changed; what the patch leaves alone is shared with the result.
"""

from __future__ import annotations

from typing import Any

from probate.core import errors


def apply(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The object with the patch merged in. Raises `BadRequest` if the patch is no object."""
    if not isinstance(patch, dict):
        raise errors.BadRequest('a merge patch is an object with the fields to change, such as {"data": {"a": "1"}}')
    merged: dict[str, Any] = merge(document, patch)
    return merged


def merge(target: Any, patch: Any) -> Any:
    """The RFC's MergePatch, for any JSON values."""
    if not isinstance(patch, dict):
        return patch
    merged = target.copy() if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged
