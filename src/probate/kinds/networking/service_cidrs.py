"""The ranges from which services get their addresses, as objects: ServiceCIDRs.

One that is there is ready. A finalizer holds it until nobody has an address of it any more that no other range has as well.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

OWN = "kubernetes"
"""The range that the server itself gives addresses from."""
FINALIZER = "networking.k8s.io/service-cidr-finalizer"
READY = {"type": "Ready", "status": "True", "reason": "", "message": "services can have its addresses"}
IN_USE = {
    "type": "Ready",
    "status": "False",
    "reason": "Terminating",
    "message": "somebody still has an address of it that no other ServiceCIDR has",
}

Object = dict[str, Any]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def own(range_: str) -> Object:
    """The range that the server has."""
    return {"metadata": {"name": OWN, "finalizers": [FINALIZER]}, "spec": {"cidrs": [range_]}}


def is_used(range_: Object, others: Iterable[Object], addresses: Iterable[Object]) -> bool:
    """Whether somebody has an address of this range that none of the others has. Of the server's own somebody always has one."""
    if range_["metadata"]["name"] == OWN:
        return True
    mine, theirs = _networks(range_), [network for one in others for network in _networks(one)]
    found = [ipaddress.ip_address(one["metadata"]["name"]) for one in addresses]
    return any(_is_in(one, mine) and not _is_in(one, theirs) for one in found)


def _networks(range_: Object) -> list[Network]:
    return [ipaddress.ip_network(one, strict=False) for one in (range_.get("spec") or {}).get("cidrs") or ()]


def _is_in(address: ipaddress.IPv4Address | ipaddress.IPv6Address, networks: Iterable[Network]) -> bool:
    return any(address in one for one in networks)
