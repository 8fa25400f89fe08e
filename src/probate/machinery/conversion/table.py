"""Which kinds are converted, and how.

`to_stored` takes an object of the version that is served and has been defaulted; `from_stored` takes a stored one. Both make a new
object and leave the one they are given alone, and keep whatever both versions have. Neither ever fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.machinery import builtin, emptiness
from probate.machinery.conversion import autoscaling, events
from probate.machinery.gvk import GroupVersionKind
from probate.machinery.schema import Schema

Object = dict[str, Any]


class Conversion(NamedTuple):
    """The two ways between a version that is served and the one that is stored."""

    to_stored: Callable[[Object], Object]
    from_stored: Callable[[Object], Object]


_CONVERSIONS = {
    GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(autoscaling.to_v2, autoscaling.from_v2),
    GroupVersionKind("events.k8s.io", "v1", "Event"): Conversion(events.to_core, events.from_core),
}


def stored(kind: GroupVersionKind, object_: Object) -> Object:
    """The object as it is stored."""
    return _CONVERSIONS[kind].to_stored(object_)


def served(kind: GroupVersionKind, object_: Object) -> Object:
    """The object as this version shows it."""
    made = _CONVERSIONS[kind].from_stored(object_)
    schema = builtin.schema(*kind) or Schema()
    emptiness.drop(made, schema)  # what one version always writes, another may leave out
    emptiness.write(made, schema)
    return made


def kinds() -> frozenset[GroupVersionKind]:
    """All that are converted."""
    return frozenset(_CONVERSIONS)
