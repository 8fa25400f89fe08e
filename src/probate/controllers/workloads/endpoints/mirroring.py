"""Endpoints that somebody writes for a Service without a selector, as EndpointSlices: for clients that know only those. (EPS-2)

They are mirrored as long as the Service is there and has no selector, and nobody has said that they are not to be. When that ends
the slices are deleted here: what they belong to may well go on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from probate.client.informers import Name, controller_of, name_of
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads.endpoints import endpoint_slices, endpoints_object, trigger_time
from probate.controllers.workloads.endpoints.controllers import made
from probate.controllers.workloads.endpoints.endpoint_slices import MANAGED_BY, NAME, SERVICE, Changes, Group
from probate.controllers.workloads.endpoints.service_pods import Port
from probate.controllers.workloads.owner_kinds import OwnerKind, namespace_of

US = "endpointslicemirroring-controller.k8s.io"
SKIP = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"
"""An annotation of Endpoints that are a lock, and no endpoints."""
NOT_COPIED = frozenset({"kubectl.kubernetes.io/last-applied-configuration", trigger_time.CHANGED, endpoints_object.OVER_CAPACITY})
MOST = 1000
"""Addresses of one subset that are mirrored."""
_PARTS = (("addresses", True), ("notReadyAddresses", False))
OWNER = OwnerKind(endpoints_object.ENDPOINTS, "Endpoints")


def start(means: Means) -> list[Workers]:
    """The workers of the controller."""
    return [Mirrors(means).workers]


class Mirrors:
    """The controller."""

    def __init__(self, means: Means) -> None:
        self._endpoints = means.informers.of(endpoints_object.ENDPOINTS)
        self._services = means.informers.of(SERVICE.resource)
        self._slices = means.informers.of(endpoint_slices.SLICES)
        self.workers = Workers("endpointslicemirroring-controller", self._sync, means.clock)
        self._endpoints.listen(self._take)
        self._services.listen(self._take)
        self._slices.listen(self._take_slice)

    def _take(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None:
            self.workers.add(name_of(one))

    def _take_slice(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None and is_ours(one) and endpoint_slices.service_of(one):
            self.workers.add(Name(namespace_of(one), endpoint_slices.service_of(one)))

    async def _sync(self, name: Name) -> float | None:
        found, service = self._endpoints.get(name), self._services.get(name)
        there = [
            one for one in self._slices.within(name.namespace) if is_ours(one) and endpoint_slices.service_of(one) == name.name
        ]
        if found is None or service is None or not is_mirrored(found, service):
            for one in there:
                await self._slices.delete(one)
            return None
        changes = compare(found, there)
        for one in changes.creates:
            await made(self._slices, name.namespace, one)
        for one in changes.updates:
            await self._slices.update(one)
        for one in changes.deletes:
            await self._slices.delete(one)
        return None


def is_ours(slice_: Object) -> bool:
    """Whether the slice is one that we look after."""
    return bool((slice_["metadata"].get("labels") or {}).get(MANAGED_BY) == US)


def is_mirrored(endpoints: Object, service: Object) -> bool:
    """Whether these Endpoints are to be shown as slices too."""
    meta = endpoints["metadata"]
    is_wanted = (meta.get("labels") or {}).get(SKIP) != "true" and LEADER not in (meta.get("annotations") or {})
    return is_wanted and not is_deleting(endpoints) and not is_deleting(service) and not service["spec"].get("selector")


def wanted(endpoints: Object) -> dict[Group, list[Object]]:
    """The endpoints of each slice."""
    groups: dict[Group, list[Object]] = {}
    for subset in endpoints.get("subsets") or ():
        ports = tuple(
            Port(one.get("name") or "", one.get("protocol") or "TCP", one["port"], one.get("appProtocol") or "")
            for one in subset.get("ports") or ()
        )
        told = [(one, is_ready) for part, is_ready in _PARTS for one in subset.get(part) or ()]
        for address, is_ready in told[:MOST]:
            groups.setdefault((_family(address["ip"]), ports), []).append(_endpoint(address, is_ready=is_ready))
    return groups


def compare(endpoints: Object, there: Iterable[Object]) -> Changes:
    """What makes the slices there are those that are wanted."""
    changes, kept = Changes([], [], []), dict[Group, Object]()
    for one in (one for one in there if not is_deleting(one)):
        is_own = (controller_of(one) or {}).get("uid") == endpoints["metadata"]["uid"]
        if is_own and endpoint_slices.group_of(one) not in kept:
            kept[endpoint_slices.group_of(one)] = one
        else:
            changes.deletes.append(one)
    groups = wanted(endpoints)
    changes.deletes.extend(one for group, one in kept.items() if group not in groups)
    for group, content in groups.items():
        before = kept.get(group)
        if before is None:
            changes.creates.append(_new(endpoints, group, content))
        elif (changed := _changed(endpoints, before, content)) != before:
            changes.updates.append(changed)
    return changes


def _new(endpoints: Object, group: Group, content: list[Object]) -> Object:
    family, ports = group
    name = endpoints["metadata"]["name"]
    meta = {"generateName": f"{name}-", "ownerReferences": [OWNER.reference(endpoints)], **_copied(endpoints)}
    return {"metadata": meta, "addressType": family, "ports": [one.written() for one in ports], "endpoints": content}


def _changed(endpoints: Object, before: Object, content: list[Object]) -> Object:
    meta = {name: value for name, value in before["metadata"].items() if name not in {"labels", "annotations"}}
    return {**before, "metadata": meta | _copied(endpoints), "endpoints": content}


def _copied(endpoints: Object) -> Object:
    """The labels and annotations of a mirror."""
    meta = endpoints["metadata"]
    notes = {name: text for name, text in (meta.get("annotations") or {}).items() if name not in NOT_COPIED}
    labels = {**(meta.get("labels") or {}), NAME: meta["name"], MANAGED_BY: US}
    return {"labels": labels, **({"annotations": notes} if notes else {})}


def _endpoint(address: Object, *, is_ready: bool) -> Object:
    said = {name: address[name] for name in ("hostname", "nodeName", "targetRef") if address.get(name)}
    return {"addresses": [address["ip"]], "conditions": {"ready": is_ready}, **said}


def _family(ip: str) -> str:
    return "IPv6" if ipaddress.ip_address(ip).version == 6 else "IPv4"
