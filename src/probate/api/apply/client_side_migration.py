"""Migration from client-side apply to server-side apply with kubectl.

Client-side `kubectl apply` stores the last applied document in an annotation. kubectl may take over the fields that the annotation
sets and that still have these values, from any manager (usually itself, as the manager of updates). As long as an object has the
annotation, server-side apply keeps it up to date, so that a user can go back.
"""

from __future__ import annotations

import orjson

from probate.api.apply import comparison, extraction, field_sets
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.schema_shapes import Shape
from probate.api.objects import Object

KUBECTL = "kubectl"
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def _last_applied(object_: Object) -> str | None:
    value = (object_["metadata"].get("annotations") or {}).get(LAST_APPLIED_ANNOTATION)
    return value if isinstance(value, str) else None


def transferable_fields(live: Object, shape: Shape, version: str) -> FieldSet:
    """Returns the fields that kubectl may take over: those it applied last, client-side, and that have not changed since."""
    try:
        last_applied = orjson.loads(_last_applied(live) or "null")
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(last_applied, dict) or last_applied.get("apiVersion") != version:
        return {}
    try:
        fields = extraction.extract_fields(last_applied, shape)
    except extraction.SchemaMismatch:
        return {}
    changes = comparison.compare(last_applied, live, shape)
    return field_sets.difference(field_sets.difference(fields, changes.changed), changes.removed)


def update_last_applied(object_: Object, document: Object) -> Object:
    """Returns the object with the document in its last-applied annotation, if it has the annotation."""
    if _last_applied(object_) is None:
        return object_
    meta = object_["metadata"]
    document_meta = document.get("metadata") or {}
    annotations = {key: value for key, value in (document_meta.get("annotations") or {}).items() if key != LAST_APPLIED_ANNOTATION}
    bare = {**document, "metadata": {**document_meta, **({"annotations": annotations} if "annotations" in document_meta else {})}}
    text = orjson.dumps(bare, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    return {**object_, "metadata": {**meta, "annotations": {**meta["annotations"], LAST_APPLIED_ANNOTATION: text}}}
