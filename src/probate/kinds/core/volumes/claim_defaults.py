"""Sets the defaults of claims: PersistentVolumeClaims, claim templates of StatefulSets, and ephemeral volumes of pods."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import ensure_child, fill, fill_zero


def default_claim(claim: Object) -> None:
    """Sets the defaults of a PersistentVolumeClaim."""
    default_claim_spec(ensure_child(claim, "spec"))
    if (status := ensure_child(claim, "status")) is not None:
        fill_zero(status, phase="Pending")
        quantity_defaults.normalize_lists(status, "capacity", "allocatedResources")


def default_claim_template(claim: Object) -> None:
    """Sets the defaults of a claim template of a StatefulSet, which is a complete object with apiVersion and kind."""
    fill_zero(claim, apiVersion="v1", kind="PersistentVolumeClaim")
    default_claim(claim)


def default_claim_spec(spec: Object | None) -> None:
    """Sets the defaults of a claim's spec."""
    if spec is None:
        return
    fill(spec, volumeMode="Filesystem")
    quantity_defaults.normalize_lists(ensure_child(spec, "resources"), "limits", "requests")
