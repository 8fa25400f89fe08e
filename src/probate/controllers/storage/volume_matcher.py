"""Decides which volume fits a claim. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from probate.api import quantities, tenants
from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.selectors import label_selectors
from probate.client.informers import NamespacedName
from probate.client.resources import is_deleting
from probate.kinds.shared import default_classes

BOUND_BY_US = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
MIGRATED_TO = "pv.kubernetes.io/migrated-to"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
DEFAULT_CLASS = default_classes.STORAGE_CLASS_ANNOTATIONS[0]


def annotation(object_: Object, name: str) -> str:
    """Returns the value of an annotation; empty if it is not set."""
    text: str = (object_["metadata"].get("annotations") or {}).get(name) or ""
    return text


def class_of(object_: Object) -> str:
    """Returns the name of the StorageClass that a claim requests or a volume has."""
    name: str = object_["spec"].get("storageClassName") or ""
    return name


def attributes_class_of(object_: Object) -> str:
    """Returns the name of the VolumeAttributesClass that a claim requests or a volume has."""
    name: str = object_["spec"].get("volumeAttributesClassName") or ""
    return name


def claim_of(volume: Object) -> Object:
    """Returns the volume's reference to its claim, which may not be bound yet; empty if there is none."""
    reference: Object = volume["spec"].get("claimRef") or {}
    return reference


def claim_name(volume: Object) -> NamespacedName:
    """Returns the name of the claim that the volume refers to. No claim has it if the reference lacks a namespace or a name."""
    reference = claim_of(volume)
    return NamespacedName(reference.get("namespace") or "", reference.get("name") or "")


def is_for(volume: Object, claim: Object) -> bool:
    """Whether the volume refers to this claim, or is reserved for a claim of its name."""
    reference, meta = claim_of(volume), claim["metadata"]
    is_named = (reference.get("namespace"), reference.get("name")) == (meta["namespace"], meta["name"])
    return is_named and reference.get("uid") in {None, "", meta["uid"]}


def is_in_reach(volume: Object, claim: Object) -> bool:
    """Whether the claim may have the volume: that of a tenant is for claims of the tenant only."""
    return tenants.tenant_of(volume) in {"", tenants.tenant_of(claim)}


def adopted(volume: Object, claim: Object) -> Object:
    """Returns the volume as it is once it is bound to the claim: a platform's volume becomes that of the claim's tenant."""
    tenant, meta = tenants.tenant_of(claim), volume["metadata"]
    if not tenant or tenants.tenant_of(volume):
        return volume
    return {**volume, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), tenants.TENANT_LABEL: tenant}}}


def fits(volume: Object, claim: Object) -> bool:
    """Whether the volume is what the claim requests."""
    spec, requested = volume["spec"], claim["spec"]
    return (
        not is_deleting(volume)
        and is_in_reach(volume, claim)
        and class_of(volume) == class_of(claim)
        and _has_attributes(volume, claim)
        and set(requested.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and (spec.get("volumeMode") or "Filesystem") == (requested.get("volumeMode") or "Filesystem")
        and size(volume) >= _requested_size(claim)
    )


def _has_attributes(volume: Object, claim: Object) -> bool:
    """Whether the volume has the claim's VolumeAttributesClass. A volume provisioned for the claim need not name it."""
    is_provisioned_for_it = claim_of(volume).get("uid") == claim["metadata"]["uid"]
    return is_provisioned_for_it or attributes_class_of(volume) == attributes_class_of(claim)


def best(volumes: Iterable[Object], claim: Object) -> Object | None:
    """Returns the volume for the claim: one that is reserved for it, or else the smallest available one."""
    fitting = [volume for volume in volumes if fits(volume, claim)]
    reserved = [volume for volume in fitting if is_for(volume, claim)]
    if reserved:
        return reserved[0]
    selector = claim["spec"].get("selector")
    compiled, _ = label_selectors.compile_object({} if selector is None else selector, FieldPath("spec.selector"))
    available = [v for v in fitting if not claim_of(v) and (v.get("status") or {}).get("phase") == "Available"]
    matching = [v for v in available if compiled.matches(v["metadata"].get("labels") or {})]
    return min(matching, key=lambda volume: (size(volume), volume["metadata"]["name"]), default=None)


def default_class(classes: Iterable[Object], claim: Object) -> Object | None:
    """Returns the default StorageClass for a claim: of those that apply to its tenant, if it is a tenant's."""
    tenant = tenants.tenant_of(claim)
    applicable = [class_ for class_ in classes if tenants.applies_to(class_, tenant)]
    return default_classes.find_default(applicable, default_classes.STORAGE_CLASS_ANNOTATIONS)


def size(volume: Object) -> Fraction:
    """Returns the volume's capacity."""
    return quantities.value_or_zero((volume["spec"].get("capacity") or {}).get("storage"))


def _requested_size(claim: Object) -> Fraction:
    return quantities.value_or_zero(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage"))
