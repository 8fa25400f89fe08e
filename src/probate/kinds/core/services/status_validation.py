"""Validates the load balancer status of Services and Ingresses."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid
from probate.kinds.shared.field_checks import Problems, Value, check_choice, check_rule, child, each, text
from probate.kinds.shared.ip_addresses import check_new_ip
from probate.kinds.shared.reachable_addresses import version

_BALANCER = FieldPath("status") / "loadBalancer"
_MODES = ("VIP", "Proxy")


def check_service_status(new: Value, old: Value) -> Problems:
    """Validates the status of a Service: only type LoadBalancer has a load balancer status."""
    balancer = child(child(new, "status"), "loadBalancer")
    if balancer.get("ingress") and text(child(new, "spec"), "type") != "LoadBalancer":
        yield forbidden(_BALANCER / "ingress", "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for entry, at in _entries(new):
        if text(entry, "ip"):
            yield from check_new_ip(text(entry, "ip"), at / "ip")
        yield from _check_host(text(entry, "hostname"), at / "hostname")
        yield from _check_mode(entry, at)


def check_ingress_status(new: Value, old: Value) -> Problems:
    """Validates the status of an Ingress. Addresses that were present may stay in their old form."""
    known = {text(one, "ip") for one, _ in _entries(old)}
    for entry, at in _entries(new):
        if text(entry, "ip"):
            yield from check_new_ip(text(entry, "ip"), at / "ip", known)
        yield from _check_host(text(entry, "hostname"), at / "hostname")


def _entries(object_: Value) -> list[tuple[Value, FieldPath]]:
    return list(each(child(child(object_, "status"), "loadBalancer"), _BALANCER, "ingress"))


def _check_host(host: str, path: FieldPath) -> Problems:
    if host:
        yield from check_rule(host, path, names.validate_dns_subdomain)
        if version(host):
            yield invalid(path, host, "must be a DNS name, not an IP address")


def _check_mode(ingress: Value, path: FieldPath) -> Problems:
    if ingress.get("ipMode") is not None and not text(ingress, "ip"):
        yield forbidden(path / "ipMode", "may not be specified when `ip` is not set")
    else:
        yield from check_choice(ingress, path, "ipMode", supported=_MODES)
