"""Parts of an object that are written apart from the rest: each path changes its part and nothing else.

finalize              a namespace's spec.finalizers
approval              a certificate signing request's conditions
ephemeralcontainers   a pod's containers for debugging
resize                the resources of a pod's containers
"""

from __future__ import annotations

from typing import Any

from probate.machinery.apply.parts import Part
from probate.machinery.preparation import pods

Object = dict[str, Any]

PARTS = frozenset({"finalize", "approval", "ephemeralcontainers", "resize"})


def part(name: str) -> Part:
    """What can be owned by writing this part."""
    return Part(only=frozenset({"status" if name == "approval" else "spec"}))


def limited(part: str, new: Object, old: Object) -> Object:
    """The old object with only this part of the new one."""
    changed = {**old, "metadata": {**old["metadata"], "resourceVersion": new["metadata"].get("resourceVersion", "")}}
    if part == "finalize":
        finalizers = (new.get("spec") or {}).get("finalizers") or []
        return {**changed, "spec": {**(old.get("spec") or {}), "finalizers": finalizers}}
    if part == "approval":
        conditions = (new.get("status") or {}).get("conditions") or []
        return {**changed, "status": {**(old.get("status") or {}), "conditions": conditions}}
    changed["spec"] = new.get("spec") or {}
    prepare = pods.update_ephemeral_containers if part == "ephemeralcontainers" else pods.update_resize
    prepare(changed, old)
    return changed
