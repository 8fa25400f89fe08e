"""Who may talk to whom, and who comes in from outside: NetworkPolicy, Ingress, IngressClass."""

from __future__ import annotations

import ipaddress
from typing import Any

from probate.machinery import names
from probate.machinery.problems import Path, forbidden, invalid, not_supported, required, too_long
from probate.machinery.validation.fields import (
    Problems,
    Value,
    check_choice,
    check_cidr,
    check_given,
    check_name,
    check_optional_name,
    check_port,
    check_port_or_name,
    check_rule,
    check_unchanged,
    child,
    each,
    items,
    text,
    texts,
)
from probate.machinery.validation.pods.containers import PROTOCOLS
from probate.machinery.validation.selectors import check_label_selector

_SPEC = Path("spec")
_PATH_TYPES = ("Exact", "Prefix", "ImplementationSpecific")
_BAD_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_MAX_CONTROLLER = 250
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


def check_ingress(ingress: Value) -> Problems:
    """An Ingress."""
    spec = child(ingress, "spec")
    if not items(spec, "rules") and spec.get("defaultBackend") is None:
        yield invalid(_SPEC, items(spec, "rules"), "either `defaultBackend` or `rules` must be specified")
    if spec.get("defaultBackend") is not None:
        yield from _check_backend(spec["defaultBackend"], _SPEC / "defaultBackend")
    for rule, at in each(spec, _SPEC, "rules"):
        yield from _check_ingress_host(text(rule, "host"), at / "host")
        if rule.get("http") is not None:
            yield from _check_http(rule["http"], at / "http")
    for tls, at in each(spec, _SPEC, "tls"):
        for index, host in enumerate(texts(tls, "hosts")):
            yield from _check_host_name(host, at / "hosts" / index)
        yield from check_optional_name(tls, at, "secretName", names.dns_subdomain)
    yield from check_optional_name(spec, _SPEC, "ingressClassName", names.dns_subdomain)


def create_ingress(ingress: Value) -> Problems:
    """A new Ingress: its class is named once, in the spec or in the old annotation."""
    yield from check_ingress(ingress)
    annotation = child(child(ingress, "metadata"), "annotations").get(_CLASS_ANNOTATION)
    if annotation is not None and text(child(ingress, "spec"), "ingressClassName"):
        yield invalid(Path("annotations") / _CLASS_ANNOTATION, annotation, "can not be set when the class field is also set")


def check_ingress_class(class_: Value) -> Problems:
    """An IngressClass."""
    spec = child(class_, "spec")
    controller = text(spec, "controller")
    if len(controller) > _MAX_CONTROLLER:
        yield too_long(_SPEC / "controller", _MAX_CONTROLLER)
    yield from check_name(spec, _SPEC, "controller", names.domain_path)
    parameters, path = spec.get("parameters"), _SPEC / "parameters"
    if parameters is None:
        return
    yield from check_optional_name(parameters, path, "apiGroup", names.dns_subdomain)
    yield from check_name(parameters, path, "kind", names.path_segment)
    yield from check_name(parameters, path, "name", names.path_segment)
    yield from check_choice(parameters, path, "scope", ("Cluster", "Namespace"))
    if text(parameters, "scope") == "Namespace" and not text(parameters, "namespace"):
        yield required(path / "namespace", "parameters.scope is set to 'Namespace'")
    elif text(parameters, "scope") == "Cluster" and text(parameters, "namespace"):
        yield forbidden(path / "namespace", "parameters.scope is set to 'Cluster'")


