"""Validates CertificateSigningRequests: the request, its approval, and the issued certificate.

What an object already has and would be rejected now (both decisions, a duplicate type) may stay: a write is rejected only for what
it adds.
"""

from __future__ import annotations

from collections import Counter

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, not_supported, required
from probate.kinds.certificates.strategy import DECISIONS
from probate.kinds.shared.condition_validation import STATUSES
from probate.kinds.shared.field_checks import Problems, Value, check_rule, child, each, is_same, objects, text, texts
from probate.lib.x509 import pem

_SPEC = FieldPath("spec")
_CONDITIONS = FieldPath("status") / "conditions"
_CERTIFICATE = FieldPath("status") / "certificate"
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
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


def create_signing_request(request: Value) -> Problems:
    """Validates a new CertificateSigningRequest: the request can be parsed, and the signer name is valid."""
    yield from check_signing_request(request)
    spec = child(request, "spec")
    encoded = text(spec, "request")
    if _first_is_request(encoded) and not pem.is_request(pem.blocks(encoded)[0]):
        yield invalid(_SPEC / "request", encoded[:40], "must be a PKCS#10 certificate request")
    if text(spec, "signerName") == _LEGACY_SIGNER:
        yield invalid(_SPEC / "signerName", _LEGACY_SIGNER, "the legacy signer name is not allowed via this API version")


def check_signing_request(request: Value) -> Problems:
    """Validates a CertificateSigningRequest."""
    spec = child(request, "spec")
    encoded = text(spec, "request")
    if not _first_is_request(encoded):
        yield invalid(_SPEC / "request", encoded[:40], "must be a PEM block of type CERTIFICATE REQUEST")
    yield from _check_usages(spec)
    yield from _check_signer(text(spec, "signerName"), _SPEC / "signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_EXPIRATION_SECONDS:
        yield invalid(
            _SPEC / "expirationSeconds", seconds, f"may not specify a duration less than {_MIN_EXPIRATION_SECONDS} seconds"
        )


def update_signing_request(new: Value, old: Value) -> Problems:
    """Validates that the request does not change."""
    if not is_same(new.get("spec"), old.get("spec")):
        yield invalid(_SPEC, "", "field is immutable")


def check_approval(new: Value, old: Value) -> Problems:
    """Validates a CertificateSigningRequest written through `approval`: decisions cannot be removed or changed."""
    yield from _check_conditions(new, old)
    for type_ in (*DECISIONS, "Failed"):
        if len(_conditions(new, type_)) < len(_conditions(old, type_)):
            yield forbidden(_CONDITIONS, f'updates may not remove a condition of type "{type_}"')


def check_signed(new: Value, old: Value) -> Problems:
    """Validates a CertificateSigningRequest written through `status`: a signer cannot approve or deny."""
    yield from check_approval(new, old)
    for type_ in DECISIONS:
        after, before = _conditions(new, type_), _conditions(old, type_)
        if len(after) > len(before):
            yield forbidden(_CONDITIONS, f'updates may not add a condition of type "{type_}"')
        elif len(after) == len(before) and not is_same(after, before):
            yield forbidden(_CONDITIONS, f'updates may not modify a condition of type "{type_}"')
    yield from _check_certificate(new, old)


def _conditions(request: Value, type_: str) -> list[Value]:
    return [one for one in objects(child(request, "status"), "conditions") if text(one, "type") == type_]


def _check_conditions(new: Value, old: Value) -> Problems:
    before = Counter(text(one, "type") for one in objects(child(old, "status"), "conditions"))
    seen: set[str] = set()
    for one, at in each(child(new, "status"), FieldPath("status"), "conditions"):
        type_ = text(one, "type")
        if not type_ and not before[""]:
            yield required(at / "type")
        yield from _check_condition_status(one, at)
        if type_ in seen and max(before.values(), default=0) < 2:
            yield duplicate(at / "type", type_)
        seen.add(type_)
    if set(DECISIONS) <= seen and not set(DECISIONS) <= before.keys():
        yield invalid(_CONDITIONS, "", "Approved and Denied conditions are mutually exclusive")


def _check_condition_status(condition: Value, path: FieldPath) -> Problems:
    """Validates that a condition of approval, denial or failure is never False."""
    allowed = ("True",) if text(condition, "type") in (*DECISIONS, "Failed") else STATUSES
    if not text(condition, "status"):
        yield required(path / "status")
    elif text(condition, "status") not in allowed:
        yield not_supported(path / "status", text(condition, "status"), allowed)


def _check_certificate(new: Value, old: Value) -> Problems:
    after, before = (text(child(one, "status"), "certificate") for one in (new, old))
    if before and after != before:
        yield forbidden(_CERTIFICATE, "updates may not modify existing certificate content")
    if after and after != before and not _is_certificates(after):
        yield invalid(_CERTIFICATE, "<certificate data>", "must be PEM blocks of type CERTIFICATE")


def _first_is_request(encoded: str) -> bool:
    return [block.kind for block in pem.blocks(encoded)[:1]] == ["CERTIFICATE REQUEST"]


def _is_certificates(encoded: str) -> bool:
    blocks = pem.blocks(encoded)
    return bool(blocks) and all(map(pem.is_certificate, blocks))


def _check_usages(spec: Value) -> Problems:
    usages = texts(spec, "usages")
    if not usages:
        yield required(_SPEC / "usages")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            yield not_supported(_SPEC / "usages" / index, usage, _USAGES)
        elif usage in usages[:index]:
            yield duplicate(_SPEC / "usages" / index, usage)


def _check_signer(name: str, path: FieldPath) -> Problems:
    domain, slash, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not slash or not rest:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
    else:
        yield from check_rule(domain, path, names.validate_dns_subdomain)
        if "." not in domain:
            yield invalid(path, name, "should be a domain with at least two segments separated by dots")
        for part in rest.split("."):
            yield from check_rule(part, path, names.validate_dns_label)
