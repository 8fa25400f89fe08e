"""Warns about IP addresses and CIDRs that are ambiguous or not in canonical form."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from probate.api.field_errors import FieldPath


def of_ip(value: str, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about an IP address."""
    if ":" not in value:
        return  # it has only one form: others are rejected
    try:
        address = ipaddress.IPv6Address(value)
    except ValueError:
        return
    if address.ipv4_mapped is not None:
        yield f'{path}: non-standard IP address "{value}" will be invalid in a future release: use "{address.ipv4_mapped}"'
    elif str(address) != value:
        yield f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{address}")'


def of_cidr(value: str, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about a CIDR: whether it means a whole network or one address of it, and its form."""
    try:
        given = ipaddress.ip_interface(value)
    except ValueError:
        return
    network, is_mapped = given.network, isinstance(given, ipaddress.IPv6Interface) and given.ip.ipv4_mapped is not None
    if given.ip != network.network_address:
        alone = f"{given.ip}/{network.max_prefixlen}"
        yield f'{path}: CIDR value "{value}" is ambiguous: the network would be "{network}", the address alone "{alone}"'
    elif is_mapped:
        yield f'{path}: non-standard CIDR value "{value}" will be invalid in a future release: use IPv4'
    elif given.version == 6 and str(network) != value:
        yield f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format ("{network}")'
