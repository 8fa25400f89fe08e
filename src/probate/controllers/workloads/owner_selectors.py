"""What an owner's selector means: which of the objects in its namespace are, or may become, its dependents."""

from __future__ import annotations

from collections.abc import Callable

from probate.api.field_errors import Path
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector
from probate.client.objects import Object

SelectorOf = Callable[[Object], LabelSelector]


def of_labels(owner: Object) -> LabelSelector:
    """The selector of a ReplicationController, which is a map of labels. None selects nothing."""
    labels = owner["spec"].get("selector")
    return _compiled({"matchLabels": labels} if labels else None)


def of_expressions(owner: Object) -> LabelSelector:
    """The selector of all others."""
    return _compiled(owner["spec"].get("selector"))


def matches(selector: LabelSelector, object_: Object) -> bool:
    """Whether the object is selected."""
    return selector.matches(object_["metadata"].get("labels") or {})


def _compiled(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector, Path("spec.selector"))[0]
