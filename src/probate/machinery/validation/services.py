"""Services: their ports, addresses, and what goes with which type."""

from __future__ import annotations

import ipaddress
from typing import Any

from probate.machinery import metadata, names
from probate.machinery.problems import Path, duplicate, forbidden, invalid, not_supported, required
from probate.machinery.validation.fields import (
    Problems,
    Value,
    check_between,
    check_choice,
    check_cidr,
    check_ip,
    check_optional_name,
    check_port,
    check_port_or_name,
    check_rule,
    check_unique,
    child,
    each,
    items,
    text,
    texts,
)
from probate.machinery.validation.pods.containers import PROTOCOLS

_SPEC = Path("spec")
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_NOT_EXTERNAL = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
_LOAD_BALANCER_ONLY = ("loadBalancerSourceRanges", "loadBalancerClass", "allocateLoadBalancerNodePorts")
_MAX_AFFINITY_SECONDS = 86_400
_VERSION = 4  # of the addresses that the cluster gives


def check_service(service: Value) -> Problems:
    """A Service."""
    spec = child(service, "spec")
    yield from _check_type(spec)
    yield from _check_ports(spec)
    yield from metadata.check_labels(spec.get("selector"), _SPEC / "selector")
    yield from _check_affinity(spec)
    yield from _check_addresses(spec)
    yield from _check_families(spec)
    yield from _check_policies(spec)
    yield from _check_load_balancer(spec)


def update_service(new: Value, old: Value) -> Problems:
    """The address that clients know stays, as long as the Service has one."""
    spec, before = child(new, "spec"), child(old, "spec")
    if "ExternalName" not in {_type(spec), _type(before)}:
        yield from _check_first_kept(spec, before, "clusterIPs")
        yield from _check_first_kept(spec, before, "ipFamilies")
    if _type(spec) == _type(before) == "LoadBalancer" and text(spec, "loadBalancerClass") != text(before, "loadBalancerClass"):
        yield invalid(_SPEC / "loadBalancerClass", text(spec, "loadBalancerClass"), "may not change once set")


def _type(spec: Value) -> str:
    return text(spec, "type") or "ClusterIP"


def _is_headless(spec: Value) -> bool:
    return text(spec, "clusterIP") == "None"


def _check_type(spec: Value) -> Problems:
    yield from check_choice(spec, _SPEC, "type", _TYPES)
    if _type(spec) == "ExternalName":
        yield from (
            forbidden(_SPEC / field, "may not be set for ExternalName services") for field in _NOT_EXTERNAL if spec.get(field)
        )
        name = text(spec, "externalName").removesuffix(".")
        yield from check_rule(name, _SPEC / "externalName", names.dns_subdomain) if name else [required(_SPEC / "externalName")]
    elif not items(spec, "ports") and not _is_headless(spec):
        yield required(_SPEC / "ports")
    if _type(spec) in {"NodePort", "LoadBalancer"} and _is_headless(spec):
        yield invalid(_SPEC / "clusterIPs" / 0, "None", f"may not be set to 'None' for {_type(spec)} services")


def _check_ports(spec: Value) -> Problems:
    seen_names: set[Any] = set()
    seen_ports: set[Any] = set()
    seen_node_ports: set[Any] = set()
    for port, at in each(spec, _SPEC, "ports"):
        yield from _check_port(port, at, is_name_required=len(items(spec, "ports")) > 1)
        yield from check_unique(port, at, "name", seen_names)
        protocol = text(port, "protocol") or "TCP"
        if (protocol, port.get("port")) in seen_ports:
            yield duplicate(at, {"protocol": protocol, "port": port.get("port")})
        seen_ports.add((protocol, port.get("port")))
        if port.get("nodePort"):
            yield from _check_node_port(spec, port, at / "nodePort")
            if (protocol, port["nodePort"]) in seen_node_ports:
                yield duplicate(at / "nodePort", port["nodePort"])
            seen_node_ports.add((protocol, port["nodePort"]))


def _check_port(port: Value, path: Path, *, is_name_required: bool) -> Problems:
    if not text(port, "name") and is_name_required:
        yield required(path / "name")
    yield from check_optional_name(port, path, "name", names.dns_label)
    number = port.get("port") or 0
    yield from check_port(number, path / "port")
    yield from check_choice(port, path, "protocol", PROTOCOLS)
    yield from check_port_or_name(port.get("targetPort") or number, path / "targetPort")
    yield from check_optional_name(port, path, "appProtocol", names.qualified_name)


def _check_node_port(spec: Value, port: Value, path: Path) -> Problems:
    if _type(spec) == "ClusterIP":
        yield forbidden(path, "may not be used when `type` is 'ClusterIP'")
    else:
        yield from check_port(port["nodePort"], path)