def check_network_policy(policy: Value) -> Problems:
    """A NetworkPolicy."""
    spec = child(policy, "spec")
    yield from check_label_selector(child(spec, "podSelector"), _SPEC / "podSelector")
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for rule, at in each(spec, _SPEC, side):
            for port, place in each(rule, at, "ports"):
                yield from _check_policy_port(port, place)
            for peer, place in each(rule, at, peers):
                yield from _check_peer(peer, place)
    types = texts(spec, "policyTypes")
    if len(types) > 2:
        yield invalid(_SPEC / "policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, type_ in enumerate(types):
        if type_ not in {"Ingress", "Egress"}:
            yield not_supported(_SPEC / "policyTypes" / index, type_, ["Ingress", "Egress"])


def check_ip_address(address: Value) -> Problems:
    """An IPAddress: it belongs to something."""
    parent, path = child(address, "spec").get("parentRef"), _SPEC / "parentRef"
    if parent is None:
        yield required(path)
    else:
        yield from check_given(parent, path, "resource", "name")


def check_service_cidr(range_: Value) -> Problems:
    """A ServiceCIDR: one range for each family of addresses at most."""
    cidrs = texts(child(range_, "spec"), "cidrs")
    if not cidrs:
        yield required(_SPEC / "cidrs", "at least one CIDR required")
    elif len(cidrs) > 2:
        yield invalid(_SPEC / "cidrs", cidrs, "may only hold up to 2 values")
    for index, cidr in enumerate(cidrs):
        yield from check_cidr(cidr, _SPEC / "cidrs" / index)


def update_ip_address(new: Value, old: Value) -> Problems:
    """What an address belongs to stays."""
    yield from check_unchanged(child(new, "spec").get("parentRef"), child(old, "spec").get("parentRef"), _SPEC / "parentRef")


def update_ingress_class(new: Value, old: Value) -> Problems:
    """The controller stays."""
    yield from check_unchanged(child(new, "spec").get("controller"), child(old, "spec").get("controller"), _SPEC / "controller")


def _check_ingress_host(host: str, path: Path) -> Problems:
    if host and _is_ip(host):
        yield invalid(path, host, "must be a DNS name, not an IP address")
    if host:
        yield from _check_host_name(host, path)


def _check_host_name(host: str, path: Path) -> Problems:
    yield from check_rule(host, path, names.wildcard_subdomain if "*" in host else names.dns_subdomain)


def _is_ip(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _check_http(http: Value, path: Path) -> Problems:
    if not items(http, "paths"):
        yield required(path / "paths")
    for rule, at in each(http, path, "paths"):
        yield from _check_path(rule, at)


def _check_path(rule: Value, path: Path) -> Problems:
    kind, value = text(rule, "pathType"), text(rule, "path")
    if not kind:
        yield required(path / "pathType", "pathType must be specified")
        return
    yield from _check_backend(child(rule, "backend"), path / "backend")
    yield from check_choice(rule, path, "pathType", _PATH_TYPES)
    if kind in {"Exact", "Prefix"}:
        if not value.startswith("/"):
            yield invalid(path / "path", value, "must be an absolute path")
        yield from (invalid(path / "path", value, f"must not contain '{bad}'") for bad in _BAD_IN_PATH if bad in value)
        if value.endswith(("/..", "/.")):
            yield invalid(path / "path", value, "cannot end with '/..' or '/.'")
    elif kind == "ImplementationSpecific" and value and not value.startswith("/"):
        yield invalid(path / "path", value, "must be an absolute path")


def _check_backend(backend: Value, path: Path) -> Problems:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from check_name(resource, path / "resource", "kind", names.path_segment)
        yield from check_name(resource, path / "resource", "name", names.path_segment)
    elif service is None:
        yield invalid(path, "", "resource or service backend is required")
    else:
        yield from check_name(service, path / "service", "name", names.dns_label)
        yield from _check_backend_port(child(service, "port"), path)


def _check_backend_port(port: Value, path: Path) -> Problems:
    name, number = text(port, "name"), port.get("number") or 0
    if name and number:
        yield invalid(path, "", "cannot set both port name & port number")
    elif name:
        yield from check_rule(name, path / "service" / "port" / "name", names.port_name)
    elif number:
        yield from check_port(number, path / "service" / "port" / "number")
    else:
        yield required(path, "port name or number is required")


def _check_policy_port(port: Value, path: Path) -> Problems:
    number, end = port.get("port"), port.get("endPort")
    yield from check_choice(port, path, "protocol", PROTOCOLS)
    if number is not None:
        yield from check_port_or_name(number, path / "port")
    if end is None:
        return
    if not isinstance(number, int):
        detail = "may not be specified when `port` is " + ("not specified" if number is None else "non-numeric")
        yield invalid(path / "endPort", end, detail)
    elif end < number:
        yield invalid(path / "endPort", end, "must be greater than or equal to `port`")
    else:
        yield from check_port(end, path / "endPort")


def _check_peer(peer: Value, path: Path) -> Problems:
    block: dict[str, Any] | None = peer.get("ipBlock")
    given = [field for field in ("podSelector", "namespaceSelector") if peer.get(field) is not None]
    for field in given:
        yield from check_label_selector(peer[field], path / field)
    if block is not None:
        yield from _check_ip_block(block, path / "ipBlock")
    if block is None and not given:
        yield required(path, "must specify a peer")
    elif block is not None and given:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _check_ip_block(block: Value, path: Path) -> Problems:
    cidr = text(block, "cidr")
    found = list(check_given(block, path, "cidr")) or list(check_cidr(cidr, path / "cidr"))
    if found:
        yield from found
        return
    for index, exception in enumerate(texts(block, "except")):
        at = path / "except" / index
        bad = list(check_cidr(exception, at))
        yield from bad
        if not bad and not _is_strictly_within(exception, cidr):
            yield invalid(at, exception, "must be a strict subset of `cidr`")


def _is_strictly_within(part: str, whole: str) -> bool:
    inner, outer = ipaddress.ip_network(part, strict=False), ipaddress.ip_network(whole, strict=False)
    return inner.version == outer.version and inner.prefixlen > outer.prefixlen and inner.network_address in outer
