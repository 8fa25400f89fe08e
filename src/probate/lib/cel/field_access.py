"""`a.b`, `has(a.b)` and `a.?b` on whatever has fields: maps and what is `Lazy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.evaluation import Run
from probate.lib.cel.values import NONE, Optional, type_name

Code: TypeAlias = Callable[[Run], Any]
ABSENT: Any = object()


class Lazy:
    """Something with fields that are made when they are asked for."""

    def find(self, name: str, run: Run) -> Any:
        """The field, or `ABSENT`."""
        raise NotImplementedError


def selected(operand: Code, field: str) -> Code:
    """The field. An error if there is none."""

    def run(run: Run) -> Any:
        holder = operand(run)
        if type(holder) is dict and field in holder:
            return holder[field]
        found = _find(holder, field, run)
        if found is ABSENT:
            raise CelError(f"no such key: {field}")
        return found

    return run


def tested(operand: Code, field: str) -> Code:
    """Whether there is one."""

    def run(run: Run) -> bool:
        holder = operand(run)
        if isinstance(holder, Optional):
            holder = holder.value if holder is not NONE else {}
        return _find(holder, field, run) is not ABSENT

    return run


def optional(operand: Code, field: str) -> Code:
    """The field, if there is one."""

    def run(run: Run) -> Optional:
        holder = operand(run)
        if isinstance(holder, Optional):
            if holder is NONE:
                return NONE
            holder = holder.value
        found = _find(holder, field, run)
        return NONE if found is ABSENT else Optional(found)

    return run


def _find(holder: Any, field: str, run: Run) -> Any:
    if isinstance(holder, dict):
        return holder.get(field, ABSENT)
    if isinstance(holder, Lazy):
        return holder.find(field, run)
    if holder is None:
        raise CelError(f"no such key: {field}")
    raise NoOverload(f"{type_name(holder)}.{field}")
