"""What Kubernetes does not keep: nulls, empty lists and empty maps say nothing that an absent field does not.

An empty object is another matter: `emptyDir: {}` or `podSelector: {}` means something. Which names hold maps is therefore listed.
Places where users keep JSON of their own, and schemas, are left as they are.
"""

from __future__ import annotations

from typing import Any

from probate.machinery.defaulting.fields import Object

_MAPS = frozenset(
    (
        *("labels", "annotations", "matchLabels", "nodeSelector", "data", "binaryData", "stringData"),
        *("limits", "requests", "capacity", "allocatable", "hard", "used", "overhead", "podFixed"),
        *("default", "defaultRequest", "min", "max", "maxLimitRequestRatio"),
        *("volumeAttributes", "attachmentMetadata", "options"),
    )
)
_OPAQUE = frozenset(("openAPIV3Schema", "fieldsV1"))
_OPAQUE_PARENTS = {("apps", "ControllerRevision"): frozenset(("data",)), ("resource.k8s.io", ""): frozenset(("parameters", "data"))}


def drop(group: str, kind: str, object_: Object) -> None:
    """Remove what says nothing from the object, at any depth."""
    opaque = _OPAQUE_PARENTS.get((group, kind)) or _OPAQUE_PARENTS.get((group, "")) or frozenset()
    _drop(object_, opaque | _OPAQUE)


def _drop(object_: Object, opaque: frozenset[str]) -> None:
    empty = [key for key, value in object_.items() if _is_nothing(key, value) and key not in opaque]
    for key in empty:
        del object_[key]
    for key, value in object_.items():
        if key in opaque:
            continue
        if type(value) is dict and key not in _MAPS:
            _drop(value, opaque)
        elif type(value) is list:
            _drop_in_list(value, opaque)


def _drop_in_list(items: list[Any], opaque: frozenset[str]) -> None:
    for item in items:
        if type(item) is dict:
            _drop(item, opaque)


def _is_nothing(key: str, value: object) -> bool:
    return value is None or value == [] or (value == {} and key in _MAPS)
