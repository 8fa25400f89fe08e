"""The Endpoints object of a Service: all addresses in one object, for clients that do not know EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.endpoints import service_pods
from probate.controllers.workloads.endpoints.service_pods import HEADLESS, Port

ENDPOINTS = GroupVersionResource("", "v1", "endpoints")
MANAGED_BY = "endpoints.kubernetes.io/managed-by"
CONTROLLER_NAME = "endpoint-controller"
"""The value of the managed-by label."""
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
MAX_ADDRESSES = 1000
"""The maximum number of addresses in an object. Further addresses are left out, and an annotation says so."""


def subsets(service: Object, candidates: Iterable[Object]) -> list[Object]:
    """Returns the addresses, grouped by ports. A pod that is being deleted is left out unless the Service publishes it."""
    groups: dict[tuple[Port, ...], dict[str, list[Object]]] = {}
    for pod in service_pods.reachable_pods(service, candidates):
        ports, ip = service_pods.ports(service, pod), _address(service, pod)
        if ip is None or (is_deleting(pod) and not service_pods.publishes_not_ready(service)):
            continue
        if not ports and service["spec"].get("ports"):
            continue
        is_ready = service_pods.publishes_not_ready(service) or pod_template.is_ready(pod)
        group = groups.setdefault(ports, {})
        group.setdefault("addresses" if is_ready else "notReadyAddresses", []).append(_endpoint_address(service, pod, ip))
    return [
        {**addresses, **({"ports": [port.to_object() for port in ports]} if ports else {})}
        for ports, addresses in sorted(groups.items())
    ]


def truncate_subsets(subsets: list[Object]) -> tuple[list[Object], bool]:
    """Returns as many addresses as fit, ready ones first, and whether addresses were left out."""
    remaining, truncated = MAX_ADDRESSES, [dict[str, list[Object]]() for _ in subsets]
    for name in ("addresses", "notReadyAddresses"):
        for subset, truncated_subset in zip(subsets, truncated, strict=True):
            included = (subset.get(name) or [])[:remaining]
            remaining -= len(included)
            truncated_subset.update({name: included} if included else {})
    total = sum(len(subset.get(name) or ()) for subset in subsets for name in ("addresses", "notReadyAddresses"))
    ports = [{"ports": subset["ports"]} if "ports" in subset else {} for subset in subsets]
    return [
        {**truncated_subset, **ports_entry}
        for truncated_subset, ports_entry in zip(truncated, ports, strict=True)
        if truncated_subset
    ], total > MAX_ADDRESSES


def labels(service: Object) -> dict[str, str]:
    """Returns the labels of a Service's Endpoints."""
    copied = {name: value for name, value in (service["metadata"].get("labels") or {}).items() if name != HEADLESS}
    return {**copied, **({HEADLESS: ""} if service_pods.is_headless(service) else {}), MANAGED_BY: CONTROLLER_NAME}


def is_managed(endpoints: Object) -> bool:
    """Returns whether this controller created the object."""
    return bool((endpoints["metadata"].get("labels") or {}).get(MANAGED_BY) == CONTROLLER_NAME)


def desired_object(service: Object, existing: Object | None, candidates: Iterable[Object]) -> Object:
    """Returns the desired object, derived from the existing one."""
    subset_list, is_truncated = truncate_subsets(subsets(service, candidates))
    base: Object = existing or {"metadata": {"name": service["metadata"]["name"]}}
    annotations = {name: text for name, text in (base["metadata"].get("annotations") or {}).items() if name != OVER_CAPACITY}
    annotations |= {OVER_CAPACITY: "truncated"} if is_truncated else {}
    metadata = {name: value for name, value in base["metadata"].items() if name != "annotations"}
    metadata |= {"labels": labels(service), **({"annotations": annotations} if annotations else {})}
    other_fields = {name: value for name, value in base.items() if name != "subsets"}
    return {**other_fields, "metadata": metadata, **({"subsets": subset_list} if subset_list else {})}


def _address(service: Object, pod: Object) -> str | None:
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    return service_pods.address(pod, families[0])


def _endpoint_address(service: Object, pod: Object, ip: str) -> Object:
    hostname, node = service_pods.hostname(service, pod), pod["spec"].get("nodeName")
    return {
        "ip": ip,
        **({"hostname": hostname} if hostname else {}),
        **({"nodeName": node} if node else {}),
        "targetRef": service_pods.reference(pod),
    }
