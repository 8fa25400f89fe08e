"""Whether a FlowSchema names a level that is there: its one condition."""

from __future__ import annotations

from typing import Any

TYPE = "Dangling"

Object = dict[str, Any]


def level_of(schema: Object) -> str:
    """The level that the FlowSchema names."""
    name: str = ((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name") or ""
    return name


def condition(level: str, *, is_there: bool) -> Object:
    """The condition of a FlowSchema that names this level, without its time."""
    if is_there:
        return {"type": TYPE, "status": "False", "reason": "Found", "message": f'its priority level "{level}" is there'}
    return {"type": TYPE, "status": "True", "reason": "NotFound", "message": f'its priority level "{level}" is not there'}
