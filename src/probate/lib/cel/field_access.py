"""Compiles `a.b`, `has(a.b)` and `a.?b` for values with fields: maps and `Lazy` values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.evaluation import Run
from probate.lib.cel.values import NONE, Optional, type_name

Code: TypeAlias = Callable[[Run], Any]
ABSENT: Any = object()


class Lazy:
    """A value that computes its fields on access."""

    def find(self, name: str, run: Run) -> Any:
        """Returns the field, or `ABSENT`."""
        raise NotImplementedError


def compile_select(operand: Code, field: str) -> Code:
    """Compiles `a.b`: the field; an error if it does not exist."""

    def run(run: Run) -> Any:
        holder = operand(run)
        if type(holder) is dict and field in holder:
            return holder[field]
        value = _find_field(holder, field, run)
        if value is ABSENT:
            raise CelError(f"no such key: {field}")
        return value

    return run


def compile_has(operand: Code, field: str) -> Code:
    """Compiles `has(a.b)`: whether the field exists."""

    def run(run: Run) -> bool:
        holder = operand(run)
        if isinstance(holder, Optional):
            holder = holder.value if holder is not NONE else {}
        return _find_field(holder, field, run) is not ABSENT

    return run


def compile_optional_select(operand: Code, field: str) -> Code:
    """Compiles `a.?b`: an optional with the field, if it exists."""

    def run(run: Run) -> Optional:
        holder = operand(run)
        if isinstance(holder, Optional):
            if holder is NONE:
                return NONE
            holder = holder.value
        value = _find_field(holder, field, run)
        return NONE if value is ABSENT else Optional(value)

    return run


def _find_field(holder: Any, field: str, run: Run) -> Any:
    if isinstance(holder, dict):
        return holder.get(field, ABSENT)
    if isinstance(holder, Lazy):
        return holder.find(field, run)
    if holder is None:
        raise CelError(f"no such key: {field}")
    raise NoOverload(f"{type_name(holder)}.{field}")
