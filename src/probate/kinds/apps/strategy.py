"""Prepares kinds of the apps group for a create or an update."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.apps.defaults import TEMPLATE_GENERATION
from probate.kinds.shared.object_fields import below, child, ensure_child, text


def create_daemon_set(daemon_set: Object) -> None:
    """Prepares a new DaemonSet: an annotation counts the generations of its template."""
    _set_template_generation(daemon_set, "1")


def update_daemon_set(new: Object, old: Object) -> None:
    """Prepares a changed DaemonSet: increments the template generation if the template has changed."""
    generation = text(below(old, "metadata", "annotations") or {}, TEMPLATE_GENERATION)
    count = int(generation) if generation.isdecimal() and len(generation) < 19 else 0
    has_changed = (child(new, "spec") or {}).get("template") != (child(old, "spec") or {}).get("template")
    _set_template_generation(new, str(count + 1 if has_changed else count))


def _set_template_generation(daemon_set: Object, generation: str) -> None:
    metadata = ensure_child(daemon_set, "metadata")
    if metadata is not None and (annotations := ensure_child(metadata, "annotations")) is not None:
        annotations[TEMPLATE_GENERATION] = generation
