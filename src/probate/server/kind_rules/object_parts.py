"""Subresources that write one part of the object and leave the rest unchanged.

finalize              a namespace's spec.finalizers
approval              a certificate signing request's conditions, and its metadata
ephemeralcontainers   a pod's ephemeral containers
resize                the resources of a pod's containers
"""

from __future__ import annotations

from probate.api.apply.ownable_part import OwnablePart
from probate.api.objects import Object
from probate.kinds.certificates import strategy as certificate_strategy
from probate.kinds.core.pods import strategy as pod_strategy

PARTIAL_SUBRESOURCES = frozenset({"finalize", "approval", "ephemeralcontainers", "resize"})


def ownable_part(name: str) -> OwnablePart:
    """Returns the part of the object that a write through this subresource can own."""
    return OwnablePart(included=frozenset({"metadata", "status"} if name == "approval" else {"spec"}))


def merge_subresource(subresource: str, new: Object, old: Object, *, now: str) -> Object:
    """Returns the old object with only this subresource's part of the new one. `now` is an RFC 3339 time in seconds."""
    if subresource == "approval":
        return certificate_strategy.update_approval(new, old, now=now)
    changed = {**old, "metadata": {**old["metadata"], "resourceVersion": new["metadata"].get("resourceVersion", "")}}
    if subresource == "finalize":
        return {**changed, "spec": _with(old, new, "spec", field="finalizers")}
    changed["spec"] = new.get("spec") or {}
    prepare = pod_strategy.update_ephemeral_containers if subresource == "ephemeralcontainers" else pod_strategy.update_resize
    prepare(changed, old)
    return changed


def _with(old: Object, new: Object, key: str, *, field: str) -> Object:
    """Returns a part of the old object with one list from the new object. An empty list is removed."""
    others = {name: value for name, value in (old.get(key) or {}).items() if name != field}
    value = (new.get(key) or {}).get(field)
    return {**others, field: value} if value else others
