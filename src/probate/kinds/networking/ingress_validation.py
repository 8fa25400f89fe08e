"""Validates Ingresses and IngressClasses."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid, required, too_long
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_name,
    check_optional_name,
    check_port,
    check_rule,
    check_unchanged,
    child,
    each,
    items,
    text,
    texts,
)
from probate.kinds.shared.ip_addresses import is_ip

_SPEC = FieldPath("spec")
_PATH_TYPES = ("Exact", "Prefix", "ImplementationSpecific")
_BAD_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_MAX_CONTROLLER = 250
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


def check_ingress(ingress: Value) -> Problems:
    """Validates an Ingress."""
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
        yield from check_optional_name(tls, at, "secretName", rule=names.validate_dns_subdomain)
    if spec.get("ingressClassName") is not None:
        yield from check_rule(spec["ingressClassName"], _SPEC / "ingressClassName", names.validate_dns_subdomain)


def create_ingress(ingress: Value) -> Problems:
    """Validates a new Ingress: the class in the spec and the class in the old annotation, if both are set, are equal."""
    yield from check_ingress(ingress)
    annotation = child(child(ingress, "metadata"), "annotations").get(_CLASS_ANNOTATION)
    class_ = child(ingress, "spec").get("ingressClassName")
    if annotation is not None and class_ is not None and annotation != class_:
        yield invalid(
            FieldPath("annotations") / _CLASS_ANNOTATION, annotation, "must match `ingressClassName` when both are specified"
        )


def check_ingress_class(class_: Value) -> Problems:
    """Validates an IngressClass."""
    spec = child(class_, "spec")
    controller = text(spec, "controller")
    if len(controller) > _MAX_CONTROLLER:
        yield too_long(_SPEC / "controller", _MAX_CONTROLLER)
    yield from check_name(spec, _SPEC, "controller", rule=names.validate_domain_path)
    parameters, path = spec.get("parameters"), _SPEC / "parameters"
    if parameters is None:
        return
    yield from _check_group(parameters, path)
    yield from check_name(parameters, path, "kind", rule=names.validate_path_segment)
    yield from check_name(parameters, path, "name", rule=names.validate_path_segment)
    yield from check_choice(parameters, path, "scope", supported=("Cluster", "Namespace"))
    if text(parameters, "scope") == "Namespace" and not text(parameters, "namespace"):
        yield required(path / "namespace", "parameters.scope is set to 'Namespace'")
    elif text(parameters, "scope") == "Cluster" and text(parameters, "namespace"):
        yield forbidden(path / "namespace", "parameters.scope is set to 'Cluster'")
    elif text(parameters, "scope") == "Namespace":
        yield from check_rule(parameters["namespace"], path / "namespace", names.validate_dns_label)


def update_ingress_class(new: Value, old: Value) -> Problems:
    """Validates that the controller does not change."""
    yield from check_unchanged(child(new, "spec").get("controller"), child(old, "spec").get("controller"), _SPEC / "controller")


def _check_group(reference: Value, path: FieldPath) -> Problems:
    """Validates the API group of a reference.

    A group that is set is not empty: the core group is represented by an absent field.
    """
    if reference.get("apiGroup") is not None:
        yield from check_rule(reference["apiGroup"], path / "apiGroup", names.validate_dns_subdomain)


def _check_ingress_host(host: str, path: FieldPath) -> Problems:
    if host and is_ip(host):
        yield invalid(path, host, "must be a DNS name, not an IP address")
    if host:
        yield from _check_host_name(host, path)


def _check_host_name(host: str, path: FieldPath) -> Problems:
    yield from check_rule(host, path, names.validate_wildcard_subdomain if "*" in host else names.validate_dns_subdomain)


def _check_http(http: Value, path: FieldPath) -> Problems:
    if not items(http, "paths"):
        yield required(path / "paths")
    for rule, at in each(http, path, "paths"):
        yield from _check_path(rule, at)


def _check_path(rule: Value, path: FieldPath) -> Problems:
    kind, value = text(rule, "pathType"), text(rule, "path")
    if not kind:
        yield required(path / "pathType", "pathType must be specified")
        return
    yield from _check_backend(child(rule, "backend"), path / "backend")
    yield from check_choice(rule, path, "pathType", supported=_PATH_TYPES)
    if kind in {"Exact", "Prefix"}:
        if not value.startswith("/"):
            yield invalid(path / "path", value, "must be an absolute path")
        yield from (invalid(path / "path", value, f"must not contain '{bad}'") for bad in _BAD_IN_PATH if bad in value)
        if value.endswith(("/..", "/.")):
            yield invalid(path / "path", value, "cannot end with '/..' or '/.'")
    elif kind == "ImplementationSpecific" and value and not value.startswith("/"):
        yield invalid(path / "path", value, "must be an absolute path")


def _check_backend(backend: Value, path: FieldPath) -> Problems:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _check_group(resource, path / "resource")
        yield from check_name(resource, path / "resource", "kind", rule=names.validate_path_segment)
        yield from check_name(resource, path / "resource", "name", rule=names.validate_path_segment)
    elif service is None:
        yield invalid(path, "", "resource or service backend is required")
    else:
        yield from check_name(service, path / "service", "name", rule=names.validate_dns_label)
        yield from _check_backend_port(child(service, "port"), path)


def _check_backend_port(port: Value, path: FieldPath) -> Problems:
    name, number = text(port, "name"), port.get("number") or 0
    if name and number:
        yield invalid(path, "", "cannot set both port name & port number")
    elif name:
        yield from check_rule(name, path / "service" / "port" / "name", names.validate_port_name)
    elif number:
        yield from check_port(number, path / "service" / "port" / "number")
    else:
        yield required(path, "port name or number is required")
