"""Validates that addresses are reachable by others, and that there is at most one of each IP family.

`ip_addresses.check_new_ip` validates the form of addresses; invalid ones are ignored here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from probate.api.field_errors import FieldPath, duplicate, invalid
from probate.kinds.shared.field_checks import Problems
from probate.kinds.shared.ip_addresses import check_new_ip

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LINK_LOCAL_MULTICAST = ipaddress.IPv4Network("224.0.0.0/24")
_ONE_OF_EACH = "may specify no more than one for each IP family"


def version(text: str) -> int:
    """Returns the IP family of an address or a CIDR: 4 or 6, and 0 if it is neither."""
    try:
        return ipaddress.ip_address(text.partition("/")[0]).version
    except ValueError:
        return 0


def check_reachable(text: str, path: FieldPath) -> Problems:
    """Validates that others can reach an address: it is not unspecified, loopback or link-local. Wider multicast is allowed."""
    found = list(check_new_ip(text, path))
    yield from found
    if not found and _is_local_only(ipaddress.ip_address(text)):
        yield invalid(path, text, "may not be unspecified, loopback, link-local or link-local multicast")


def check_families(texts: Sequence[str], path: FieldPath) -> Problems:
    """Validates that addresses or CIDRs have different IP families. (So there are two at most.)"""
    if len(texts) < 2:
        return
    if len(texts) > 2 or {version(text) for text in texts} != {4, 6}:
        yield invalid(path, list(texts), _ONE_OF_EACH)
    seen: set[str] = set()
    for index, text in enumerate(texts):
        if text in seen:
            yield duplicate(path / index, text)
        seen.add(text)


def _is_local_only(address: Address) -> bool:
    if address.is_unspecified or address.is_loopback or address.is_link_local:
        return True
    if isinstance(address, ipaddress.IPv4Address):
        return address in _LINK_LOCAL_MULTICAST
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2
