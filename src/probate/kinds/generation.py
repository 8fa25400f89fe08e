"""Maintains `metadata.generation`, the counter of changes to the desired state that controllers report as observed.

Kubernetes decides for each kind whether it has a generation and which fields increment it. A status change never does.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.kind import Strategy
from probate.kinds.shared.object_fields import below, ensure_child


def initialize(strategy: Strategy, object_: Object) -> None:
    """Sets the first generation of a new object, if its kind has generations."""
    is_first = strategy.generation_fields is not None and strategy.first_generation
    if is_first and (metadata := ensure_child(object_, "metadata")) is not None:
        metadata["generation"] = 1


def preserve(new: Object, old: Object) -> None:
    """Copies the generation of the old object: clients cannot set it."""
    metadata = ensure_child(new, "metadata")
    if metadata is None:
        return
    metadata.pop("generation", None)
    generation = (below(old, "metadata") or {}).get("generation")
    if isinstance(generation, int) and generation:
        metadata["generation"] = generation


def advance(strategy: Strategy, new: Object, old: Object) -> None:
    """Copies the generation of the old object and increments it if the desired state changed."""
    preserve(new, old)
    metadata = ensure_child(new, "metadata")
    if metadata is not None and _has_changed(strategy, new, old):
        metadata["generation"] = metadata.get("generation", 0) + 1


def _has_changed(strategy: Strategy, new: Object, old: Object) -> bool:
    if any(new.get(name) != old.get(name) for name in strategy.generation_fields or ()):
        return True
    name = strategy.generation_metadata
    return bool(name) and (below(new, "metadata", name) or {}) != (below(old, "metadata", name) or {})
