"""Validates Services: their ports, addresses, and the fields that each type allows."""

from __future__ import annotations

from typing import Any

from probate.api import metadata, names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, not_supported, required
from probate.kinds.core.pods.validation.containers import PROTOCOLS
from probate.kinds.core.services.address_validation import check_addressing, is_headless
from probate.kinds.core.services.strategy import has_health_check_node_port
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_between,
    check_choice,
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
from probate.kinds.shared.ip_addresses import check_new_cidr
from probate.kinds.shared.reachable_addresses import check_reachable

_SPEC = FieldPath("spec")
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_NOT_EXTERNAL = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
_LOAD_BALANCER_ONLY = ("loadBalancerClass", "allocateLoadBalancerNodePorts")
_ONLY = "may only be used when `type` is 'LoadBalancer'"
_ANNOTATIONS = FieldPath("metadata") / "annotations"
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_SOURCES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_HEALTH = "healthCheckNodePort"
_MAX_AFFINITY_SECONDS = 86_400


def check_service(service: Value) -> Problems:
    """Validates a Service."""
    spec = child(service, "spec")
    found = check_addressing(spec)
    yield from found
    if found:
        return
    annotations = child(child(service, "metadata"), "annotations")
    yield from _check_annotations(annotations)
    yield from _check_type(spec)
    yield from _check_ports(spec)
    yield from metadata.validate_labels(spec.get("selector"), _SPEC / "selector")
    yield from _check_affinity(spec)
    for index, address in enumerate(texts(spec, "externalIPs")):
        yield from check_reachable(address, _SPEC / "externalIPs" / index)
    yield from _check_policies(spec)
    yield from _check_load_balancer(spec, annotations)


def update_service(new: Value, old: Value) -> Problems:
    """Validates that the cluster IP does not change as long as the Service has one."""
    spec, before = child(new, "spec"), child(old, "spec")
    if check_addressing(spec):
        return
    if "ExternalName" not in {_type(spec), _type(before)}:
        yield from _check_first_kept(spec, before, "clusterIPs")
        yield from _check_first_kept(spec, before, "ipFamilies")
    if _type(spec) == _type(before) == "LoadBalancer" and text(spec, "loadBalancerClass") != text(before, "loadBalancerClass"):
        yield invalid(_SPEC / "loadBalancerClass", text(spec, "loadBalancerClass"), "may not change once set")
    if has_health_check_node_port(spec) and has_health_check_node_port(before) and spec.get(_HEALTH) != before.get(_HEALTH):
        yield forbidden(_SPEC / _HEALTH, "field is immutable")


def _type(spec: Value) -> str:
    return text(spec, "type") or "ClusterIP"


def _check_annotations(annotations: Value) -> Problems:
    hints, mode = annotations.get(_HINTS), annotations.get(_MODE)
    if hints is not None and mode is not None and hints != mode:
        yield invalid(_ANNOTATIONS @ _MODE, mode, f"must match annotations[{_HINTS}] when both are specified")


def _check_type(spec: Value) -> Problems:
    yield from check_choice(spec, _SPEC, "type", supported=_TYPES)
    if _type(spec) == "ExternalName":
        yield from (
            forbidden(_SPEC / field, "may not be set for ExternalName services") for field in _NOT_EXTERNAL if spec.get(field)
        )
        name = text(spec, "externalName").removesuffix(".")
        yield from (
            check_rule(name, _SPEC / "externalName", names.validate_dns_subdomain) if name else [required(_SPEC / "externalName")]
        )
    elif not items(spec, "ports") and not is_headless(spec):
        yield required(_SPEC / "ports")
    if _type(spec) in {"NodePort", "LoadBalancer"} and is_headless(spec):
        yield invalid(_SPEC / "clusterIPs" / 0, "None", f"may not be set to 'None' for {_type(spec)} services")


def _check_ports(spec: Value) -> Problems:
    seen_names: set[Any] = set()
    seen_ports: set[Any] = set()
    seen_node_ports: set[Any] = set()
    for port, at in each(spec, _SPEC, "ports"):
        yield from _check_port(port, at, is_name_required=len(items(spec, "ports")) > 1)
        yield from check_unique(port, at, "name", seen=seen_names)
        protocol = text(port, "protocol") or "TCP"
        if (protocol, port.get("port")) in seen_ports:
            yield duplicate(at, {"protocol": protocol, "port": port.get("port")})
        seen_ports.add((protocol, port.get("port")))
        if port.get("nodePort"):
            yield from _check_node_port(spec, port, at / "nodePort")
            if (protocol, port["nodePort"]) in seen_node_ports:
                yield duplicate(at / "nodePort", port["nodePort"])
            seen_node_ports.add((protocol, port["nodePort"]))


