"""Which class is everybody's: of storage, or of Ingresses. Annotations say so; of several that say it, the newest counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

OF_STORAGE = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
OF_INGRESSES = ("ingressclass.kubernetes.io/is-default-class",)
CLAIMS_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
INGRESS_OLD_CLASS = "kubernetes.io/ingress.class"
"""Annotations that name a class for an object, as a field does today."""


def default_of(classes: Iterable[Object], annotations: tuple[str, ...]) -> Object | None:
    """The class that is everybody's. Of two that are equally old, the one whose name comes first."""
    found = sorted((one for one in classes if _is_default(one, annotations)), key=lambda one: str(one["metadata"]["name"]))
    return max(found, key=lambda one: str(one["metadata"]["creationTimestamp"]), default=None)


def has_note(object_: Object, annotation: str) -> bool:
    """Whether the object has this annotation, whatever it says."""
    return annotation in (object_["metadata"].get("annotations") or {})


def _is_default(class_: Object, annotations: tuple[str, ...]) -> bool:
    noted = class_["metadata"].get("annotations") or {}
    return any(noted.get(one) == "true" for one in annotations)
