"""Which volume a claim can have. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from probate.api import quantities
from probate.api.field_errors import Path
from probate.api.selectors import label_selectors
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.kinds.shared import default_classes

BOUND_BY_US = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
MIGRATED_TO = "pv.kubernetes.io/migrated-to"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
DEFAULT_CLASS = default_classes.OF_STORAGE[0]


def annotation(object_: Object, name: str) -> str:
    """What an annotation says; nothing if it is not there."""
    text: str = (object_["metadata"].get("annotations") or {}).get(name) or ""
    return text


def class_of(object_: Object) -> str:
    """The name of the class that a claim asks for or a volume has."""
    name: str = object_["spec"].get("storageClassName") or ""
    return name


def attributes_class_of(object_: Object) -> str:
    """The name of the VolumeAttributesClass that a claim asks for or a volume has."""
    name: str = object_["spec"].get("volumeAttributesClassName") or ""
    return name


def claim_of(volume: Object) -> Object:
    """Which claim has the volume, or will have it; empty if none."""
    found: Object = volume["spec"].get("claimRef") or {}
    return found


def is_for(volume: Object, claim: Object) -> bool:
    """Whether the volume is this claim's, or is kept for a claim of its name."""
    reference, meta = claim_of(volume), claim["metadata"]
    is_named = (reference.get("namespace"), reference.get("name")) == (meta["namespace"], meta["name"])
    return is_named and reference.get("uid") in {None, "", meta["uid"]}


def fits(volume: Object, claim: Object) -> bool:
    """Whether the volume is what the claim asks for."""
    spec, asked = volume["spec"], claim["spec"]
    return (
        not is_deleting(volume)
        and class_of(volume) == class_of(claim)
        and _has_attributes(volume, claim)
        and set(asked.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and (spec.get("volumeMode") or "Filesystem") == (asked.get("volumeMode") or "Filesystem")
        and size(volume) >= _wanted(claim)
    )


def _has_attributes(volume: Object, claim: Object) -> bool:
    """Whether the volume has the VolumeAttributesClass of the claim. One that was made for the claim need not say so."""
    is_made_for_it = claim_of(volume).get("uid") == claim["metadata"]["uid"]
    return is_made_for_it or attributes_class_of(volume) == attributes_class_of(claim)


def best(volumes: Iterable[Object], claim: Object) -> Object | None:
    """The volume for the claim: one that is kept for it, or else the smallest that nobody has."""
    fitting = [one for one in volumes if fits(one, claim)]
    kept = [one for one in fitting if is_for(one, claim)]
    if kept:
        return kept[0]
    selector = claim["spec"].get("selector")
    chosen, _ = label_selectors.compile_object({} if selector is None else selector, Path("spec.selector"))
    free = [one for one in fitting if not claim_of(one) and (one.get("status") or {}).get("phase") == "Available"]
    matching = [one for one in free if chosen.matches(one["metadata"].get("labels") or {})]
    return min(matching, key=lambda one: (size(one), one["metadata"]["name"]), default=None)


def default_class(classes: Iterable[Object]) -> Object | None:
    """The class of claims that name none."""
    return default_classes.default_of(classes, default_classes.OF_STORAGE)


def size(volume: Object) -> Fraction:
    """How much the volume holds."""
    return quantities.value_of((volume["spec"].get("capacity") or {}).get("storage"))


def _wanted(claim: Object) -> Fraction:
    return quantities.value_of(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage"))
