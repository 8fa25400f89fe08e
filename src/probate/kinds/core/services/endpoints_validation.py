"""Validates Endpoints and EndpointSlices."""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, invalid, required, too_many
from probate.kinds.core.pods.validation.containers import PROTOCOLS
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
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
from probate.kinds.shared.reachable_addresses import check_reachable, version

_MAX_ENDPOINTS = 1000
_MAX_ADDRESSES = 100
_MAX_PORTS = 20_000
_MAX_HINTS = 8
_OTHERS = {"IPv4": 6, "IPv6": 4}


def check_endpoints(endpoints: Value) -> Problems:
    """Validates Endpoints: sets of addresses, each with its ports."""
    for subset, at in each(endpoints, FieldPath(), "subsets"):
        if not items(subset, "addresses") and not items(subset, "notReadyAddresses"):
            yield required(at, "must specify `addresses` or `notReadyAddresses`")
        for address, place in (*each(subset, at, "addresses"), *each(subset, at, "notReadyAddresses")):
            yield from _check_address(address, place)
        for port, place in each(subset, at, "ports"):
            yield from _check_port(port, place, is_name_required=len(items(subset, "ports")) > 1)


def check_slice(slice_: Value) -> Problems:
    """Validates an EndpointSlice."""
    kind = text(slice_, "addressType")
    yield from check_choice(slice_, FieldPath(), "addressType", supported=("IPv4", "IPv6", "FQDN"), is_required=True)
    if len(items(slice_, "endpoints")) > _MAX_ENDPOINTS:
        yield too_many(FieldPath("endpoints"), len(slice_["endpoints"]), _MAX_ENDPOINTS)
        return
    for endpoint, at in each(slice_, FieldPath(), "endpoints"):
        yield from _check_endpoint(endpoint, at, kind)
    yield from _check_slice_ports(slice_)


def update_slice(new: Value, old: Value) -> Problems:
    """Validates that the address type does not change."""
    yield from check_unchanged(new.get("addressType"), old.get("addressType"), FieldPath("addressType"))


def _check_address(address: Value, path: FieldPath) -> Problems:
    yield from check_reachable(text(address, "ip"), path / "ip")
    yield from check_optional_name(address, path, "hostname", rule=names.validate_dns_label)
    if address.get("nodeName") is not None:
        yield from check_rule(address["nodeName"], path / "nodeName", names.validate_dns_subdomain)


def _check_port(port: Value, path: FieldPath, *, is_name_required: bool) -> Problems:
    if is_name_required and not text(port, "name"):
        yield required(path / "name")
    yield from check_optional_name(port, path, "name", rule=names.validate_dns_label)
    yield from check_port(port.get("port") or 0, path / "port")
    yield from check_choice(port, path, "protocol", supported=PROTOCOLS)
    if port.get("appProtocol") is not None:
        yield from check_rule(port["appProtocol"], path / "appProtocol", names.validate_qualified_name)


def _check_endpoint(endpoint: Value, path: FieldPath, kind: str) -> Problems:
    addresses = texts(endpoint, "addresses")
    if not addresses:
        yield required(path / "addresses", "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        yield too_many(path / "addresses", len(addresses), _MAX_ADDRESSES)
    for index, address in enumerate(addresses):
        yield from _check_slice_address(address, path / "addresses" / index, kind)
    yield from check_optional_name(endpoint, path, "nodeName", rule=names.validate_dns_subdomain)
    yield from check_optional_name(endpoint, path, "hostname", rule=names.validate_dns_label)
    yield from _check_hints(child(endpoint, "hints"), path / "hints", "forZones", rule=names.validate_label_value)
    yield from _check_hints(child(endpoint, "hints"), path / "hints", "forNodes", rule=names.validate_dns_subdomain)


def _check_hints(hints: Value, path: FieldPath, field: str, *, rule: names.NameRule) -> Problems:
    """Validates the zones or nodes for which an endpoint is intended: a limited number, each named once."""
    if len(items(hints, field)) > _MAX_HINTS:
        yield too_many(path / field, len(hints[field]), _MAX_HINTS)
        return
    seen: set[Any] = set()
    for hint, at in each(hints, path, field):
        if text(hint, "name") in seen:
            yield duplicate(at / "name", text(hint, "name"))
        seen.add(text(hint, "name"))
        yield from check_rule(text(hint, "name"), at / "name", rule)


def _check_domain(address: str, path: FieldPath) -> Problems:
    """Validates a fully qualified domain name, with or without the dot at its end."""
    domain = address.removesuffix(".")
    if not address:
        yield required(path)
        return
    yield from check_rule(domain, path, names.validate_dns_subdomain)
    labels = domain.split(".")
    if len(labels) < 2:
        yield invalid(path, address, "should be a domain with at least two segments separated by dots")
    for label in labels:
        yield from check_rule(label, path, names.validate_dns_label)


def _check_slice_address(address: str, path: FieldPath, kind: str) -> Problems:
    if kind == "FQDN":
        yield from _check_domain(address, path)
    elif kind in _OTHERS:
        if version(address) == _OTHERS[kind]:
            yield invalid(path, address, f"must be an {kind} address")
        else:
            yield from check_reachable(address, path)


def _check_slice_ports(slice_: Value) -> Problems:
    if len(items(slice_, "ports")) > _MAX_PORTS:
        yield too_many(FieldPath("ports"), len(slice_["ports"]), _MAX_PORTS)
        return
    seen: set[Any] = set()
    for port, at in each(slice_, FieldPath(), "ports"):
        if text(port, "name") in seen:
            yield duplicate(at / "name", text(port, "name"))
        seen.add(text(port, "name"))
        yield from check_optional_name(port, at, "name", rule=names.validate_dns_label)
        yield from check_choice(port, at, "protocol", supported=PROTOCOLS)
        yield from check_optional_name(port, at, "appProtocol", rule=names.validate_qualified_name)
