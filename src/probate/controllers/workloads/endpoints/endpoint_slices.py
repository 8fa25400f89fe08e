"""The desired EndpointSlices of a Service, and the changes that turn the existing ones into them.

An endpoint stays in its slice, so adding or removing a pod changes one slice and not all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.client.informers import controller_of
from probate.client.objects import GroupVersionResource
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.endpoints import service_pods
from probate.controllers.workloads.endpoints.service_pods import HEADLESS, Port
from probate.controllers.workloads.owner_kinds import OwnerKind

SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
SERVICE = OwnerKind(GroupVersionResource("", "v1", "services"), "Service")
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER_NAME = "endpointslice-controller.k8s.io"
"""The value of the managed-by label."""
SERVICE_NAME = "kubernetes.io/service-name"
ZONE = "topology.kubernetes.io/zone"
MAX_ENDPOINTS_PER_SLICE = 100
"""The maximum number of endpoints in a slice."""

Group = tuple[str, tuple[Port, ...]]
"""What all endpoints of a slice have in common: the address family and the ports."""


class SliceChanges(NamedTuple):
    """The slices to create, update and delete."""

    creates: list[Object]
    updates: list[Object]
    deletes: list[Object]


def endpoint(service: Object, pod: Object, family: str, *, zone: str) -> Object:
    """Returns the endpoint of a pod."""
    serving, terminating = pod_template.is_ready(pod), is_deleting(pod)
    ready = service_pods.publishes_not_ready(service) or (serving and not terminating)
    node, hostname = pod["spec"].get("nodeName"), service_pods.hostname(service, pod)
    return {
        "addresses": [service_pods.address(pod, family)],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        **({"hostname": hostname} if hostname else {}),
        "targetRef": service_pods.reference(pod),
        **({"nodeName": node} if node else {}),
        **({"zone": zone} if zone else {}),
    }


def desired_endpoints(service: Object, candidates: Iterable[Object], zones: dict[str, str]) -> dict[Group, dict[str, Object]]:
    """Returns the endpoints of each group, by pod uid. An address family without endpoints gets one empty group."""
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    groups: dict[Group, dict[str, Object]] = {}
    for pod in service_pods.reachable_pods(service, candidates):
        for family in (family for family in families if service_pods.address(pod, family) is not None):
            group = groups.setdefault((family, service_pods.ports(service, pod)), {})
            group[pod["metadata"]["uid"]] = endpoint(service, pod, family, zone=zones.get(pod["spec"].get("nodeName") or "", ""))
    for family in families:
        if not any(candidate_family == family for candidate_family, _ in groups):
            groups[family, ()] = {}
    return groups


def diff_slices(service: Object, groups: dict[Group, dict[str, Object]], existing: Iterable[Object]) -> SliceChanges:
    """Returns the changes that turn the existing slices into the desired ones. Slices that are being deleted do not count.
    (EPS-1)
    """
    changes, kept_slices = SliceChanges([], [], []), dict[Group, list[Object]]()
    for endpoint_slice in (endpoint_slice for endpoint_slice in existing if not is_deleting(endpoint_slice)):
        group = group_of(endpoint_slice)
        is_owned = (controller_of(endpoint_slice) or {}).get("uid") == service["metadata"]["uid"]
        if is_owned and group in groups:
            kept_slices.setdefault(group, []).append(endpoint_slice)
        else:
            changes.deletes.append(endpoint_slice)
    for group, endpoints in groups.items():
        _fill(service, group, dict(endpoints), slices=kept_slices.get(group, []), changes=changes)
    return changes


def _fill(service: Object, group: Group, missing: dict[str, Object], *, slices: list[Object], changes: SliceChanges) -> None:
    """Puts the endpoints of a group into its slices: endpoints that are in a slice stay there, the others go where there is
    room.
    """
    filled = [_staying(endpoint_slice, missing) for endpoint_slice in slices]
    unplaced = list(missing.values())
    for content in filled:
        room = MAX_ENDPOINTS_PER_SLICE - len(content)
        content.extend(unplaced[:room])
        unplaced = unplaced[room:]
    is_any = any(filled) or bool(unplaced)
    for number, (endpoint_slice, content) in enumerate(zip(slices, filled, strict=True)):
        if content or (not is_any and number == 0):
            changed = {
                **endpoint_slice,
                "metadata": {**endpoint_slice["metadata"], "labels": labels(service)},
                "endpoints": content,
            }
            changes.updates.extend([changed] if _is_changed(endpoint_slice, changed) else [])
        else:
            changes.deletes.append(endpoint_slice)
    if unplaced or not slices:
        chunks = [
            unplaced[start : start + MAX_ENDPOINTS_PER_SLICE] for start in range(0, len(unplaced), MAX_ENDPOINTS_PER_SLICE)
        ] or [[]]
        changes.creates.extend(_new(service, group, chunk) for chunk in chunks)


def _staying(endpoint_slice: Object, missing: dict[str, Object]) -> list[Object]:
    """Returns the endpoints that stay in the slice, in their current state, and removes them from `missing`."""
    uids = [
        (existing_endpoint.get("targetRef") or {}).get("uid", "") for existing_endpoint in endpoint_slice.get("endpoints") or ()
    ]
    return [missing.pop(uid) for uid in uids if uid in missing]


def _is_changed(endpoint_slice: Object, updated: Object) -> bool:
    is_same = (endpoint_slice.get("endpoints") or []) == updated["endpoints"]
    return not is_same or (endpoint_slice["metadata"].get("labels") or {}) != updated["metadata"]["labels"]


def labels(service: Object) -> dict[str, str]:
    """Returns the labels of a Service's slices: those of the Service, and those that identify the slices."""
    service_labels = service["metadata"].get("labels") or {}
    headless_label = {HEADLESS: ""} if service_pods.is_headless(service) else {}
    copied = {name: value for name, value in service_labels.items() if name != HEADLESS}
    return {**copied, **headless_label, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: CONTROLLER_NAME}


def is_managed(endpoint_slice: Object) -> bool:
    """Returns whether this controller manages the slice."""
    return bool((endpoint_slice["metadata"].get("labels") or {}).get(MANAGED_BY) == CONTROLLER_NAME)


def service_of(endpoint_slice: Object) -> str:
    """Returns the name of the Service that the slice belongs to."""
    return str((endpoint_slice["metadata"].get("labels") or {}).get(SERVICE_NAME, ""))


def group_of(endpoint_slice: Object) -> Group:
    """Returns what the endpoints of the slice have in common."""
    slice_ports = endpoint_slice.get("ports") or []
    ports = (Port(port.get("name") or "", port["protocol"], port["port"], port.get("appProtocol") or "") for port in slice_ports)
    return endpoint_slice["addressType"], tuple(ports)


def _new(service: Object, group: Group, endpoints: list[Object]) -> Object:
    family, ports = group
    name = service["metadata"]["name"]
    meta = {"generateName": f"{name}-", "labels": labels(service), "ownerReferences": [SERVICE.reference(service)]}
    return {"metadata": meta, "addressType": family, "ports": [port.to_object() for port in ports], "endpoints": endpoints}
