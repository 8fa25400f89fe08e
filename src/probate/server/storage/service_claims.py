"""What a service has that no other may have: an index entry for each address and each port on the nodes.

    ip/10.96.0.10      nodeport/30080

An entry comes in the transaction that writes the service, under the guard that it is absent, and goes with the service. So nothing
is given to two, whatever servers there are, and nothing is lost, however they end.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from probate.api.catalog import Resource
from probate.api.gvk import GroupResource
from probate.store.contract import Absent

SERVICES = GroupResource("", "services")
_PREFIX = f"objects/{SERVICES}/"


class _Port(msgspec.Struct, rename="camel"):
    node_port: int = 0


class _Spec(msgspec.Struct, rename="camel"):
    cluster_ips: list[str] = msgspec.field(name="clusterIPs", default_factory=list)
    ports: list[_Port] = []
    health_check_node_port: int = 0


class _Service(msgspec.Struct):
    spec: _Spec


class Changes(NamedTuple):
    """What a write claims and what it gives up."""

    enter: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()

    @property
    def guards(self) -> tuple[Absent, ...]:
        """Nobody else may have what is claimed."""
        return tuple([Absent(one) for one in self.enter]) if self.enter else ()


NONE = Changes()


def entries(key: str, value: bytes) -> tuple[str, ...]:
    """All that the stored object has."""
    return _of(msgspec.json.decode(value, type=_Service).spec) if key.startswith(_PREFIX) else ()


def changes(key: str, new: bytes, old: bytes | None) -> Changes:
    """What changes when the object becomes this."""
    if not key.startswith(_PREFIX):
        return NONE
    before, after = () if old is None else entries(key, old), entries(key, new)
    return Changes(tuple(one for one in after if one not in before), tuple(one for one in before if one not in after))


def may_have(resource: Resource) -> bool:
    """Whether its objects have anything of this sort."""
    return resource.plural == SERVICES.resource and resource.group == SERVICES.group


def _of(spec: _Spec) -> tuple[str, ...]:
    ports = [*(one.node_port for one in spec.ports), spec.health_check_node_port]
    found = [f"ip/{one}" for one in spec.cluster_ips if one != "None"] + [f"nodeport/{one}" for one in ports if one]
    return tuple(dict.fromkeys(found))
