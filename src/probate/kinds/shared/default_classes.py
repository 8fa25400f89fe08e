"""Finds the default StorageClass or IngressClass: annotations mark it; of several, the newest counts."""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.objects import Object

STORAGE_CLASS_ANNOTATIONS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
INGRESS_CLASS_ANNOTATIONS = ("ingressclass.kubernetes.io/is-default-class",)
CLAIM_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
INGRESS_OLD_ANNOTATION = "kubernetes.io/ingress.class"
"""Annotations that name the class of an object, since replaced by a field."""


def defaults(classes: Iterable[Object], annotations: tuple[str, ...]) -> list[Object]:
    """Returns all classes that are marked as the default."""
    return [one for one in classes if _is_default(one, annotations)]


def find_default(classes: Iterable[Object], annotations: tuple[str, ...]) -> Object | None:
    """Returns the default class. Of two with the same age, the one whose name sorts first."""
    found = sorted(defaults(classes, annotations), key=lambda one: str(one["metadata"]["name"]))
    return max(found, key=lambda one: str(one["metadata"]["creationTimestamp"]), default=None)


def has_annotation(object_: Object, annotation: str) -> bool:
    """Reports whether the object has this annotation, whatever its value."""
    return annotation in (object_["metadata"].get("annotations") or {})


def _is_default(class_: Object, annotations: tuple[str, ...]) -> bool:
    noted = class_["metadata"].get("annotations") or {}
    return any(noted.get(one) == "true" for one in annotations)
