"""Claims of storage: on their own, in a stateful set's templates, and inside a pod's ephemeral volume."""

from __future__ import annotations

from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import Object, fill, fill_zero, made


def default_claim(claim: Object) -> None:
    """Fill a PersistentVolumeClaim."""
    default_claim_spec(made(claim, "spec"))
    if (status := made(claim, "status")) is not None:
        fill_zero(status, phase="Pending")
        quantity_defaults.settle_lists(status, "capacity", "allocatedResources")


def default_claim_template(claim: Object) -> None:
    """Fill a claim inside a stateful set: a whole object, with a name of its own kind."""
    fill_zero(claim, apiVersion="v1", kind="PersistentVolumeClaim")
    default_claim(claim)


def default_claim_spec(spec: Object | None) -> None:
    """Fill what a claim asks for."""
    if spec is None:
        return
    fill(spec, volumeMode="Filesystem")
    quantity_defaults.settle_lists(made(spec, "resources"), "limits", "requests")
