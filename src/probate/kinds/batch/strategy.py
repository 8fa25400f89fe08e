"""Jobs: a selector that finds the pods of this job and of no other, made from its uid."""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, below, fill, made, text

_PREFIX = "batch.kubernetes.io/"


def create_job(job: Object, *, uid: str) -> None:
    """Prepare a new Job, unless it brings a selector of its own and says so."""
    spec = made(job, "spec")
    if spec is None or spec.get("manualSelector") is True:
        return
    template = made(spec, "template")
    metadata = None if template is None else made(template, "metadata")
    labels = None if metadata is None else made(metadata, "labels")
    selector = made(spec, "selector")
    matched = None if selector is None else made(selector, "matchLabels")
    if labels is None or matched is None:
        return
    name = text(below(job, "metadata") or {}, "name")
    fill(labels, **{f"{_PREFIX}controller-uid": uid, f"{_PREFIX}job-name": name, "controller-uid": uid, "job-name": name})
    fill(matched, **{f"{_PREFIX}controller-uid": uid})
