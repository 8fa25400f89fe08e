"""Validates ServiceCIDRs, the ranges of cluster IPs, and IPAddresses, the allocated ones."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, required
from probate.kinds.shared.field_checks import (
    IMMUTABLE,
    Problems,
    Value,
    check_name,
    check_optional_name,
    check_unchanged,
    child,
    texts,
)
from probate.kinds.shared.ip_addresses import check_canonical_cidr, network

_SPEC = FieldPath("spec")
_CIDRS = _SPEC / "cidrs"
_MOST = 2


def check_service_cidr(range_: Value) -> Problems:
    """Validates a ServiceCIDR: at most one range for each IP family."""
    cidrs = texts(child(range_, "spec"), "cidrs")
    if not cidrs:
        yield required(_CIDRS, "at least one CIDR required")
    elif len(cidrs) > _MOST:
        yield invalid(_CIDRS, cidrs, f"may only hold up to {_MOST} values")
    else:
        found = [problem for index, cidr in enumerate(cidrs) for problem in check_canonical_cidr(cidr, _CIDRS / index)]
        yield from found
        if not found and _have_same_family(cidrs):
            yield invalid(_CIDRS, cidrs, "may specify no more than one range for each IP family")


def check_again(range_: Value) -> Problems:
    """Validates an existing ServiceCIDR: its ranges were accepted before, and changes are checked separately."""
    yield from ()


def check_ip_address(address: Value) -> Problems:
    """Validates an IPAddress: it has a parent reference."""
    parent, path = child(address, "spec").get("parentRef"), _SPEC / "parentRef"
    if parent is None:
        yield required(path)
        return
    yield from check_optional_name(parent, path, "group", rule=names.validate_dns_subdomain)
    yield from check_name(parent, path, "resource", rule=names.validate_path_segment)
    yield from check_name(parent, path, "name", rule=names.validate_path_segment)
    yield from check_optional_name(parent, path, "namespace", rule=names.validate_path_segment)


def update_service_cidr(new: Value, old: Value) -> Problems:
    """Validates that ranges do not change, because addresses have been allocated from them.

    A range of the other IP family may be added to a single one.
    """
    cidrs, before = (texts(child(one, "spec"), "cidrs") for one in (new, old))
    if len(before) == 1 and len(cidrs) == _MOST:
        yield from check_service_cidr(new)
    elif len(cidrs) != len(before):
        yield invalid(_CIDRS, cidrs, IMMUTABLE)
        return
    for index, (cidr, known) in enumerate(zip(cidrs, before, strict=False)):
        if cidr != known:
            yield invalid(_CIDRS / index, cidr, IMMUTABLE)


def update_ip_address(new: Value, old: Value) -> Problems:
    """Validates that the parent reference of an address does not change."""
    yield from check_unchanged(child(new, "spec").get("parentRef"), child(old, "spec").get("parentRef"), _SPEC / "parentRef")


def _have_same_family(cidrs: list[str]) -> bool:
    return len(cidrs) > len({network(cidr).version for cidr in cidrs})