def _check_affinity(spec: Value) -> Problems:
    affinity, config = text(spec, "sessionAffinity") or "None", child(spec, "sessionAffinityConfig")
    yield from check_choice(spec, _SPEC, "sessionAffinity", ("ClientIP", "None"))
    if affinity == "None" and spec.get("sessionAffinityConfig") is not None:
        yield forbidden(_SPEC / "sessionAffinityConfig", "must not be set when session affinity is None")
    elif affinity == "ClientIP":
        at = _SPEC / "sessionAffinityConfig" / "clientIP"
        yield from check_between(child(config, "clientIP"), at, "timeoutSeconds", 1, _MAX_AFFINITY_SECONDS)


def _check_addresses(spec: Value) -> Problems:
    addresses = texts(spec, "clusterIPs") or [text(spec, "clusterIP")]
    if any(addresses) and not text(spec, "clusterIP"):
        yield invalid(_SPEC / "clusterIPs", addresses, "must be empty when `clusterIP` is not specified")
    if text(spec, "clusterIP") and addresses[0] != text(spec, "clusterIP"):
        yield invalid(_SPEC / "clusterIPs", addresses, "first value must match `clusterIP`")
    for index, address in enumerate(addresses):
        if address and (address != "None" or index):
            yield from _check_address(address, _SPEC / "clusterIPs" / index)
    for index, address in enumerate(texts(spec, "externalIPs")):
        yield from _check_external_ip(address, _SPEC / "externalIPs" / index)


def _check_address(address: str, path: Path) -> Problems:
    found = list(check_ip(address, path))
    yield from found
    if not found and ipaddress.ip_address(address).version != _VERSION:
        yield invalid(path, address, "IPv6 is not configured on this cluster")


def _check_external_ip(address: str, path: Path) -> Problems:
    found = list(check_ip(address, path))
    yield from found
    if not found and not _is_reachable(address):
        yield invalid(path, address, "may not be unspecified, loopback, link-local or multicast")


def _is_reachable(address: str) -> bool:
    ip = ipaddress.ip_address(address)
    return not (ip.is_unspecified or ip.is_loopback or ip.is_link_local or ip.is_multicast)


def _check_families(spec: Value) -> Problems:
    yield from check_choice(spec, _SPEC, "ipFamilyPolicy", ("SingleStack", "PreferDualStack", "RequireDualStack"))
    seen: set[str] = set()
    for index, family in enumerate(texts(spec, "ipFamilies")):
        if family not in {"IPv4", "IPv6"}:
            yield not_supported(_SPEC / "ipFamilies" / index, family, ["IPv4", "IPv6"])
        elif family in seen:
            yield duplicate(_SPEC / "ipFamilies" / index, family)
        seen.add(family)
    if _is_headless(spec) and not spec.get("selector"):  # no address, no pods: it may have any family
        return
    if text(spec, "ipFamilyPolicy") == "RequireDualStack":
        yield invalid(_SPEC / "ipFamilyPolicy", "RequireDualStack", "this cluster is not configured for dual-stack services")
    for index, family in enumerate(texts(spec, "ipFamilies")):
        if family == "IPv6" and ":" not in "".join(texts(spec, "clusterIPs")[index : index + 1]):
            yield invalid(_SPEC / "ipFamilies" / index, family, "not configured on this cluster")


def _check_policies(spec: Value) -> Problems:
    external = text(spec, "externalTrafficPolicy")
    is_external = _type(spec) in {"NodePort", "LoadBalancer"} or bool(items(spec, "externalIPs"))
    if external and not is_external:
        yield invalid(_SPEC / "externalTrafficPolicy", external, "may only be set for externally-accessible services")
    else:
        yield from check_choice(spec, _SPEC, "externalTrafficPolicy", ("Cluster", "Local"))
    yield from check_choice(spec, _SPEC, "internalTrafficPolicy", ("Cluster", "Local"))
    yield from check_choice(spec, _SPEC, "trafficDistribution", _DISTRIBUTIONS)
    health = spec.get("healthCheckNodePort")
    if health and (_type(spec) != "LoadBalancer" or external != "Local"):
        yield invalid(_SPEC / "healthCheckNodePort", health, "may only be set when `type` is 'LoadBalancer' and traffic is 'Local'")


def _check_load_balancer(spec: Value) -> Problems:
    if _type(spec) != "LoadBalancer":
        given = [field for field in _LOAD_BALANCER_ONLY if spec.get(field) not in (None, "", [])]
        yield from (forbidden(_SPEC / field, "may only be used when `type` is 'LoadBalancer'") for field in given)
        return
    for index, cidr in enumerate(texts(spec, "loadBalancerSourceRanges")):
        yield from check_cidr(cidr.strip(), _SPEC / "loadBalancerSourceRanges" / index)
    yield from check_optional_name(spec, _SPEC, "loadBalancerClass", names.qualified_name)


def _check_first_kept(spec: Value, before: Value, field: str) -> Problems:
    new, old = texts(spec, field), texts(before, field)
    if old and not new:
        yield invalid(_SPEC / field / 0, new, "may not be unset")
    elif old and new[0] != old[0]:
        yield invalid(_SPEC / field / 0, new, "may not change once set")
