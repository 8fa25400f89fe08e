"""Validates pod-level resources.

Only some resources are allowed; requests must not be below the sum of the containers' requests, limits not below any container's
limit.
"""

from __future__ import annotations

from probate.api import quantities
from probate.api.field_errors import FieldPath, forbidden, invalid, not_supported
from probate.kinds.core.pods import resource_totals
from probate.kinds.core.pods.validation.container_resources import check_lists, check_requirements, check_resource
from probate.kinds.shared.field_checks import Problems, Value, child, each, without

_SHARED = ("cpu", "memory")


def check_totals(spec: Value, path: FieldPath) -> Problems:
    """Validates the pod-level resources."""
    resources, at = child(spec, "resources"), path / "resources"
    if resources.get("claims") is not None:
        yield forbidden(at / "claims", "claims cannot be set for Resources at pod-level")
        yield from check_requirements({"claims": resources["claims"]}, at, ())
    yield from check_lists(resources, at, _check_name)
    yield from _check_requests(spec, at / "requests")
    yield from _check_limits(spec, path)


def _check_name(name: str, path: FieldPath) -> Problems:
    found = list(check_resource(name, path))
    yield from found
    if not found and name not in _SHARED and not name.startswith("hugepages-"):
        yield not_supported(path, name, [*_SHARED, "hugepages-"])


def _check_requests(spec: Value, path: FieldPath) -> Problems:
    needed = resource_totals.pod_resources(without(spec, "resources", "overhead"), "requests")
    for name, amount in child(child(spec, "resources"), "requests").items():
        if name in needed and quantities.value_or_zero(amount) < needed[name].size:
            yield invalid(path @ name, amount, f"must be greater than or equal to aggregate container requests of {needed[name]}")


def _check_limits(spec: Value, path: FieldPath) -> Problems:
    """Validates that no container limit is larger than the pod-level limit. The field path is Kubernetes' own."""
    limits = child(child(spec, "resources"), "limits")
    for index, (container, _) in enumerate(each(spec, path, "containers") if limits else ()):
        for name, amount in child(child(container, "resources"), "limits").items():
            if name in limits and quantities.value_or_zero(amount) > quantities.value_or_zero(limits[name]):
                place = path / "resources" / "containers" / index @ name
                yield invalid(place / "limits", amount, f"must be less than or equal to pod limits of {limits[name]}")
