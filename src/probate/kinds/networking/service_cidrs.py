"""ServiceCIDR objects: the ranges from which Services get their cluster IPs.

An existing one is ready. A finalizer holds it while it contains an IPAddress that no other range contains.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from probate.api.objects import Object

DEFAULT_NAME = "kubernetes"
"""The name of the ServiceCIDR of the server's own range."""
FINALIZER = "networking.k8s.io/service-cidr-finalizer"
READY = {"type": "Ready", "status": "True", "reason": "", "message": "services can have its addresses"}
IN_USE = {
    "type": "Ready",
    "status": "False",
    "reason": "Terminating",
    "message": "IPAddresses are in this ServiceCIDR that no other ServiceCIDR contains",
}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def default_service_cidr(range_: str) -> Object:
    """Returns the ServiceCIDR of the server's own range."""
    return {"metadata": {"name": DEFAULT_NAME, "finalizers": [FINALIZER]}, "spec": {"cidrs": [range_]}}


def is_used(range_: Object, others: Iterable[Object], addresses: Iterable[Object]) -> bool:
    """Reports whether an allocated address is in this range and in none of the others. The server's own range is always used."""
    if range_["metadata"]["name"] == DEFAULT_NAME:
        return True
    mine, theirs = _networks(range_), [network for one in others for network in _networks(one)]
    found = [ipaddress.ip_address(one["metadata"]["name"]) for one in addresses]
    return any(_is_in(one, mine) and not _is_in(one, theirs) for one in found)


def _networks(range_: Object) -> list[Network]:
    return [ipaddress.ip_network(one, strict=False) for one in (range_.get("spec") or {}).get("cidrs") or ()]


def _is_in(address: ipaddress.IPv4Address | ipaddress.IPv6Address, networks: Iterable[Network]) -> bool:
    return any(address in one for one in networks)
