"""What a cluster is made of: Namespaces, Nodes, Leases, certificates that are asked for."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from probate.machinery import metadata, names
from probate.machinery.preparation.signing_requests import DECISIONS
from probate.machinery.problems import Path, duplicate, forbidden, invalid, not_supported, required
from probate.machinery.validation.addresses import check_families
from probate.machinery.validation.fields import (
    Problems,
    Value,
    check_choice,
    check_cidr,
    check_nonnegative,
    check_rule,
    child,
    each,
    is_same,
    objects,
    text,
    texts,
)
from probate.machinery.validation.pods.scheduling import EFFECTS
from probate.machinery.validation.statuses.cluster import check_node_resources

_SPEC = Path("spec")
_CONDITIONS = Path("status") / "conditions"
_PEM = re.compile(rb"-----BEGIN CERTIFICATE REQUEST-----\s[A-Za-z0-9+/=\s:,-]+-----END CERTIFICATE REQUEST-----")
_MIN_EXPIRATION_SECONDS = 600
_USAGES = frozenset(
    {
        "signing",
        "digital signature",
        "content commitment",
        "key encipherment",
        "key agreement",
        "data encipherment",
        "cert sign",
        "crl sign",
        "encipher only",
        "decipher only",
        "any",
        "server auth",
        "client auth",
        "code signing",
        "email protection",
        "s/mime",
        "ipsec end system",
        "ipsec tunnel",
        "ipsec user",
        "timestamping",
        "ocsp signing",
        "microsoft sgc",
        "netscape sgc",
    }
)


def check_namespace(namespace: Value) -> Problems:
    """A Namespace, whose finalizers are part of its spec."""
    for finalizer in texts(child(namespace, "spec"), "finalizers"):
        yield from metadata.check_namespace_finalizer(finalizer, _SPEC / "finalizers")


def check_node(node: Value) -> Problems:
    """A new Node. Its taints are reported as if they were metadata."""
    yield from check_known_node(node)
    yield from check_node_resources(node)


def check_known_node(node: Value) -> Problems:
    """A Node, new or changed: but what it has is for its status to say."""
    spec = child(node, "spec")
    seen: set[Any] = set()
    for taint, at in each(spec, Path("metadata"), "taints"):
        yield from check_rule(text(taint, "key"), at / "key", names.qualified_name)
        yield from check_rule(text(taint, "value"), at / "value", names.label_value)
        yield from check_choice(taint, at, "effect", EFFECTS, is_required=True)
        if (text(taint, "key"), text(taint, "effect")) in seen:
            yield duplicate(at, taint)
        seen.add((text(taint, "key"), text(taint, "effect")))
    for index, cidr in enumerate(texts(spec, "podCIDRs")):
        yield from check_cidr(cidr, _SPEC / "podCIDRs" / index)
    yield from check_families(texts(spec, "podCIDRs"), _SPEC / "podCIDRs")


def check_lease(lease: Value) -> Problems:
    """A Lease."""
    spec = child(lease, "spec")
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid(_SPEC / "leaseDurationSeconds", seconds, "must be greater than 0")
    yield from check_nonnegative(spec, _SPEC, "leaseTransitions")


def check_signing_request(request: Value) -> Problems:
    """A CertificateSigningRequest."""
    spec = child(request, "spec")
    encoded = text(spec, "request")
    if not _is_request(encoded):
        yield invalid(_SPEC / "request", encoded[:40], "must be a PEM block of type CERTIFICATE REQUEST")
    yield from _check_usages(spec)
    yield from _check_signer(text(spec, "signerName"), _SPEC / "signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_EXPIRATION_SECONDS:
        yield invalid(
            _SPEC / "expirationSeconds", seconds, f"may not specify a duration less than {_MIN_EXPIRATION_SECONDS} seconds"
        )


def update_node(new: Value, old: Value) -> Problems:
    """Which machine a Node is and which addresses its Pods have is settled once."""
    spec, before = child(new, "spec"), child(old, "spec")
    for field in ("providerID", "podCIDRs"):
        if before.get(field) and not is_same(spec.get(field), before[field]):
            yield forbidden(_SPEC / field, f'node updates may not change {field.removesuffix("s")} except from "" to valid')
    if text(spec, "externalID") != text(before, "externalID"):
        yield forbidden(_SPEC / "externalID", "may not be updated")
    source = spec.get("configSource")
    if source is not None and source.get("configMap") is None:
        yield invalid(_SPEC / "configSource", source, "exactly one reference subfield must be non-nil")


def update_signing_request(new: Value, old: Value) -> Problems:
    """What was asked for stays."""
    if not is_same(new.get("spec"), old.get("spec")):
        yield invalid(_SPEC, "", "field is immutable")


def check_approval(new: Value, old: Value) -> Problems:
    """A CertificateSigningRequest sent to its `approval`: what was decided stays decided."""
    for type_ in (*DECISIONS, "Failed"):
        if len(_conditions(new, type_)) < len(_conditions(old, type_)):
            yield forbidden(_CONDITIONS, f'updates may not remove a condition of type "{type_}"')


def check_signed(new: Value, old: Value) -> Problems:
    """A CertificateSigningRequest sent to its `status`: who signs does not decide."""
    yield from check_approval(new, old)
    for type_ in DECISIONS:
        after, before = _conditions(new, type_), _conditions(old, type_)
        if len(after) > len(before):
            yield forbidden(_CONDITIONS, f'updates may not add a condition of type "{type_}"')
        elif len(after) == len(before) and not is_same(after, before):
            yield forbidden(_CONDITIONS, f'updates may not modify a condition of type "{type_}"')


def _conditions(request: Value, type_: str) -> list[Value]:
    return [one for one in objects(child(request, "status"), "conditions") if text(one, "type") == type_]


def _is_request(encoded: str) -> bool:
    try:
        return _PEM.search(base64.b64decode(encoded)) is not None
    except (binascii.Error, ValueError):
        return False


def _check_usages(spec: Value) -> Problems:
    usages = texts(spec, "usages")
    if not usages:
        yield required(_SPEC / "usages")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            yield not_supported(_SPEC / "usages" / index, usage, _USAGES)
        elif usage in usages[:index]:
            yield duplicate(_SPEC / "usages" / index, usage)


def _check_signer(name: str, path: Path) -> Problems:
    domain, slash, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not slash or not rest:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
    else:
        yield from check_rule(domain, path, names.dns_subdomain)
        if "." not in domain:
            yield invalid(path, name, "should be a domain with at least two segments separated by dots")
        for part in rest.split("."):
            yield from check_rule(part, path, names.dns_label)
