"""From client-side apply to server-side apply, with kubectl.

`kubectl apply` used to note what it had applied in an annotation. What stands there and is still so in the object was kubectl's:
it may take that over from whoever owns it (itself, as one who updates). As long as there is such an annotation it is kept up to
date, so that one may also go back.
"""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.apply import comparison, extraction, field_sets
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.schema_shapes import Shape

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

Object = dict[str, Any]


def _noted(object_: Object) -> str | None:
    found = (object_["metadata"].get("annotations") or {}).get(ANNOTATION)
    return found if isinstance(found, str) else None


def free(live: Object, shape: Shape, version: str) -> FieldSet:
    """What kubectl may take over: what it applied last, as far as it is still so."""
    try:
        last = orjson.loads(_noted(live) or "null")
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != version:
        return {}
    try:
        fields = extraction.fields_of(last, shape)
    except extraction.Unfit:
        return {}
    differs = comparison.difference(last, live, shape)
    return field_sets.difference(field_sets.difference(fields, differs.changed), differs.removed)


def noted(object_: Object, document: Object) -> Object:
    """The object, with the document in its annotation if it has one."""
    if _noted(object_) is None:
        return object_
    meta = object_["metadata"]
    about = document.get("metadata") or {}
    others = {key: value for key, value in (about.get("annotations") or {}).items() if key != ANNOTATION}
    bare = {**document, "metadata": {**about, **({"annotations": others} if "annotations" in about else {})}}
    text = orjson.dumps(bare, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    return {**object_, "metadata": {**meta, "annotations": {**meta["annotations"], ANNOTATION: text}}}
