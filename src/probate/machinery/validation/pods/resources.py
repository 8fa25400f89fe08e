"""What a container asks for and may use: names and amounts of resources, in requests and limits."""

from __future__ import annotations

from probate.machinery import names
from probate.machinery.problems import Path, forbidden, invalid, required
from probate.machinery.validation import quantities
from probate.machinery.validation.fields import NEGATIVE, Problems, Value, check_name, check_rule, check_unique, child, each

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE = "hugepages-"


def check_requirements(resources: Value, path: Path) -> Problems:
    """The resources of a container."""
    requests, limits = child(resources, "requests"), child(resources, "limits")
    yield from check_amounts(limits, path / "limits")
    yield from check_amounts(requests, path / "requests")
    yield from _check_requests(requests, limits, path)
    yield from _check_huge_pages({**requests, **limits}, path)
    seen: set[str] = set()
    for claim, at in each(resources, path, "claims"):
        yield from check_name(claim, at, "name", names.dns_label)
        yield from check_unique(claim, at, "name", seen)


def check_amounts(amounts: Value, path: Path) -> Problems:
    """Known names, and amounts that are not below zero."""
    for name, amount in amounts.items():
        yield from _check_resource_name(name, path @ name)
        yield from check_amount(name, amount, path @ name)


def check_amount(name: str, amount: str, path: Path) -> Problems:
    """An amount of a resource: not below zero, and whole where the resource cannot be shared."""
    value = quantities.value_of(amount)
    if value < 0:
        yield invalid(path, amount, NEGATIVE)
    if _is_extended(name) and value.denominator != 1:
        yield invalid(path, amount, "must be an integer")


def _check_resource_name(name: str, path: Path) -> Problems:
    yield from check_rule(name, path, names.qualified_name)
    if "/" not in name and name not in _STANDARD and not name.startswith(_HUGE):
        yield invalid(path, name, "must be a standard resource type or fully qualified")
        yield invalid(path, name, "must be a standard resource for containers")


def _check_requests(requests: Value, limits: Value, path: Path) -> Problems:
    for name, amount in requests.items():
        may_overcommit = name in _STANDARD
        if name in limits:
            request, limit = quantities.value_of(amount), quantities.value_of(limits[name])
            if may_overcommit and request > limit:
                yield invalid(path / "requests", amount, f"must be less than or equal to {name} limit of {limits[name]}")
            elif not may_overcommit and request != limit:
                yield invalid(path / "requests", amount, f"must be equal to {name} limit of {limits[name]}")
        elif not may_overcommit:
            yield required(path / "limits", "Limit must be set for non overcommitable resources")


def _check_huge_pages(amounts: Value, path: Path) -> Problems:
    if any(name.startswith(_HUGE) for name in amounts) and not {"cpu", "memory"} & amounts.keys():
        yield forbidden(path, "HugePages require cpu or memory")


def _is_extended(name: str) -> bool:
    return "/" in name and not name.startswith("kubernetes.io/") and not name.startswith("requests.")
