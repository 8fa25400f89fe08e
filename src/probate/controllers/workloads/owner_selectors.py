"""Selectors of owners: which objects in the owner's namespace are, or may become, its dependents."""

from __future__ import annotations

from collections.abc import Callable

from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector

SelectorOf = Callable[[Object], LabelSelector]


def label_map_selector(owner: Object) -> LabelSelector:
    """Returns the selector of a ReplicationController, which is a map of labels. A missing selector selects nothing."""
    labels = owner["spec"].get("selector")
    return _compile({"matchLabels": labels} if labels else None)


def label_selector(owner: Object) -> LabelSelector:
    """Returns the selector of all other owners."""
    return _compile(owner["spec"].get("selector"))


def matches(selector: LabelSelector, object_: Object) -> bool:
    """Returns whether the selector matches the object's labels."""
    return selector.matches(object_["metadata"].get("labels") or {})


def _compile(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector, FieldPath("spec.selector"))[0]
