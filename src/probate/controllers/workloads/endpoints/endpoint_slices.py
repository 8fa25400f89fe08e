"""The EndpointSlices of a Service: what they are to say, and which of those there are to change for that.

What is in a slice stays there: so a pod that comes or goes changes one slice, and not all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.client.informers import controller_of
from probate.client.objects import Kind, Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.endpoints import service_pods
from probate.controllers.workloads.endpoints.service_pods import HEADLESS, Port
from probate.controllers.workloads.owner_kinds import OwnerKind

SLICES = Kind("discovery.k8s.io", "v1", "endpointslices")
SERVICE = OwnerKind(Kind("", "v1", "services"), "Service")
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
US = "endpointslice-controller.k8s.io"
NAME = "kubernetes.io/service-name"
ZONE = "topology.kubernetes.io/zone"
MOST = 100
"""Endpoints in one slice."""

Group = tuple[str, tuple[Port, ...]]
"""What all endpoints of one slice have in common: the family of their addresses, and their ports."""


class Changes(NamedTuple):
    """The slices to create, to update and to delete."""

    creates: list[Object]
    updates: list[Object]
    deletes: list[Object]


def endpoint(service: Object, pod: Object, family: str, zone: str) -> Object:
    """What a slice says of a pod."""
    serving, leaving = pod_template.is_ready(pod), is_deleting(pod)
    ready = service_pods.shows_all(service) or (serving and not leaving)
    node, hostname = pod["spec"].get("nodeName"), service_pods.hostname(service, pod)
    return {
        "addresses": [service_pods.address(pod, family)],
        "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
        **({"hostname": hostname} if hostname else {}),
        "targetRef": service_pods.reference(pod),
        **({"nodeName": node} if node else {}),
        **({"zone": zone} if zone else {}),
    }


def wanted(service: Object, candidates: Iterable[Object], zones: dict[str, str]) -> dict[Group, dict[str, Object]]:
    """The endpoints of each group, by the pod's uid. Where there are none, an empty group says so."""
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    groups: dict[Group, dict[str, Object]] = {}
    for pod in service_pods.reachable(service, candidates):
        for family in (one for one in families if service_pods.address(pod, one) is not None):
            group = groups.setdefault((family, service_pods.ports(service, pod)), {})
            group[pod["metadata"]["uid"]] = endpoint(service, pod, family, zones.get(pod["spec"].get("nodeName") or "", ""))
    for family in families:
        if not any(one == family for one, _ in groups):
            groups[family, ()] = {}
    return groups


def compare(service: Object, groups: dict[Group, dict[str, Object]], there: Iterable[Object]) -> Changes:
    """What makes the slices there are those that are wanted. Slices that are being deleted do not count. (EPS-1)"""
    changes, kept = Changes([], [], []), dict[Group, list[Object]]()
    for one in (one for one in there if not is_deleting(one)):
        group = group_of(one)
        is_ours = (controller_of(one) or {}).get("uid") == service["metadata"]["uid"]
        if is_ours and group in groups:
            kept.setdefault(group, []).append(one)
        else:
            changes.deletes.append(one)
    for group, endpoints in groups.items():
        _fill(service, group, dict(endpoints), kept.get(group, []), changes)
    return changes


def _fill(service: Object, group: Group, missing: dict[str, Object], slices: list[Object], changes: Changes) -> None:
    """Put the endpoints into the slices of their group: those that are in one stay, the others go where there is room."""
    filled = [_staying(one, missing) for one in slices]
    rest = list(missing.values())
    for content in filled:
        room = MOST - len(content)
        content.extend(rest[:room])
        rest = rest[room:]
    is_any = any(filled) or bool(rest)
    for number, (one, content) in enumerate(zip(slices, filled, strict=True)):
        if content or (not is_any and number == 0):
            changed = {**one, "metadata": {**one["metadata"], "labels": labels(service)}, "endpoints": content}
            changes.updates.extend([changed] if _is_other(one, changed) else [])
        else:
            changes.deletes.append(one)
    if rest or not slices:
        parts = [rest[at : at + MOST] for at in range(0, len(rest), MOST)] or [[]]
        changes.creates.extend(_new(service, group, part) for part in parts)


def _staying(slice_: Object, missing: dict[str, Object]) -> list[Object]:
    """What stays in the slice, as it is now. That is not missing any more."""
    uids = [(one.get("targetRef") or {}).get("uid", "") for one in slice_.get("endpoints") or ()]
    return [missing.pop(uid) for uid in uids if uid in missing]


def _is_other(one: Object, changed: Object) -> bool:
    is_same = (one.get("endpoints") or []) == changed["endpoints"]
    return not is_same or (one["metadata"].get("labels") or {}) != changed["metadata"]["labels"]


def labels(service: Object) -> dict[str, str]:
    """The labels of a service's slices: its own, and by which they are found."""
    own = service["metadata"].get("labels") or {}
    headless = {HEADLESS: ""} if service_pods.is_headless(service) else {}
    kept = {name: value for name, value in own.items() if name != HEADLESS}
    return {**kept, **headless, NAME: service["metadata"]["name"], MANAGED_BY: US}


def is_ours(slice_: Object) -> bool:
    """Whether the slice is one that we look after."""
    return bool((slice_["metadata"].get("labels") or {}).get(MANAGED_BY) == US)


def service_of(slice_: Object) -> str:
    """The name of the service that the slice is for."""
    return str((slice_["metadata"].get("labels") or {}).get(NAME, ""))


def group_of(slice_: Object) -> Group:
    """What its endpoints have in common."""
    listed = slice_.get("ports") or []
    found = (Port(one.get("name") or "", one["protocol"], one["port"], one.get("appProtocol") or "") for one in listed)
    return slice_["addressType"], tuple(found)


def _new(service: Object, group: Group, content: list[Object]) -> Object:
    family, ports = group
    name = service["metadata"]["name"]
    meta = {"generateName": f"{name}-", "labels": labels(service), "ownerReferences": [SERVICE.reference(service)]}
    return {"metadata": meta, "addressType": family, "ports": [one.written() for one in ports], "endpoints": content}
