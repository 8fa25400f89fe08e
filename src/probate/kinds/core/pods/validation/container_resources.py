"""Validates the requests and limits of a container: names and amounts of resources."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction

from probate.api import names, quantities
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, not_found, required
from probate.kinds.shared.field_checks import NEGATIVE, Problems, Value, check_optional_name, check_rule, child, each, text

COUNTED = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
"""Resources that count objects."""

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE = "hugepages-"


def check_requirements(resources: Value, path: FieldPath, claims: Collection[str]) -> Problems:
    """Validates the resources of a container. `claims` are the names of the Pod's claims."""
    yield from check_lists(resources, path, check_container_resource)
    yield from _check_claims(resources, path, claims)


def check_lists(resources: Value, path: FieldPath, check_name: Callable[[str, FieldPath], Problems]) -> Problems:
    """Validates requests and limits. `check_name` validates each resource name."""
    requests, limits = child(resources, "requests"), child(resources, "limits")
    yield from _check_amounts(limits, path / "limits", check_name)
    yield from _check_amounts(requests, path / "requests", check_name)
    yield from _check_requests(requests, limits, path)
    if any(name.startswith(_HUGE) for name in (*requests, *limits)) and not {"cpu", "memory"} & (requests.keys() | limits.keys()):
        yield forbidden(path, "HugePages require cpu or memory")


def check_amounts(amounts: Value, path: FieldPath) -> Problems:
    """Validates resource names that containers can have, and amounts that are not negative."""
    yield from _check_amounts(amounts, path, check_container_resource)


def check_amount(name: str, amount: str, path: FieldPath) -> Problems:
    """Validates an amount of a resource: not negative, and an integer if the resource is not divisible."""
    value = quantities.value_or_zero(amount)
    if value < 0:
        yield invalid(path, amount, NEGATIVE)
    if (name in COUNTED or is_extended(name)) and value.denominator != 1:
        yield invalid(path, amount, "must be an integer")


def check_container_resource(name: str, path: FieldPath) -> Problems:
    """Validates the name of a container resource: a standard one or an extended one."""
    yield from check_resource(name, path)
    if "/" not in name:
        if name not in _STANDARD and not name.startswith(_HUGE):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def check_resource(name: str, path: FieldPath) -> Problems:
    """Validates a resource name of any kind."""
    found = list(check_rule(name, path, names.validate_qualified_name))
    yield from found
    if not found and "/" not in name and not is_standard(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def is_standard(name: str) -> bool:
    """Reports whether the name is a standard one, without a domain prefix."""
    rest = name.removeprefix("requests.")
    if rest in {"cpu", "memory", "ephemeral-storage", "storage"} or name in COUNTED or rest.startswith(_HUGE):
        return True
    return name.startswith("limits.") and name.removeprefix("limits.") in _STANDARD


def is_native(name: str) -> bool:
    """Reports whether the resource is defined by Kubernetes."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Reports whether the resource is an extended one, whose amounts are integers."""
    return not is_native(name) and not name.startswith("requests.") and not names.validate_qualified_name(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    """Reports whether limits of the resource may be larger than requests (overcommit)."""
    return is_native(name) and not name.startswith(_HUGE)


def _check_amounts(amounts: Value, path: FieldPath, check_name: Callable[[str, FieldPath], Problems]) -> Problems:
    for name, amount in amounts.items():
        yield from check_name(name, path @ name)
        yield from check_amount(name, amount, path @ name)
        if name.startswith(_HUGE) and not _is_divisible(name, amount):
            yield invalid(path @ name, amount, f"is not a positive integer multiple of the page size of {name}")


def _check_claims(resources: Value, path: FieldPath, claims: Collection[str]) -> Problems:
    """Validates that each claim is used either whole or by its requests, and none of them twice."""
    whole: set[str] = set()
    parted: set[str] = set()
    parts: set[tuple[str, str]] = set()
    for claim, at in each(resources, path, "claims"):
        name, part = text(claim, "name"), text(claim, "request")
        if not name:
            yield required(at)
            continue
        yield from check_optional_name(claim, at, "request", rule=names.validate_dns_label)
        if name in whole or (name, part) in parts or (not part and name in parted):
            yield duplicate(at, name)
        if name not in claims:
            yield not_found(at, name)
        if part:
            parts.add((name, part))
            parted.add(name)
        else:
            whole.add(name)


def _check_requests(requests: Value, limits: Value, path: FieldPath) -> Problems:
    for name, amount in requests.items():
        if name in limits:
            request, limit = quantities.value_or_zero(amount), quantities.value_or_zero(limits[name])
            if not may_overcommit(name) and request != limit:
                yield invalid(path / "requests", amount, f"must be equal to {name} limit of {limits[name]}")
            elif request > limit:
                yield invalid(path / "requests", amount, f"must be less than or equal to {name} limit of {limits[name]}")
        elif not may_overcommit(name):
            yield required(path / "limits", "Limit must be set for non overcommitable resources")


def _is_divisible(name: str, amount: str) -> bool:
    size = _page_size(name)
    return size > 0 and quantities.value_or_zero(amount) % size == 0


def _page_size(name: str) -> Fraction:
    return quantities.value_or_zero(name.removeprefix(_HUGE))
