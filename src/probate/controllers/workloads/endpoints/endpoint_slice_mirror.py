"""The EndpointSliceMirroring controller: it copies Endpoints that a user maintains for a Service without a selector into
EndpointSlices, for clients that read only those. (EPS-2)

Endpoints are mirrored while the Service exists and has no selector, and the skip-mirror label is not set. Otherwise the controller
deletes the slices itself, because their owner, the Endpoints object, may still exist.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from probate.api.objects import Object
from probate.client.informers import NamespacedName, controller_of, name_of
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads.endpoints import endpoint_slices, endpoints_object, trigger_time
from probate.controllers.workloads.endpoints.controllers import create_unless_terminating
from probate.controllers.workloads.endpoints.endpoint_slices import MANAGED_BY, SERVICE, SERVICE_NAME, Group, SliceChanges
from probate.controllers.workloads.endpoints.service_pods import Port
from probate.controllers.workloads.owner_kinds import OwnerKind, namespace_of

CONTROLLER_NAME = "endpointslicemirroring-controller.k8s.io"
SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"
"""The annotation of an Endpoints object that serves as a leader election lock and holds no endpoints."""
NOT_COPIED = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", trigger_time.LAST_CHANGE_TRIGGER_TIME, endpoints_object.OVER_CAPACITY}
)
MAX_ADDRESSES_PER_SUBSET = 1000
"""The maximum number of addresses of one subset that are mirrored."""
_ADDRESS_FIELDS = (("addresses", True), ("notReadyAddresses", False))
OWNER = OwnerKind(endpoints_object.ENDPOINTS, "Endpoints")


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers."""
    return [EndpointSliceMirroringController(context).workers]


class EndpointSliceMirroringController:
    """Reconciles the mirrored EndpointSlices of Endpoints."""

    def __init__(self, context: Context) -> None:
        self._endpoints = context.informers.for_resource(endpoints_object.ENDPOINTS)
        self._services = context.informers.for_resource(SERVICE.resource)
        self._slices = context.informers.for_resource(endpoint_slices.SLICES)
        self.workers = Workers("endpointslicemirroring-controller", self._sync, context.clock)
        self._endpoints.add_event_handler(self._on_change)
        self._services.add_event_handler(self._on_change)
        self._slices.add_event_handler(self._on_slice_change)

    def _on_change(self, old: Object | None, new: Object | None) -> None:
        changed_object = new or old
        if changed_object is not None:
            self.workers.add(name_of(changed_object))

    def _on_slice_change(self, old: Object | None, new: Object | None) -> None:
        endpoint_slice = new or old
        if endpoint_slice is not None and is_mirror(endpoint_slice) and endpoint_slices.service_of(endpoint_slice):
            self.workers.add(NamespacedName(namespace_of(endpoint_slice), endpoint_slices.service_of(endpoint_slice)))

    async def _sync(self, name: NamespacedName) -> float | None:
        endpoints, service = self._endpoints.get(name), self._services.get(name)
        existing = [
            endpoint_slice
            for endpoint_slice in self._slices.in_namespace(name.namespace)
            if is_mirror(endpoint_slice) and endpoint_slices.service_of(endpoint_slice) == name.name
        ]
        if endpoints is None or service is None or not should_mirror(endpoints, service):
            for endpoint_slice in existing:
                await self._slices.delete(endpoint_slice)
            return None
        changes = diff_slices(endpoints, existing)
        for endpoint_slice in changes.creates:
            await create_unless_terminating(self._slices, name.namespace, endpoint_slice)
        for endpoint_slice in changes.updates:
            await self._slices.update(endpoint_slice)
        for endpoint_slice in changes.deletes:
            await self._slices.delete(endpoint_slice)
        return None


def is_mirror(endpoint_slice: Object) -> bool:
    """Returns whether this controller manages the slice."""
    return bool((endpoint_slice["metadata"].get("labels") or {}).get(MANAGED_BY) == CONTROLLER_NAME)


