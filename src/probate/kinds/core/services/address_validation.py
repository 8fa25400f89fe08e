"""Validates the cluster IPs of a Service and its IP families.

Kubernetes checks these before anything else, so their problems are reported alone, and in this order: fields that contradict each
other, the number of families, families that the cluster does not have.
"""

from __future__ import annotations

from probate.api.field_errors import FieldError, FieldPath, duplicate, invalid, not_supported
from probate.kinds.shared.field_checks import Problems, Value, check_choice, text, texts
from probate.kinds.shared.ip_addresses import check_new_ip

_SPEC = FieldPath("spec")
_ADDRESSES, _FAMILIES, _POLICY = _SPEC / "clusterIPs", _SPEC / "ipFamilies", _SPEC / "ipFamilyPolicy"
_POLICIES = ("SingleStack", "PreferDualStack", "RequireDualStack")
_VERSIONS = {"IPv4": 4, "IPv6": 6}
_VERSION = 4  # the family of the cluster's Service range


def check_addressing(spec: Value) -> list[FieldError]:
    """Returns the problems of the cluster IPs of a Service that has some, or could have some."""
    if text(spec, "type") == "ExternalName":
        return []
    return list(_check_addresses(spec)) or list(_check_families(spec)) or list(_check_number(spec)) or list(_check_cluster(spec))


def is_headless(spec: Value) -> bool:
    """Reports whether the Service is headless."""
    return text(spec, "clusterIP") == "None"


def _version(address: str) -> int:
    """Returns the IP family of a valid address."""
    return 6 if ":" in address else 4


def _check_addresses(spec: Value) -> Problems:
    addresses = texts(spec, "clusterIPs") or [text(spec, "clusterIP")]
    if any(addresses) and not text(spec, "clusterIP"):
        yield invalid(_ADDRESSES, addresses, "must be empty when `clusterIP` is not specified")
    if text(spec, "clusterIP") and addresses[0] != text(spec, "clusterIP"):
        yield invalid(_ADDRESSES, addresses, "first value must match `clusterIP`")
    if addresses[0] == "None" and len(addresses) > 1:
        yield invalid(_ADDRESSES, addresses, "'None' must be the first and only value")
    elif len(addresses) > 2 or (len(addresses) == 2 and _version(addresses[0]) == _version(addresses[1])):
        yield invalid(_ADDRESSES, addresses, "may specify no more than one IP for each IP family")
    for index, address in enumerate(addresses[:2]):
        if address and (address != "None" or index):
            yield from check_new_ip(address, _ADDRESSES / index)


def _check_families(spec: Value) -> Problems:
    yield from check_choice(spec, _SPEC, "ipFamilyPolicy", supported=_POLICIES)
    seen: set[str] = set()
    for index, family in enumerate(texts(spec, "ipFamilies")):
        if family not in _VERSIONS:
            yield not_supported(_FAMILIES / index, family, _VERSIONS)
        elif family in seen:
            yield duplicate(_FAMILIES / index, family)
        seen.add(family)
    for index, (address, family) in enumerate(zip(texts(spec, "clusterIPs"), texts(spec, "ipFamilies"), strict=False)):
        if address != "None" and family in _VERSIONS and _version(address) != _VERSIONS[family]:
            yield invalid(_ADDRESSES / index, address, f"expected an {family} value as indicated by `ipFamilies[{index}]`")


def _check_number(spec: Value) -> Problems:
    is_many = len(texts(spec, "ipFamilies")) > 1 or len(texts(spec, "clusterIPs")) > 1
    if is_many and text(spec, "ipFamilyPolicy") == "SingleStack":
        detail = "must be RequireDualStack or PreferDualStack when multiple addresses or families are specified"
        yield invalid(_POLICY, "SingleStack", detail)


def _check_cluster(spec: Value) -> Problems:
    if is_headless(spec) and not spec.get("selector"):  # neither an address nor pods: any family is allowed
        return
    if text(spec, "ipFamilyPolicy") == "RequireDualStack":
        yield invalid(_POLICY, "RequireDualStack", "this cluster is not configured for dual-stack services")
    addresses = texts(spec, "clusterIPs")
    for index, address in enumerate(addresses):
        if address != "None" and _version(address) != _VERSION:
            yield invalid(_ADDRESSES / index, address, "IPv6 is not configured on this cluster")
    for index, family in enumerate(texts(spec, "ipFamilies")):
        if _VERSIONS.get(family) != _VERSION and addresses[index : index + 1] in ([], ["None"]):
            yield invalid(_FAMILIES / index, family, "not configured on this cluster")
