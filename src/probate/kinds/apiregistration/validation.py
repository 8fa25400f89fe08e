"""Validates APIServices, which map a group and version to a server."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, required
from probate.kinds.shared.field_checks import Problems, Value, check_given, check_port, check_rule, child, text

_SPEC = FieldPath("spec")
_MAX_GROUP_PRIORITY = 20_000
_MAX_VERSION_PRIORITY = 1_000


def check_api_service(service: Value) -> Problems:
    """Validates an APIService: its name consists of its version and group."""
    spec, name = child(service, "spec"), text(child(service, "metadata"), "name")
    group, version = text(spec, "group"), text(spec, "version")
    if name and name != f"{version}.{group}":
        yield invalid(FieldPath("metadata") / "name", name, 'must be `spec.version+"."+spec.group`')
    if group:
        yield from check_rule(group, _SPEC / "group", names.validate_dns_subdomain)
    elif version != "v1":
        yield required(_SPEC / "group", "only v1 may have an empty group")
    yield from check_rule(version, _SPEC / "version", names.validate_dns_1035_label)
    yield from _check_priority(spec, "groupPriorityMinimum", _MAX_GROUP_PRIORITY)
    yield from _check_priority(spec, "versionPriority", _MAX_VERSION_PRIORITY)
    if spec.get("service") is None:
        yield from _check_local(spec)
    else:
        yield from _check_remote(spec)


def _check_local(spec: Value) -> Problems:
    """Validates an APIService of this server's own: nothing is proxied, so it has no TLS settings."""
    if spec.get("caBundle"):
        yield invalid(_SPEC / "caBundle", "", "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        yield invalid(_SPEC / "insecureSkipTLSVerify", True, "local APIServices may not have insecureSkipTLSVerify")


def _check_remote(spec: Value) -> Problems:
    service, path = child(spec, "service"), _SPEC / "service"
    yield from check_given(service, path, "name", "namespace")
    if service.get("port") is not None:
        yield from check_port(service["port"], path / "port")
    if spec.get("caBundle") and spec.get("insecureSkipTLSVerify"):
        yield invalid(_SPEC / "insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def _check_priority(spec: Value, field: str, limit: int) -> Problems:
    value = spec.get(field) or 0
    if not 0 < value <= limit:
        yield invalid(_SPEC / field, value, f"must be positive and less than {limit}")
