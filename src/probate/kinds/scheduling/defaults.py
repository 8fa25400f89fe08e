"""Sets the defaults of PriorityClasses, RuntimeClasses, ResourceClaims, ResourceClaimTemplates and ResourceSlices."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import below, child, ensure_child, fill, fill_zero, items


def default_priority_class(priority_class: Object) -> None:
    """Sets the defaults of a PriorityClass."""
    fill(priority_class, preemptionPolicy="PreemptLowerPriority")


def default_runtime_class(runtime_class: Object) -> None:
    """Writes the amounts of a RuntimeClass in canonical form."""
    quantity_defaults.normalize_lists(child(runtime_class, "overhead"), "podFixed")


def default_resource_claim(claim: Object) -> None:
    """Sets the defaults of a ResourceClaim."""
    _default_device_claim(ensure_child(claim, "spec"))


def default_resource_claim_template(template: Object) -> None:
    """Sets the defaults of a ResourceClaimTemplate."""
    if (spec := ensure_child(template, "spec")) is not None:
        _default_device_claim(ensure_child(spec, "spec"))


def default_resource_slice(resource_slice: Object) -> None:
    """Writes the amounts of a ResourceSlice's devices in canonical form."""
    for device in items(child(resource_slice, "spec"), "devices"):
        for capacity in (child(device, "capacity") or {}).values():
            if isinstance(capacity, dict):
                quantity_defaults.normalize(capacity, "value")


def _default_device_claim(spec: Object | None) -> None:
    for request in items(below(spec, "devices"), "requests"):
        if (exactly := child(request, "exactly")) is not None:
            _default_request(exactly)
        for alternative in items(request, "firstAvailable"):
            _default_request(alternative)


def _default_request(request: Object) -> None:
    """Sets the defaults of a device request: exactly one device, unless it sets another mode or count."""
    fill_zero(request, allocationMode="ExactCount")
    if request["allocationMode"] == "ExactCount":
        fill_zero(request, count=1)
    for toleration in items(request, "tolerations"):
        fill_zero(toleration, operator="Equal")
