"""How an API server is run through itself: APIService, FlowSchema, PriorityLevelConfiguration."""

from __future__ import annotations

from probate.machinery import names
from probate.machinery.problems import Path, forbidden, invalid, not_supported, required
from probate.machinery.validation.fields import Problems, Value, check_name, check_rule, child, text

_SPEC = Path("spec")
_MAX_GROUP_PRIORITY = 20_000
_MAX_VERSION_PRIORITY = 1_000
_MAX_PRECEDENCE = 10_000


def check_api_service(service: Value) -> Problems:
    """An APIService: its name says its version and group."""
    spec, name = child(service, "spec"), text(child(service, "metadata"), "name")
    group, version = text(spec, "group"), text(spec, "version")
    if name and name != f"{version}.{group}":
        yield invalid(Path("metadata") / "name", name, 'must be `spec.version+"."+spec.group`')
    if group:
        yield from check_rule(group, _SPEC / "group", names.dns_subdomain)
    elif version != "v1":
        yield required(_SPEC / "group", "only v1 may have an empty group")
    yield from check_rule(version, _SPEC / "version", names.dns_1035_label)
    yield from _check_priority(spec, "groupPriorityMinimum", _MAX_GROUP_PRIORITY)
    yield from _check_priority(spec, "versionPriority", _MAX_VERSION_PRIORITY)


def check_flow_schema(schema: Value) -> Problems:
    """A FlowSchema: it sends requests to a priority level."""
    spec = child(schema, "spec")
    precedence = spec.get("matchingPrecedence")
    if precedence is not None and not 1 <= precedence <= _MAX_PRECEDENCE:
        yield invalid(_SPEC / "matchingPrecedence", precedence, f"must be between 1 and {_MAX_PRECEDENCE}")
    level = child(spec, "priorityLevelConfiguration")
    yield from check_name(level, _SPEC / "priorityLevelConfiguration", "name", names.dns_subdomain)


def check_priority_level(level: Value) -> Problems:
    """A PriorityLevelConfiguration: limited or exempt, and only what goes with it."""
    spec, types = child(level, "spec"), {"Limited": "limited", "Exempt": "exempt"}
    kind = text(spec, "type")
    if kind not in types:
        yield not_supported(_SPEC / "type", kind, types)
    elif kind == "Limited" and spec.get("limited") is None:
        yield required(_SPEC / "limited", "must not be empty when type is Limited")
    for other, field in types.items():
        if kind in types and other != kind and spec.get(field) is not None:
            yield forbidden(_SPEC / field, f"must be nil if the type is {kind}")


def _check_priority(spec: Value, field: str, limit: int) -> Problems:
    value = spec.get(field) or 0
    if not 0 < value <= limit:
        yield invalid(_SPEC / field, value, f"must be positive and less than {limit}")
