"""Validates IP addresses and CIDRs as strictly as Kubernetes validates new ones.

Programs interpret some forms differently: `010.0.0.1` (octal or not), `::ffff:10.0.0.1` (which family?), `10.1.2.3/16` (an address
or a range?), `10.0.0.0/08`. New objects cannot have them. An existing object keeps what it has, because it was accepted before.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator

from probate.api.field_errors import FieldPath, invalid
from probate.kinds.shared.field_checks import Problems

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")
_NO_RANGE = "must be a valid CIDR value (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def is_ip(value: str) -> bool:
    """Reports whether the text is an IP address in any form."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def check_new_ip(value: str, path: FieldPath, known: Collection[str] = ()) -> Problems:
    """Validates an address in a form that all programs interpret alike, unless it is in `known`."""
    if value in known:
        return
    if not is_ip(value) or "%" in value:
        yield invalid(path, value, "must be a valid IP address (e.g. 10.9.8.7 or 2001:db8::ffff)")
    elif _is_mapped(value):
        yield invalid(path, value, "must not be an IPv4-mapped IPv6 address")


def check_new_cidr(value: str, path: FieldPath, known: Collection[str] = ()) -> Problems:
    """Validates a CIDR in a form that all programs interpret alike, unless it is in `known`."""
    if value not in known:
        yield from (invalid(path, value, fault) for fault in _faults(value))


def check_any_cidr(value: str, path: FieldPath) -> Problems:
    """Validates a CIDR in any form."""
    try:
        is_range = "/" in value and network(value) is not None
    except ValueError:
        is_range = False
    if not is_range:
        yield invalid(path, value, _NO_RANGE)


def check_canonical_cidr(value: str, path: FieldPath) -> Problems:
    """Validates a CIDR in canonical form."""
    faults = list(_faults(value))
    if not faults and str(network(value)) != value:
        faults = [f'must be in canonical form ("{network(value)}")']
    yield from (invalid(path, value, fault) for fault in faults)


def check_interface(value: str, path: FieldPath) -> Problems:
    """Validates an interface address with its prefix length, in canonical form."""
    try:
        interface = ipaddress.ip_interface(value)
    except ValueError:
        interface = None
    if interface is None or not value.partition("/")[2].isdecimal() or "%" in value:
        yield invalid(path, value, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")
    elif _is_mapped(str(interface.ip)) or str(interface) != value:
        yield invalid(path, value, f'must be in canonical form ("{_canonical(interface)}")')


def _canonical(interface: Interface) -> str:
    mapped = interface.ip.ipv4_mapped if interface.version == 6 else None
    bits = interface.network.prefixlen
    return str(interface) if mapped is None else f"{mapped}/{bits - 96 if bits > 32 else bits}"


def network(cidr: str) -> Network:
    """Returns the network of a CIDR. Raises `ValueError` if it is not valid."""
    return ipaddress.ip_network(cidr, strict=False)


def _faults(value: str) -> Iterator[str]:
    address, slash, length = value.partition("/")
    try:
        range_ = network(value)
    except ValueError:
        yield _NO_RANGE
        return
    if not slash or not length.isdecimal() or "%" in value:
        yield _NO_RANGE
    elif _LENGTH.fullmatch(length) is None:
        yield "must not have leading zeros in the prefix length"
    elif _is_mapped(address):
        yield "must not have an IPv4-mapped IPv6 address"
    elif range_.network_address != ipaddress.ip_address(address):
        yield f'must not have bits set beyond the prefix length (try "{range_}")'


def _is_mapped(address: str) -> bool:
    ip = ipaddress.ip_address(address)
    return ip.version == 6 and ip.ipv4_mapped is not None
