"""Ingresses, their classes, and network policies."""

from __future__ import annotations

from probate.machinery.defaulting.fields import Object, child, drop_zero, fill, fill_null, items, made


def default_network_policy(policy: Object) -> None:
    """Fill a NetworkPolicy: it is about what comes in, and about what goes out if it says anything of that."""
    spec = made(policy, "spec")
    if spec is None:
        return
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in items(spec, direction):
            for port in items(rule, "ports"):
                fill(port, protocol="TCP")


def default_ingress_class(ingress_class: Object) -> None:
    """Fill an IngressClass: its parameters are of the cluster unless they say otherwise."""
    parameters = child(made(ingress_class, "spec") or {}, "parameters")
    if parameters is not None:
        fill(parameters, scope="Cluster")


def default_ingress(ingress: Object) -> None:
    """Fill an Ingress: every backend is written in full."""
    spec = made(ingress, "spec")
    if spec is None:
        return
    _default_backend(child(spec, "defaultBackend"))
    for rule in items(spec, "rules"):
        drop_zero(rule, "host")
        for path in items(child(rule, "http"), "paths"):
            drop_zero(path, "path")
            _default_backend(made(path, "backend"))


def _default_backend(backend: Object | None) -> None:
    if backend is None:
        return
    if (service := child(backend, "service")) is not None and (port := made(service, "port")) is not None:
        drop_zero(port, "name", "number")
    if (resource := child(backend, "resource")) is not None:
        fill_null(resource, "apiGroup")
