"""Validates what a claim requests: device requests, constraints across requests, and driver configuration."""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, required
from probate.kinds.resource import device_names
from probate.kinds.resource.bounded_lists import check_distinct, check_items, key_by_name, key_by_value
from probate.kinds.resource.device_names import Requests
from probate.kinds.resource.device_selectors import check_selectors
from probate.kinds.resource.device_taints import check_tolerations
from probate.kinds.resource.opaque_parameters import MAX_CONFIGURATIONS, check_configuration
from probate.kinds.shared.field_checks import Problems, Value, check_choice, check_name, child, items, text

MAX_REQUESTS = 32
MAX_ALTERNATIVES = 8
MAX_CONSTRAINTS = 32
MODES = ("All", "ExactCount")


def check_claim(devices: Value, path: FieldPath) -> Problems:
    """Validates the devices of a claim's spec."""
    requests = device_names.requests_of(devices)

    def constraint(one: Any, at: FieldPath) -> Problems:
        return _check_constraint(one or {}, at, requests)

    def config(one: Any, at: FieldPath) -> Problems:
        yield from check_named(one or {}, at, requests)
        yield from check_configuration(one, at)

    yield from check_distinct(devices, path, "requests", most=MAX_REQUESTS, check=_check_request, key=key_by_name)
    yield from check_items(devices, path, "constraints", most=MAX_CONSTRAINTS, check=constraint)
    yield from check_items(devices, path, "config", most=MAX_CONFIGURATIONS, check=config)


def check_named(parent: Value, path: FieldPath, requests: Requests) -> Problems:
    """Validates a list of request names: each exists and appears once."""

    def check(name: str | None, at: FieldPath) -> Problems:
        return device_names.check_request(name or "", at, requests)

    yield from check_distinct(parent, path, "requests", most=MAX_REQUESTS, check=check, key=key_by_value)


def _check_request(request: Value | None, path: FieldPath) -> Problems:
    request = request or {}
    yield from check_name(request, path, "name", rule=names.validate_dns_label)
    exactly, alternatives = request.get("exactly"), items(request, "firstAvailable")
    if exactly is None and not alternatives:
        yield required(path, "exactly one of `exactly` or `firstAvailable` is required")
    elif exactly is not None and alternatives:
        yield invalid(path, None, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set")
    elif exactly is not None:
        yield from _check_wanted(exactly, path / "exactly")
    else:
        yield from check_distinct(request, path, "firstAvailable", most=MAX_ALTERNATIVES, check=_check_alternative, key=key_by_name)


def _check_alternative(request: Value | None, path: FieldPath) -> Problems:
    yield from check_name(request or {}, path, "name", rule=names.validate_dns_label)
    yield from _check_wanted(request or {}, path)


def _check_wanted(request: Value, path: FieldPath) -> Problems:
    yield from check_name(request, path, "deviceClassName", rule=names.validate_dns_subdomain)
    yield from check_selectors(request, path)
    yield from _check_amount(request, path)
    yield from check_tolerations(request, path)


def _check_amount(request: Value, path: FieldPath) -> Problems:
    mode, count = text(request, "allocationMode"), request.get("count") or 0
    yield from check_choice(request, path, "allocationMode", supported=MODES, is_required=True)
    if mode == "All" and count:
        yield invalid(path / "count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid(path / "count", count, "must be greater than zero")


def _check_constraint(constraint: Value, path: FieldPath, requests: Requests) -> Problems:
    yield from check_named(constraint, path, requests)
    given = [field for field in ("matchAttribute", "distinctAttribute") if constraint.get(field) is not None]
    if not given:
        yield required(path, "exactly one of `matchAttribute` or `distinctAttribute` is required")
    for field in given[:1]:
        yield from device_names.check_full_attribute(text(constraint, field), path / field)


def devices_of(claim: Value) -> Value:
    """Returns the `devices` of a claim's spec."""
    return child(child(claim, "spec"), "devices")
