"""How a load balancer is reached: the status of Services (and of whatever else has one in front of it)."""

from __future__ import annotations

from probate.machinery import names
from probate.machinery.problems import Path, forbidden, invalid
from probate.machinery.validation.addresses import version
from probate.machinery.validation.fields import Problems, Value, check_choice, check_ip, check_rule, child, each, text

_BALANCER = Path("status") / "loadBalancer"
_MODES = ("VIP", "Proxy")


def check_service_status(new: Value, old: Value) -> Problems:
    """Only a Service of type LoadBalancer has one."""
    balancer = child(child(new, "status"), "loadBalancer")
    if balancer.get("ingress") and text(child(new, "spec"), "type") != "LoadBalancer":
        yield forbidden(_BALANCER / "ingress", "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for ingress, at in each(balancer, _BALANCER, "ingress"):
        yield from check_entry(ingress, at)
        yield from _check_mode(ingress, at)


def check_entry(ingress: Value, path: Path) -> Problems:
    """One way in: an address, or a host's name."""
    if text(ingress, "ip"):
        yield from check_ip(text(ingress, "ip"), path / "ip")
    host = text(ingress, "hostname")
    if host:
        yield from check_rule(host, path / "hostname", names.dns_subdomain)
        if version(host):
            yield invalid(path / "hostname", host, "must be a DNS name, not an IP address")


def _check_mode(ingress: Value, path: Path) -> Problems:
    if ingress.get("ipMode") is not None and not text(ingress, "ip"):
        yield forbidden(path / "ipMode", "may not be specified when `ip` is not set")
    else:
        yield from check_choice(ingress, path, "ipMode", _MODES)
