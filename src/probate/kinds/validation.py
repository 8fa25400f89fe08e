"""Validates objects of built-in kinds.

    kind = GroupVersionKind("apps", "v1", "Deployment")
    validation.create(kind, deployment)     the problems of a new object
    validation.update(kind, new, old)       the same, and changes of immutable fields
    validation.status(kind, new, old)       the problems of its status

`api.metadata` validates metadata; custom resources are validated by their schema. A kind without a `Validation` has no rules beyond
its schema.
"""

from __future__ import annotations

from functools import cache

from probate.api.field_errors import FieldError, limit_field_errors
from probate.api.gvk import GroupVersionKind
from probate.kinds import registry
from probate.kinds.kind import Validation
from probate.kinds.shared.field_checks import Value


def create(kind: GroupVersionKind, object_: Value) -> list[FieldError]:
    """Returns the problems of an object to be created."""
    checks = of(kind.group, kind.kind)
    return limit_field_errors(checks.create(object_)) if checks else []


def update(kind: GroupVersionKind, new: Value, old: Value) -> list[FieldError]:
    """Returns the problems of an object that replaces `old`. A problem that two checks find is reported once."""
    checks = of(kind.group, kind.kind)
    if checks is None:
        return []
    found = [
        *limit_field_errors((checks.new_on_update or checks.create)(new)),
        *limit_field_errors(checks.update(new, old) if checks.update else ()),
    ]
    return list(dict.fromkeys(found))


def status(kind: GroupVersionKind, new: Value, old: Value) -> list[FieldError]:
    """Returns the problems of the status of an object that replaces `old`."""
    checks = of(kind.group, kind.kind)
    return limit_field_errors(checks.status(new, old)) if checks and checks.status else []


def subresource(kind: GroupVersionKind, name: str, new: Value, *, old: Value) -> list[FieldError]:
    """Returns the problems of a write through another subresource, such as a Namespace's `finalize`."""
    checks = of(kind.group, kind.kind)
    check = checks.subresources.get(name) if checks else None
    return limit_field_errors(check(new, old)) if check else []


@cache
def of(group: str, kind: str) -> Validation | None:
    """Returns the checks of a kind."""
    row = registry.find(group, kind)
    return None if row is None or row.validation is None else row.validation()
