"""Warns about fields of built-in kinds that are allowed but questionable.

    warnings.create("", "Pod", pod)                  about a new object
    warnings.update("", "Service", new, old=old)     about a changed one

The objects have passed `validation`. A response carries at most `MAX_WARNINGS` warnings; no more are computed.
"""

from __future__ import annotations

from functools import cache
from itertools import islice

from probate.kinds import registry
from probate.kinds.kind import Warnings
from probate.kinds.shared import object_warnings
from probate.kinds.shared.field_checks import Value

MAX_WARNINGS = 20


def has_any(group: str, kind: str) -> bool:
    """Reports whether a kind can have warnings, without loading the module that computes them."""
    row = registry.find(group, kind)
    return row is not None and row.warnings is not None


def create(group: str, kind: str, object_: Value) -> list[str]:
    """Returns the warnings about a new object."""
    found = _of(group, kind)
    return list(islice(found.create(object_), MAX_WARNINGS)) if found else []


def update(group: str, kind: str, new: Value, *, old: Value) -> list[str]:
    """Returns the warnings about an object that replaces `old`."""
    found = _of(group, kind)
    return list(islice(found.update(new, old), MAX_WARNINGS)) if found and found.update else []


def custom(new: Value, old: Value | None = None) -> list[str]:
    """Returns the warnings about a custom resource."""
    return list(islice(object_warnings.of_custom(new, old), MAX_WARNINGS))


@cache
def _of(group: str, kind: str) -> Warnings | None:
    row = registry.find(group, kind)
    return None if row is None or row.warnings is None else row.warnings()
