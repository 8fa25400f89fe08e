"""The Endpoints of a Service: one object that says all, for clients that do not know EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable

from probate.client.objects import Kind, Object
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.endpoints import service_pods
from probate.controllers.workloads.endpoints.service_pods import HEADLESS, Port

ENDPOINTS = Kind("", "v1", "endpoints")
MANAGED_BY = "endpoints.kubernetes.io/managed-by"
US = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
MOST = 1000
"""Addresses in one object. What is more is left out, and that is said."""


def subsets(service: Object, candidates: Iterable[Object]) -> list[Object]:
    """The addresses, by the ports at which they serve. A pod that is on its way out is not reachable any more."""
    groups: dict[tuple[Port, ...], dict[str, list[Object]]] = {}
    for pod in service_pods.reachable(service, candidates):
        ports, ip = service_pods.ports(service, pod), _address(service, pod)
        if ip is None or not (service_pods.is_staying(pod) or service_pods.shows_all(service)):
            continue
        if not ports and service["spec"].get("ports"):
            continue
        is_ready = service_pods.shows_all(service) or pod_template.is_ready(pod)
        group = groups.setdefault(ports, {})
        group.setdefault("addresses" if is_ready else "notReadyAddresses", []).append(_described(service, pod, ip))
    return [{**found, **({"ports": [one.written() for one in ports]} if ports else {})} for ports, found in sorted(groups.items())]


def within_limits(found: list[Object]) -> tuple[list[Object], bool]:
    """As many as fit, those that are ready first, and whether that is not all."""
    room, kept = MOST, [dict[str, list[Object]]() for _ in found]
    for name in ("addresses", "notReadyAddresses"):
        for subset, part in zip(found, kept, strict=True):
            taken = (subset.get(name) or [])[:room]
            room -= len(taken)
            part.update({name: taken} if taken else {})
    total = sum(len(subset.get(name) or ()) for subset in found for name in ("addresses", "notReadyAddresses"))
    ports = [{"ports": subset["ports"]} if "ports" in subset else {} for subset in found]
    return [{**part, **port} for part, port in zip(kept, ports, strict=True) if part], total > MOST


def labels(service: Object) -> dict[str, str]:
    """The labels of a service's endpoints."""
    own = {name: value for name, value in (service["metadata"].get("labels") or {}).items() if name != HEADLESS}
    return {**own, **({HEADLESS: ""} if service_pods.is_headless(service) else {}), MANAGED_BY: US}


def is_ours(endpoints: Object) -> bool:
    """Whether it is we who made the object."""
    return bool((endpoints["metadata"].get("labels") or {}).get(MANAGED_BY) == US)


def described(service: Object, before: Object | None, candidates: Iterable[Object]) -> Object:
    """The object as it is to be, made from what it was."""
    found, is_cut = within_limits(subsets(service, candidates))
    old: Object = before or {"metadata": {"name": service["metadata"]["name"]}}
    notes = {name: text for name, text in (old["metadata"].get("annotations") or {}).items() if name != OVER_CAPACITY}
    notes |= {OVER_CAPACITY: "truncated"} if is_cut else {}
    meta = {name: value for name, value in old["metadata"].items() if name != "annotations"}
    meta |= {"labels": labels(service), **({"annotations": notes} if notes else {})}
    rest = {name: value for name, value in old.items() if name != "subsets"}
    return {**rest, "metadata": meta, **({"subsets": found} if found else {})}


def _address(service: Object, pod: Object) -> str | None:
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    return service_pods.address(pod, families[0])


def _described(service: Object, pod: Object, ip: str) -> Object:
    hostname, node = service_pods.hostname(service, pod), pod["spec"].get("nodeName")
    return {
        "ip": ip,
        **({"hostname": hostname} if hostname else {}),
        **({"nodeName": node} if node else {}),
        "targetRef": service_pods.reference(pod),
    }
