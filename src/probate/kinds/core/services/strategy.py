"""Prepares Services: IP families, and fields that the server assigned and an update may omit.

The cluster has one IP family. The server allocates addresses and ports after this step: a Service needs an address unless it has
one, has None, or is an ExternalName.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import child, ensure_child, fill, items

_FAMILY = "IPv4"
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def create_service(service: Object) -> None:
    """Prepares a new Service."""
    if (spec := ensure_child(service, "spec")) is not None:
        _pair_addresses(spec)
        _choose_families(spec)


def update_service(new: Object, old: Object) -> None:
    """Prepares a changed Service: restores fields that the client omits, and drops those that its type does not have."""
    spec, before = ensure_child(new, "spec"), child(old, "spec")
    if spec is None or before is None:
        return
    _keep_addresses(spec, before)
    _keep_ports(spec, before)
    _drop_for_type(spec, before)
    _pair_addresses(spec)
    if has_cluster_ip(spec):
        fill(spec, **{name: before[name] for name in ("ipFamilyPolicy", "ipFamilies") if name in before})
    _choose_families(spec)


def has_cluster_ip(spec: Object) -> bool:
    """Reports whether Services of this type have cluster IPs."""
    return spec.get("type") != "ExternalName"


def has_node_ports(spec: Object) -> bool:
    """Reports whether Services of this type have node ports."""
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def has_health_check_node_port(spec: Object) -> bool:
    """Reports whether each node reports if it has an endpoint of this Service (health check node port)."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _pair_addresses(spec: Object) -> None:
    """Keeps `clusterIP` and the first of `clusterIPs` equal."""
    addresses = spec.get("clusterIPs")
    if spec.get("clusterIP"):
        fill(spec, clusterIPs=[spec["clusterIP"]])
    elif isinstance(addresses, list) and addresses:
        spec["clusterIP"] = addresses[0]


def _choose_families(spec: Object) -> None:
    if not has_cluster_ip(spec):
        return
    is_free = spec.get("clusterIP") == "None" and not spec.get("selector")  # neither an address nor pods: any family is allowed
    fill(spec, ipFamilyPolicy="RequireDualStack" if is_free else "SingleStack", ipFamilies=_families(spec))
    families = spec["ipFamilies"]
    if is_free and spec["ipFamilyPolicy"] != "SingleStack" and isinstance(families, list) and len(families) == 1:
        spec["ipFamilies"] = [families[0], _OTHER.get(str(families[0]), _FAMILY)]


def _families(spec: Object) -> list[str]:
    addresses = spec.get("clusterIPs")
    given = [one for one in addresses if isinstance(one, str) and one != "None"] if isinstance(addresses, list) else []
    return ["IPv6" if ":" in address else "IPv4" for address in given] or [_FAMILY]


def _keep_addresses(spec: Object, before: Object) -> None:
    if not (has_cluster_ip(spec) and has_cluster_ip(before)):
        return
    if not spec.get("clusterIP") and before.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
    if not spec.get("clusterIPs") and before.get("clusterIPs") and spec.get("clusterIP") == before.get("clusterIP"):
        spec["clusterIPs"] = before["clusterIPs"]
    if spec.get("clusterIP") not in (None, before.get("clusterIP")) and spec.get("clusterIPs") == before.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def _keep_ports(spec: Object, before: Object) -> None:
    if has_node_ports(spec) and has_node_ports(before):
        node_ports = _node_ports(spec)
        for port in items(spec, "ports"):
            same = [one for one in items(before, "ports") if all(one.get(key) == port.get(key) for key in ("protocol", "port"))]
            if same and not port.get("nodePort") and same[0].get("nodePort") and same[0]["nodePort"] not in node_ports:
                port["nodePort"] = same[0]["nodePort"]
    if has_health_check_node_port(spec) and has_health_check_node_port(before) and before.get("healthCheckNodePort"):
        fill(spec, healthCheckNodePort=before["healthCheckNodePort"])


def _drop_for_type(spec: Object, before: Object) -> None:
    """Drops unchanged fields that belong to the old type. Changed ones are kept, so that validation rejects them."""
    if has_cluster_ip(before) and not has_cluster_ip(spec):
        _drop_unchanged(spec, before, "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    if has_node_ports(before) and not has_node_ports(spec) and _node_ports(spec) == _node_ports(before):
        for port in items(spec, "ports"):
            port.pop("nodePort", None)
    if has_health_check_node_port(before) and not has_health_check_node_port(spec):
        _drop_unchanged(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if spec.get("type") in ("ClusterIP", "ExternalName") and not spec.get("externalIPs"):
        _drop_unchanged(spec, before, "externalTrafficPolicy")


def _drop_unchanged(spec: Object, before: Object, *names: str) -> None:
    for name in names:
        if name in spec and spec[name] == before.get(name):
            del spec[name]


def _node_ports(spec: Object) -> list[object]:
    return [port.get("nodePort") for port in items(spec, "ports")]
