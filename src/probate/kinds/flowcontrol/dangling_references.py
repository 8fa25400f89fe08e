"""Computes the `Dangling` condition of a FlowSchema: whether it names an existing priority level."""

from __future__ import annotations

from probate.api.objects import Object

TYPE = "Dangling"


def level_of(schema: Object) -> str:
    """Returns the level that the FlowSchema names."""
    name: str = ((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name") or ""
    return name


def condition(level: str, *, is_there: bool) -> Object:
    """Returns the condition of a FlowSchema that names this level, without its time."""
    if is_there:
        return {"type": TYPE, "status": "False", "reason": "Found", "message": f'its priority level "{level}" exists'}
    return {"type": TYPE, "status": "True", "reason": "NotFound", "message": f'its priority level "{level}" does not exist'}
