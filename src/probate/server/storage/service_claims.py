"""The cluster IPs and node ports of a Service as index entries, which make each of them unique.

    ip/10.96.0.10      nodeport/30080

An entry is added in the transaction that writes the Service, guarded by its absence, and is removed together with the Service. So
no two Services get the same value, however many servers run, and no value leaks when a server is killed.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.api.gvk import GroupResource
from probate.store.contract import Absent

SERVICES = GroupResource("", "services")
_PREFIX = object_keys.resource_range(SERVICES)


class _Port(msgspec.Struct, rename="camel"):
    node_port: int = 0


class _Spec(msgspec.Struct, rename="camel"):
    cluster_ips: list[str] = msgspec.field(name="clusterIPs", default_factory=list)
    ports: list[_Port] = []
    health_check_node_port: int = 0


class _Service(msgspec.Struct):
    spec: _Spec


class ClaimChanges(NamedTuple):
    """The claims that a write adds and removes."""

    enter: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()

    @property
    def guards(self) -> tuple[Absent, ...]:
        """Guards that no other Service holds the added claims."""
        return tuple([Absent(claim) for claim in self.enter]) if self.enter else ()


NO_CHANGES = ClaimChanges()


def claims_of(key: str, value: bytes) -> tuple[str, ...]:
    """Returns all claims of a stored object. Empty if it is not a Service."""
    return _of(msgspec.json.decode(value, type=_Service).spec) if key.startswith(_PREFIX) else ()


def claim_changes(key: str, new: bytes, old: bytes | None) -> ClaimChanges:
    """Returns the claims that a write adds and removes. `old` is None for a creation."""
    if not key.startswith(_PREFIX):
        return NO_CHANGES
    before, after = () if old is None else claims_of(key, old), claims_of(key, new)
    return ClaimChanges(
        tuple(claim for claim in after if claim not in before), tuple(claim for claim in before if claim not in after)
    )


def has_claims(resource: Resource) -> bool:
    """Whether objects of this resource have claims."""
    return resource.plural == SERVICES.resource and resource.group == SERVICES.group


def _of(spec: _Spec) -> tuple[str, ...]:
    ports = [*(port.node_port for port in spec.ports), spec.health_check_node_port]
    claims = [f"ip/{address}" for address in spec.cluster_ips if address != "None"] + [f"nodeport/{port}" for port in ports if port]
    return tuple(dict.fromkeys(claims))
