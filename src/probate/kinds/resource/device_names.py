"""Validates the names of drivers, pools, devices, attributes and requests."""

from __future__ import annotations

import re
from collections.abc import Mapping

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, required, too_long
from probate.kinds.shared.field_checks import Problems, Value, check_name, check_rule, objects, text

MAX_DRIVER = 63
MAX_POOL = 253
MAX_IDENTIFIER = 32

Requests = Mapping[str, frozenset[str]]
"""The names of requests, each with the names of its alternatives."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_driver(value: str, path: FieldPath) -> Problems:
    """Validates the name of a driver: a DNS subdomain in upper or lower case."""
    if not value:
        yield required(path)
        return
    if len(value) > MAX_DRIVER:
        yield too_long(path, MAX_DRIVER)
    yield from check_rule(value.lower(), path, names.validate_dns_subdomain)


def check_pool(value: str, path: FieldPath) -> Problems:
    """Validates the name of a pool: DNS subdomains joined by slashes."""
    if not value:
        yield required(path)
        return
    if len(value) > MAX_POOL:
        yield too_long(path, MAX_POOL)
    for part in value[: MAX_POOL + 1].split("/"):
        yield from check_rule(part, path, names.validate_dns_subdomain)


def check_device(device: Value, path: FieldPath) -> Problems:
    """Validates a device reference: driver, pool and device."""
    yield from check_driver(text(device, "driver"), path / "driver")
    yield from check_pool(text(device, "pool"), path / "pool")
    yield from check_name(device, path, "device", rule=names.validate_dns_label)


def check_attribute(name: str, path: FieldPath) -> Problems:
    """Validates the name of an attribute or a capacity: an identifier with an optional domain and slash before it."""
    domain, slash, identifier = name.rpartition("/")
    if "/" in domain:
        yield invalid(path, name, "must not contain more than one slash")
        return
    if slash and not domain:
        yield invalid(path, name, "the domain must not be empty")
    elif slash:
        yield from check_driver(domain, path)
    if len(identifier) > MAX_IDENTIFIER:
        yield too_long(path, MAX_IDENTIFIER)
    if _IDENTIFIER.fullmatch(identifier) is None:
        yield invalid(path, name, "the name must consist of letters, digits and '_', and not begin with a digit")


def check_full_attribute(name: str, path: FieldPath) -> Problems:
    """Validates a fully qualified attribute name: the domain is required."""
    yield from check_attribute(name, path)
    if "/" not in name:
        yield invalid(path, name, "must be a domain and a name separated by a slash")


def check_label(name: str, path: FieldPath) -> Problems:
    """Validates the name of a counter or of a counter set."""
    yield from check_rule(name, path, names.validate_dns_label) if name else [required(path)]


def check_key(name: str | None, path: FieldPath) -> Problems:
    """Validates the key of a taint or the type of a condition."""
    yield from check_rule(name or "", path, names.validate_qualified_name)


def check_uid(uid: str, path: FieldPath) -> Problems:
    """Validates a UID in canonical form."""
    if _UID.fullmatch(uid) is None:
        yield invalid(path, uid, "must be a UID of lowercase hexadecimal digits (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx)")


def requests_of(devices: Value) -> Requests:
    """Returns the requests of a claim."""
    return {
        text(one, "name"): frozenset(text(inner, "name") for inner in objects(one, "firstAvailable"))
        for one in objects(devices, "requests")
    }


def check_request(name: str, path: FieldPath, requests: Requests) -> Problems:
    """Validates the name of one of these requests, or `request/alternative`."""
    message = "must be the name of a request in the claim, or of a request and one of its alternatives separated by '/'"
    request, *alternatives = name.split("/")
    if len(alternatives) < 2:
        for part in (request, *alternatives):
            yield from check_rule(part, path, names.validate_dns_label)
    is_known = request in requests and (not alternatives or {*alternatives} <= requests[request])
    if len(alternatives) > 1 or not is_known:
        yield invalid(path, name, message)
