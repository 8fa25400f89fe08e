"""What a container asks for and may use: names and amounts of resources, in requests and limits."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from probate.machinery import names
from probate.machinery.problems import Path, duplicate, forbidden, invalid, not_found, required
from probate.machinery.validation import quantities
from probate.machinery.validation.fields import NEGATIVE, Problems, Value, check_rule, child, each, text

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE = "hugepages-"


def check_requirements(resources: Value, path: Path, claims: Collection[str]) -> Problems:
    """The resources of a container, or of a whole Pod. `claims` are those the Pod has."""
    requests, limits = child(resources, "requests"), child(resources, "limits")
    yield from check_amounts(limits, path / "limits")
    yield from check_amounts(requests, path / "requests")
    yield from _check_requests(requests, limits, path)
    yield from _check_huge_pages({**requests, **limits}, path)
    yield from _check_claims(resources, path, claims)


def check_amounts(amounts: Value, path: Path) -> Problems:
    """Known names, and amounts that are not below zero."""
    for name, amount in amounts.items():
        yield from check_resource_name(name, path @ name)
        yield from check_amount(name, amount, path @ name)


def check_amount(name: str, amount: str, path: Path) -> Problems:
    """An amount of a resource: not below zero, and whole where the resource cannot be shared."""
    value = quantities.value_of(amount)
    if value < 0:
        yield invalid(path, amount, NEGATIVE)
    if _is_extended(name) and value.denominator != 1:
        yield invalid(path, amount, "must be an integer")
    if name.startswith(_HUGE) and _page_size(name) and value % _page_size(name):
        yield invalid(path, amount, f"is not a multiple of the page size of {name}")


def _check_claims(resources: Value, path: Path, claims: Collection[str]) -> Problems:
    seen: set[str] = set()
    for claim, at in each(resources, path, "claims"):
        name = text(claim, "name")
        if not name:
            yield required(at)
        elif name in seen:
            yield duplicate(at, name)
        elif name not in claims:
            yield not_found(at, name)
        seen.add(name)


def check_resource_name(name: str, path: Path) -> Problems:
    """The name of something that a container can have."""
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


def _page_size(name: str) -> Fraction:
    return quantities.value_of(name.removeprefix(_HUGE))


def _is_extended(name: str) -> bool:
    return "/" in name and not name.startswith("kubernetes.io/") and not name.startswith("requests.")
