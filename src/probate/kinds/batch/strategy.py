"""Prepares Jobs: generates a selector from the Job's UID, so that it matches only the pods of this Job."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import below, ensure_child, fill, text

_PREFIX = "batch.kubernetes.io/"


def create_job(job: Object, *, uid: str) -> None:
    """Prepares a new Job, unless it has `manualSelector` and its own selector."""
    spec = ensure_child(job, "spec")
    if spec is None or spec.get("manualSelector") is True:
        return
    template = ensure_child(spec, "template")
    metadata = None if template is None else ensure_child(template, "metadata")
    labels = None if metadata is None else ensure_child(metadata, "labels")
    selector = ensure_child(spec, "selector")
    matched = None if selector is None else ensure_child(selector, "matchLabels")
    if labels is None or matched is None:
        return
    name = text(below(job, "metadata") or {}, "name")
    fill(labels, **{f"{_PREFIX}controller-uid": uid, f"{_PREFIX}job-name": name, "controller-uid": uid, "job-name": name})
    fill(matched, **{f"{_PREFIX}controller-uid": uid})
