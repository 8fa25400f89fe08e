"""Parts of an object that are written apart from the rest: each path changes its part and nothing else.

finalize              a namespace's spec.finalizers
approval              a certificate signing request's conditions, and its metadata
ephemeralcontainers   a pod's containers for debugging
resize                the resources of a pod's containers
"""

from __future__ import annotations

from typing import Any

from probate.api.apply.ownable_part import Part
from probate.kinds.certificates import strategy as certificate_strategy
from probate.kinds.core.pods import strategy as pod_strategy

Object = dict[str, Any]

PARTS = frozenset({"finalize", "approval", "ephemeralcontainers", "resize"})


def part(name: str) -> Part:
    """What can be owned by writing this part."""
    return Part(only=frozenset({"metadata", "status"} if name == "approval" else {"spec"}))


def limited(part: str, new: Object, old: Object, *, now: str) -> Object:
    """The old object with only this part of the new one. `now` is an RFC 3339 time in seconds."""
    if part == "approval":
        return certificate_strategy.update_approval(new, old, now=now)
    changed = {**old, "metadata": {**old["metadata"], "resourceVersion": new["metadata"].get("resourceVersion", "")}}
    if part == "finalize":
        return {**changed, "spec": _with(old, new, "spec", "finalizers")}
    changed["spec"] = new.get("spec") or {}
    prepare = pod_strategy.update_ephemeral_containers if part == "ephemeralcontainers" else pod_strategy.update_resize
    prepare(changed, old)
    return changed


def _with(old: Object, new: Object, part: str, field: str) -> Object:
    """A part of the old object with a list of the new one. One that is empty is as good as none."""
    others = {name: value for name, value in (old.get(part) or {}).items() if name != field}
    wanted = (new.get(part) or {}).get(field)
    return {**others, field: wanted} if wanted else others