def should_mirror(endpoints: Object, service: Object) -> bool:
    """Returns whether these Endpoints are mirrored."""
    meta = endpoints["metadata"]
    is_enabled = (meta.get("labels") or {}).get(SKIP_MIRROR) != "true" and LEADER_ANNOTATION not in (meta.get("annotations") or {})
    return is_enabled and not is_deleting(endpoints) and not is_deleting(service) and not service["spec"].get("selector")


def desired_endpoints(endpoints: Object) -> dict[Group, list[Object]]:
    """Returns the endpoints of each slice."""
    groups: dict[Group, list[Object]] = {}
    for subset in endpoints.get("subsets") or ():
        ports = tuple(
            Port(port.get("name") or "", port.get("protocol") or "TCP", port["port"], port.get("appProtocol") or "")
            for port in subset.get("ports") or ()
        )
        addresses = [(address, is_ready) for field, is_ready in _ADDRESS_FIELDS for address in subset.get(field) or ()]
        for address, is_ready in addresses[:MAX_ADDRESSES_PER_SUBSET]:
            groups.setdefault((_family(address["ip"]), ports), []).append(_endpoint(address, is_ready=is_ready))
    return groups


def diff_slices(endpoints: Object, existing: Iterable[Object]) -> SliceChanges:
    """Returns the changes that turn the existing slices into the desired ones."""
    changes, kept_slices = SliceChanges([], [], []), dict[Group, Object]()
    for endpoint_slice in (endpoint_slice for endpoint_slice in existing if not is_deleting(endpoint_slice)):
        is_owned = (controller_of(endpoint_slice) or {}).get("uid") == endpoints["metadata"]["uid"]
        if is_owned and endpoint_slices.group_of(endpoint_slice) not in kept_slices:
            kept_slices[endpoint_slices.group_of(endpoint_slice)] = endpoint_slice
        else:
            changes.deletes.append(endpoint_slice)
    groups = desired_endpoints(endpoints)
    changes.deletes.extend(endpoint_slice for group, endpoint_slice in kept_slices.items() if group not in groups)
    for group, group_endpoints in groups.items():
        endpoint_slice_before = kept_slices.get(group)
        if endpoint_slice_before is None:
            changes.creates.append(_new(endpoints, group, group_endpoints))
        elif (updated := _updated(endpoints, endpoint_slice_before, group_endpoints)) != endpoint_slice_before:
            changes.updates.append(updated)
    return changes


def _new(endpoints: Object, group: Group, group_endpoints: list[Object]) -> Object:
    family, ports = group
    name = endpoints["metadata"]["name"]
    meta = {"generateName": f"{name}-", "ownerReferences": [OWNER.reference(endpoints)], **_copied_metadata(endpoints)}
    return {"metadata": meta, "addressType": family, "ports": [port.to_object() for port in ports], "endpoints": group_endpoints}


def _updated(endpoints: Object, existing: Object, group_endpoints: list[Object]) -> Object:
    meta = {name: value for name, value in existing["metadata"].items() if name not in {"labels", "annotations"}}
    return {**existing, "metadata": meta | _copied_metadata(endpoints), "endpoints": group_endpoints}


def _copied_metadata(endpoints: Object) -> Object:
    """Returns the labels and annotations of a mirrored slice."""
    meta = endpoints["metadata"]
    annotations = {name: text for name, text in (meta.get("annotations") or {}).items() if name not in NOT_COPIED}
    labels = {**(meta.get("labels") or {}), SERVICE_NAME: meta["name"], MANAGED_BY: CONTROLLER_NAME}
    return {"labels": labels, **({"annotations": annotations} if annotations else {})}


def _endpoint(address: Object, *, is_ready: bool) -> Object:
    fields = {name: address[name] for name in ("hostname", "nodeName", "targetRef") if address.get(name)}
    return {"addresses": [address["ip"]], "conditions": {"ready": is_ready}, **fields}


def _family(ip: str) -> str:
    return "IPv6" if ipaddress.ip_address(ip).version == 6 else "IPv4"
