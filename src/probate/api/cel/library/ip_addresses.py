"""IP addresses and CIDRs in the forms that Kubernetes accepts: no leading zeros, no zones, no IPv4-mapped IPv6."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, traversal

LIBRARY = Library()
function = LIBRARY.function


class IP:
    """An IP address."""

    __slots__ = ("address",)
    cel_type = "net.IP"

    def __init__(self, address: IPv4Address | IPv6Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IP) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def cel_shown(self) -> str:
        return str(self.address)


class CIDR:
    """An IP address with a prefix length."""

    __slots__ = ("face",)
    cel_type = "net.CIDR"

    def __init__(self, face: Any) -> None:
        self.face = face

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDR) and other.face == self.face

    def __hash__(self) -> int:
        return hash(self.face)

    def cel_shown(self) -> str:
        return str(self.face)


def parse_ip(text: str) -> IP:
    """Parses an IP address. Raises `CelError` if the text is invalid."""
    if "%" in text:
        raise CelError(f'IP Address "{text[:60]}" with zone value is not allowed')
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CelError(f'IP Address "{text[:60]}" parse error during conversion from string') from None
    if isinstance(address, IPv6Address) and (address.ipv4_mapped is not None):
        raise CelError(f'IPv4-mapped IPv6 address "{text[:60]}" is not allowed')
    return IP(address)


def parse_cidr(text: str) -> CIDR:
    """Parses a CIDR. Raises `CelError` if the text is invalid."""
    address, slash, length = text.partition("/")
    wrong = CelError(f'network address parse error during conversion from string: "{text[:60]}"')
    if not slash or not length.isascii() or not length.isdigit() or (length != "0" and length.startswith("0")):
        raise wrong
    parse_ip(address)
    try:
        return CIDR(ipaddress.ip_interface(text))
    except ValueError:
        raise wrong from None


@function("ip(string) -> IP", cost=traversal)
def _ip(_: Meter, text: str) -> IP:
    return parse_ip(text)


@function("isIP(string) -> bool", cost=traversal)
def _is_ip(_: Meter, text: str) -> bool:
    return _works(parse_ip, text)


@function("ip.isCanonical(string) -> bool", cost=traversal)
def _is_canonical(_: Meter, text: str) -> bool:
    return str(parse_ip(text).address) == text


@function("cidr(string) -> CIDR", cost=traversal)
def _cidr(_: Meter, text: str) -> CIDR:
    return parse_cidr(text)


@function("isCIDR(string) -> bool", cost=traversal)
def _is_cidr(_: Meter, text: str) -> bool:
    return _works(parse_cidr, text)


def _works(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except CelError:
        return False
    return True


@function("string(IP) -> string", "string(CIDR) -> string", grows=lambda _: 45)
def _text(_: Meter, one: Any) -> str:
    return str(one.cel_shown())


@function("IP::family() -> int")
def _family(_: Meter, one: IP) -> int:
    return one.address.version


@function("IP::isUnspecified() -> bool")
def _is_unspecified(_: Meter, one: IP) -> bool:
    return one.address.is_unspecified


@function("IP::isLoopback() -> bool")
def _is_loopback(_: Meter, one: IP) -> bool:
    return one.address.is_loopback


@function("IP::isLinkLocalMulticast() -> bool")
def _is_link_local_multicast(_: Meter, one: IP) -> bool:
    packed = one.address.packed
    return packed[:3] == bytes((224, 0, 0)) if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 0x02


@function("IP::isLinkLocalUnicast() -> bool")
def _is_link_local(_: Meter, one: IP) -> bool:
    return one.address.is_link_local


@function("IP::isGlobalUnicast() -> bool")
def _is_global(_: Meter, one: IP) -> bool:
    address = one.address
    is_special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not is_special and str(address) != "255.255.255.255"


@function("CIDR::containsIP(IP) -> bool")
def _contains_ip(_: Meter, one: CIDR, other: IP) -> bool:
    return other.address.version == one.face.version and other.address in one.face.network


@function("CIDR::containsIP(string) -> bool", cost=lambda _, text: traversal(text))
def _contains_text(meter: Meter, one: CIDR, text: str) -> bool:
    return _contains_ip(meter, one, parse_ip(text))


@function("CIDR::containsCIDR(CIDR) -> bool")
def _contains_cidr(_: Meter, one: CIDR, other: CIDR) -> bool:
    return other.face.version == one.face.version and bool(other.face.network.subnet_of(one.face.network))


@function("CIDR::containsCIDR(string) -> bool", cost=lambda _, text: traversal(text))
def _contains_cidr_text(meter: Meter, one: CIDR, text: str) -> bool:
    return _contains_cidr(meter, one, parse_cidr(text))


@function("CIDR::ip() -> IP")
def _ip_of(_: Meter, one: CIDR) -> IP:
    return IP(one.face.ip)


@function("CIDR::masked() -> CIDR")
def _masked(_: Meter, one: CIDR) -> CIDR:
    return CIDR(ipaddress.ip_interface(one.face.network))


@function("CIDR::prefixLength() -> int")
def _prefix_length(_: Meter, one: CIDR) -> int:
    return int(one.face.network.prefixlen)
