"""Which kinds are converted, and how.

`to_stored` takes an object of the version that is served and has been defaulted; `from_stored` takes a stored one. Both make a new
object and leave the one they are given alone, and keep whatever both versions have. Neither ever fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api.gvk import GroupVersionKind
from probate.api.schema.node import Schema
from probate.kinds import omitempty
from probate.kinds.autoscaling import conversion as autoscaling_conversion
from probate.kinds.builtin import catalog
from probate.kinds.events import conversion as event_conversion

Object = dict[str, Any]


class Conversion(NamedTuple):
    """The two ways between a version that is served and the one that is stored."""

    to_stored: Callable[[Object], Object]
    from_stored: Callable[[Object], Object]


_CONVERSIONS = {
    GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(
        autoscaling_conversion.to_v2, autoscaling_conversion.from_v2
    ),
    GroupVersionKind("events.k8s.io", "v1", "Event"): Conversion(event_conversion.to_core, event_conversion.from_core),
}


def stored(kind: GroupVersionKind, object_: Object) -> Object:
    """The object as it is stored."""
    return _CONVERSIONS[kind].to_stored(object_)


def served(kind: GroupVersionKind, object_: Object) -> Object:
    """The object as this version shows it."""
    made = _CONVERSIONS[kind].from_stored(object_)
    schema = catalog.schema(*kind) or Schema()
    omitempty.drop(made, schema)  # what one version always writes, another may leave out
    omitempty.write(made, schema)
    return made


def kinds() -> frozenset[GroupVersionKind]:
    """All that are converted."""
    return frozenset(_CONVERSIONS)
