"""Services: address families, and what a change may leave out because it was given by the server.

The cluster has one family. Addresses and ports are allocated by the server after this: whoever has neither address nor None, and is
no ExternalName, needs one.
"""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, child, fill, items, made

_FAMILY = "IPv4"
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def create_service(service: Object) -> None:
    """Prepare a new Service."""
    if (spec := made(service, "spec")) is not None:
        _pair_addresses(spec)
        _choose_families(spec)


def update_service(new: Object, old: Object) -> None:
    """Prepare a changed Service: what it leaves out, and what its type no longer has."""
    spec, before = made(new, "spec"), child(old, "spec")
    if spec is None or before is None:
        return
    _keep_addresses(spec, before)
    _keep_ports(spec, before)
    _drop_for_type(spec, before)
    _pair_addresses(spec)
    if has_address(spec):
        fill(spec, **{name: before[name] for name in ("ipFamilyPolicy", "ipFamilies") if name in before})
    _choose_families(spec)


def has_address(spec: Object) -> bool:
    """Whether services of this type have addresses in the cluster."""
    return spec.get("type") != "ExternalName"


def has_node_ports(spec: Object) -> bool:
    """Whether services of this type have ports on the nodes."""
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def has_health_check(spec: Object) -> bool:
    """Whether each node says if it has an endpoint of this service."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _pair_addresses(spec: Object) -> None:
    """The first of the addresses has a field of its own."""
    addresses = spec.get("clusterIPs")
    if spec.get("clusterIP"):
        fill(spec, clusterIPs=[spec["clusterIP"]])
    elif isinstance(addresses, list) and addresses:
        spec["clusterIP"] = addresses[0]


def _choose_families(spec: Object) -> None:
    if not has_address(spec):
        return
    is_free = spec.get("clusterIP") == "None" and not spec.get("selector")  # no address, no pods: it may have any family
    fill(spec, ipFamilyPolicy="RequireDualStack" if is_free else "SingleStack", ipFamilies=_families(spec))
    families = spec["ipFamilies"]
    if is_free and spec["ipFamilyPolicy"] != "SingleStack" and isinstance(families, list) and len(families) == 1:
        spec["ipFamilies"] = [families[0], _OTHER.get(str(families[0]), _FAMILY)]


def _families(spec: Object) -> list[str]:
    addresses = spec.get("clusterIPs")
    given = [one for one in addresses if isinstance(one, str) and one != "None"] if isinstance(addresses, list) else []
    return ["IPv6" if ":" in address else "IPv4" for address in given] or [_FAMILY]


def _keep_addresses(spec: Object, before: Object) -> None:
    if not (has_address(spec) and has_address(before)):
        return
    if not spec.get("clusterIP") and before.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
    if not spec.get("clusterIPs") and before.get("clusterIPs") and spec.get("clusterIP") == before.get("clusterIP"):
        spec["clusterIPs"] = before["clusterIPs"]
    if spec.get("clusterIP") not in (None, before.get("clusterIP")) and spec.get("clusterIPs") == before.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def _keep_ports(spec: Object, before: Object) -> None:
    if has_node_ports(spec) and has_node_ports(before):
        taken = _node_ports(spec)
        for port in items(spec, "ports"):
            same = [one for one in items(before, "ports") if all(one.get(key) == port.get(key) for key in ("protocol", "port"))]
            if same and not port.get("nodePort") and same[0].get("nodePort") and same[0]["nodePort"] not in taken:
                port["nodePort"] = same[0]["nodePort"]
    if has_health_check(spec) and has_health_check(before) and before.get("healthCheckNodePort"):
        fill(spec, healthCheckNodePort=before["healthCheckNodePort"])


def _drop_for_type(spec: Object, before: Object) -> None:
    """Drop what came with the old type and was not touched. What was changed is for the checks to refuse."""
    if has_address(before) and not has_address(spec):
        _drop_unchanged(spec, before, "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    if has_node_ports(before) and not has_node_ports(spec) and _node_ports(spec) == _node_ports(before):
        for port in items(spec, "ports"):
            port.pop("nodePort", None)
    if has_health_check(before) and not has_health_check(spec):
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
