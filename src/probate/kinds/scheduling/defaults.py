"""Priority classes, runtime classes and claims of devices: what the scheduler goes by."""

from __future__ import annotations

from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import Object, below, child, fill, fill_zero, items, made


def default_priority_class(priority_class: Object) -> None:
    """Fill a PriorityClass."""
    fill(priority_class, preemptionPolicy="PreemptLowerPriority")


def default_runtime_class(runtime_class: Object) -> None:
    """Write a RuntimeClass's amounts as all amounts are written."""
    quantity_defaults.settle_lists(child(runtime_class, "overhead"), "podFixed")


def default_resource_claim(claim: Object) -> None:
    """Fill a ResourceClaim."""
    _default_device_claim(made(claim, "spec"))


def default_resource_claim_template(template: Object) -> None:
    """Fill a ResourceClaimTemplate."""
    if (spec := made(template, "spec")) is not None:
        _default_device_claim(made(spec, "spec"))


def default_resource_slice(resource_slice: Object) -> None:
    """Write the amounts of a ResourceSlice's devices as all amounts are written."""
    for device in items(child(resource_slice, "spec"), "devices"):
        for capacity in (child(device, "capacity") or {}).values():
            if isinstance(capacity, dict):
                quantity_defaults.settle(capacity, "value")


def _default_device_claim(spec: Object | None) -> None:
    for request in items(below(spec, "devices"), "requests"):
        if (exactly := child(request, "exactly")) is not None:
            _default_request(exactly)
        for alternative in items(request, "firstAvailable"):
            _default_request(alternative)


def _default_request(request: Object) -> None:
    """One device, unless all or another number is asked for."""
    fill_zero(request, allocationMode="ExactCount")
    if request["allocationMode"] == "ExactCount":
        fill_zero(request, count=1)
    for toleration in items(request, "tolerations"):
        fill_zero(toleration, operator="Equal")