def _check_port(port: Value, path: FieldPath, *, is_name_required: bool) -> Problems:
    if not text(port, "name") and is_name_required:
        yield required(path / "name")
    yield from check_optional_name(port, path, "name", rule=names.validate_dns_label)
    number = port.get("port") or 0
    yield from check_port(number, path / "port")
    yield from check_choice(port, path, "protocol", supported=PROTOCOLS)
    yield from check_port_or_name(port.get("targetPort") or number, path / "targetPort")
    if port.get("appProtocol") is not None:
        yield from check_rule(port["appProtocol"], path / "appProtocol", names.validate_qualified_name)


def _check_node_port(spec: Value, port: Value, path: FieldPath) -> Problems:
    if _type(spec) == "ClusterIP":
        yield forbidden(path, "may not be used when `type` is 'ClusterIP'")
    else:
        yield from check_port(port["nodePort"], path)


def _check_affinity(spec: Value) -> Problems:
    affinity, config = text(spec, "sessionAffinity") or "None", child(spec, "sessionAffinityConfig")
    yield from check_choice(spec, _SPEC, "sessionAffinity", supported=("ClientIP", "None"))
    if affinity == "None" and spec.get("sessionAffinityConfig") is not None:
        yield forbidden(_SPEC / "sessionAffinityConfig", "must not be set when session affinity is None")
    elif affinity == "ClientIP":
        at = _SPEC / "sessionAffinityConfig" / "clientIP"
        yield from check_between(child(config, "clientIP"), at, "timeoutSeconds", low=1, high=_MAX_AFFINITY_SECONDS)


def _check_policies(spec: Value) -> Problems:
    external = text(spec, "externalTrafficPolicy")
    is_external = _type(spec) in {"NodePort", "LoadBalancer"} or bool(items(spec, "externalIPs"))
    if external and not is_external:
        yield invalid(_SPEC / "externalTrafficPolicy", external, "may only be set for externally-accessible services")
    else:
        yield from check_choice(spec, _SPEC, "externalTrafficPolicy", supported=("Cluster", "Local"))
    yield from check_choice(spec, _SPEC, "internalTrafficPolicy", supported=("Cluster", "Local"))
    if spec.get("trafficDistribution") not in (None, *_DISTRIBUTIONS):
        yield not_supported(_SPEC / "trafficDistribution", spec["trafficDistribution"], _DISTRIBUTIONS)
    health = spec.get(_HEALTH)
    if health and not has_health_check_node_port(spec):
        yield invalid(_SPEC / _HEALTH, health, "may only be set when `type` is 'LoadBalancer' and traffic is 'Local'")


def _check_load_balancer(spec: Value, annotations: Value) -> Problems:
    yield from _check_sources(spec, annotations)
    if _type(spec) == "LoadBalancer":
        yield from check_optional_name(spec, _SPEC, "loadBalancerClass", rule=names.validate_qualified_name)
        return
    given = [field for field in _LOAD_BALANCER_ONLY if spec.get(field) not in (None, "")]
    yield from (forbidden(_SPEC / field, _ONLY) for field in given)


def _check_sources(spec: Value, annotations: Value) -> Problems:
    """Validates the load balancer source ranges: those of the field (with Kubernetes' own path), or else of the annotation."""
    ranges, at = texts(spec, "loadBalancerSourceRanges"), _SPEC / "LoadBalancerSourceRanges"
    places = [at / index for index in range(len(ranges))]
    if not ranges and annotations.get(_SOURCES) is not None:
        at, value = _ANNOTATIONS @ _SOURCES, annotations[_SOURCES].strip()
        ranges = value.split(",") if value else []
        places = [at] * len(ranges)
    elif not ranges:
        return
    if _type(spec) != "LoadBalancer":
        yield forbidden(at, _ONLY)
    for cidr, place in zip(ranges, places, strict=True):
        yield from check_new_cidr(cidr.strip(), place)


def _check_first_kept(spec: Value, before: Value, field: str) -> Problems:
    new, old = texts(spec, field), texts(before, field)
    if old and not new:
        yield invalid(_SPEC / field / 0, new, "may not be unset")
    elif old and new[0] != old[0]:
        yield invalid(_SPEC / field / 0, new, "may not change once set")
