"""Converts objects of built-in kinds between a served version and the stored one."""

from __future__ import annotations

from functools import cache

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.kinds import omitempty, registry
from probate.kinds.builtin import catalog
from probate.kinds.kind import Conversion


def to_stored(kind: GroupVersionKind, object_: Object) -> Object:
    """Returns the object in the stored version. The given object has its defaults."""
    return _conversion(kind).to_stored(object_)


def from_stored(kind: GroupVersionKind, object_: Object) -> Object:
    """Returns a stored object in this version."""
    converted = _conversion(kind).from_stored(object_)
    schema = catalog.schema(*kind) or Schema()
    omitempty.drop(converted, schema)  # a field that one version always writes may be optional in another
    omitempty.write(converted, schema)
    return converted


def converted_kinds() -> frozenset[GroupVersionKind]:
    """Returns the kinds that are converted, each in the version that is served."""
    rows = registry.every_kind()
    return frozenset(GroupVersionKind(row.group, version, row.name) for row in rows for version in row.conversions)


@cache
def _conversion(kind: GroupVersionKind) -> Conversion:
    row = registry.find(kind.group, kind.kind)
    assert row is not None, kind  # noqa: S101 only kinds that `converted_kinds` names are converted
    return row.conversions[kind.version]()
