"""Which addresses Services have: ServiceCIDRs are the ranges they come from, IPAddresses those that are taken."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import Path, invalid, required
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

_SPEC = Path("spec")
_CIDRS = _SPEC / "cidrs"
_MOST = 2


def check_service_cidr(range_: Value) -> Problems:
    """A ServiceCIDR: one range for each family of addresses at most."""
    cidrs = texts(child(range_, "spec"), "cidrs")
    if not cidrs:
        yield required(_CIDRS, "at least one CIDR required")
    elif len(cidrs) > _MOST:
        yield invalid(_CIDRS, cidrs, f"may only hold up to {_MOST} values")
    else:
        found = [problem for index, cidr in enumerate(cidrs) for problem in check_canonical_cidr(cidr, _CIDRS / index)]
        yield from found
        if not found and _is_twice(cidrs):
            yield invalid(_CIDRS, cidrs, "may specify no more than one range for each IP family")


def check_again(range_: Value) -> Problems:
    """A ServiceCIDR that is there: what it has was taken once, and what changes is looked at by itself."""
    yield from ()


def check_ip_address(address: Value) -> Problems:
    """An IPAddress: it belongs to something."""
    parent, path = child(address, "spec").get("parentRef"), _SPEC / "parentRef"
    if parent is None:
        yield required(path)
        return
    yield from check_optional_name(parent, path, "group", names.dns_subdomain)
    yield from check_name(parent, path, "resource", names.path_segment)
    yield from check_name(parent, path, "name", names.path_segment)
    yield from check_optional_name(parent, path, "namespace", names.path_segment)


def update_service_cidr(new: Value, old: Value) -> Problems:
    """Ranges stay: addresses were given out from them. One of the other family may join a single one."""
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
    """What an address belongs to stays."""
    yield from check_unchanged(child(new, "spec").get("parentRef"), child(old, "spec").get("parentRef"), _SPEC / "parentRef")


def _is_twice(cidrs: list[str]) -> bool:
    return len(cidrs) > len({network(cidr).version for cidr in cidrs})
