"""Sets the defaults of Services, Endpoints and EndpointSlices. The server allocates addresses and node ports separately."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import below, ensure_child, fill, fill_zero, items

_THREE_HOURS = 10800
_INTERNAL = ("ClusterIP", "NodePort", "LoadBalancer")


def default_service(service: Object) -> None:
    """Sets the defaults of a Service."""
    spec = ensure_child(service, "spec")
    if spec is None:
        return
    fill_zero(spec, sessionAffinity="None", type="ClusterIP")
    _default_affinity(spec)
    _default_ports(spec)
    if _is_reachable_from_outside(spec):
        fill_zero(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in _INTERNAL:
        fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)
        _default_ingress(service)


def default_endpoints(endpoints: Object) -> None:
    """Sets the defaults of Endpoints."""
    for subset in items(endpoints, "subsets"):
        for port in items(subset, "ports"):
            fill_zero(port, protocol="TCP")


def default_endpoint_slice(endpoint_slice: Object) -> None:
    """Sets the defaults of an EndpointSlice."""
    for port in items(endpoint_slice, "ports"):
        fill(port, name="", protocol="TCP")


def _default_affinity(spec: Object) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        given = below(spec, "sessionAffinityConfig", "clientIP") or {}
        if given.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _THREE_HOURS}}


def _default_ports(spec: Object) -> None:
    for port in items(spec, "ports"):
        fill_zero(port, protocol="TCP", targetPort=port.get("port"))


def _is_reachable_from_outside(spec: Object) -> bool:
    return spec["type"] in ("NodePort", "LoadBalancer") or (spec["type"] == "ClusterIP" and bool(spec.get("externalIPs")))


def _default_ingress(service: Object) -> None:
    for ingress in items(below(service, "status", "loadBalancer"), "ingress"):
        if ingress.get("ip"):
            fill(ingress, ipMode="VIP")
