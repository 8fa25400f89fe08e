"""CertificateSigningRequests: what is asked, what was decided, and what was signed."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation as kind_validation
from probate.kinds.certificates import validation as certificate_validation
from probate.lib.x509 import pem
from support import signed_certificates
from support.certificate_requests import PEM
from support.valid_objects import sample

Causes = list[tuple[str, str]]


def causes(problems: Any) -> Causes:
    return sorted({(problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems})


def written(status: dict[str, Any], before: dict[str, Any] | None = None, **spec: Any) -> Causes:
    key, new = sample("CertificateSigningRequest", status=status, **spec)
    _, old = sample("CertificateSigningRequest", status=before or {}, **spec)
    return causes(kind_validation.status(GroupVersionKind(*key), new, old))


def refused(*fields: str, reason: str = "Invalid") -> Causes:
    return sorted((f"status.{field}", reason) for field in fields)


def encoded(*pems: bytes) -> str:
    return base64.b64encode(b"".join(pems)).decode()


def conditions(*types: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": one, "status": status} for one in types]}


@pytest.mark.parametrize("part", ["approval", "status"])
@pytest.mark.parametrize(
    ("status", "before", "expected"),
    [
        pytest.param(conditions("Mine", status="False"), {}, [], id="another"),
        pytest.param(conditions(""), {}, refused("conditions[0].type", reason="Required"), id="no-type"),
        pytest.param(conditions(""), conditions(""), [], id="no-type-before"),
        pytest.param(conditions("Failed", status=""), {}, refused("conditions[0].status", reason="Required"), id="no-status"),
        pytest.param(conditions("Failed", status="False"), {}, refused("conditions[0].status", reason="NotSupported"), id="false"),
        pytest.param(conditions("A", "A"), {}, refused("conditions[1].type", reason="Duplicate"), id="twice"),
        pytest.param(conditions("A", "A"), conditions("A", "A"), [], id="twice-before"),
        pytest.param(conditions("Approved", "Denied"), conditions("Approved", "Denied"), [], id="both-before"),
    ],
)
def test_conditions_of_signing_requests(part: str, status: dict[str, Any], before: dict[str, Any], expected: Causes) -> None:
    key, new = sample("CertificateSigningRequest", status=status)
    _, old = sample("CertificateSigningRequest", status=before)
    found = (
        certificate_validation.check_approval(new, old)
        if part == "approval"
        else kind_validation.status(GroupVersionKind(*key), new, old)
    )
    assert causes(found) == expected


def test_a_request_is_not_both_approved_and_denied() -> None:
    _, new = sample("CertificateSigningRequest", status=conditions("Approved", "Denied"))
    _, old = sample("CertificateSigningRequest")
    assert causes(certificate_validation.check_approval(new, old)) == [("status.conditions", "Invalid")]


def test_certificates_are_certificates_and_stay() -> None:
    one, other = (signed_certificates.new_root(name).pem for name in "ab")
    for good in ((one,), (one, other), (b"a note\n", one)):
        assert written({"certificate": encoded(*good)}) == []
    for bad in (
        (b"x",),
        (PEM,),
        (one, PEM),
        (one.replace(b"\nMII", b"\nAAA"),),
        (one.replace(b"-----\nMII", b"-----\nA: b\n\nMII"),),
    ):
        assert written({"certificate": encoded(*bad)}) == refused("certificate")
    changed = written({"certificate": encoded(other)}, {"certificate": encoded(one)})
    assert changed == refused("certificate", reason="Forbidden")


def asked(**spec: Any) -> Causes:
    key, request = sample("CertificateSigningRequest", **{f"spec__{name}": value for name, value in spec.items()})
    return causes(kind_validation.create(GroupVersionKind(*key), request))


def test_what_is_asked_for_can_be_read() -> None:
    assert asked(request=encoded(b"note: from ann\n", PEM)) == []
    frame = b"-----BEGIN CERTIFICATE REQUEST-----\n%b\n-----END CERTIFICATE REQUEST-----\n"
    for bad in (b"", b"AAAA", b"????", base64.b64encode(b"0" * 100)):
        assert asked(request=encoded(frame % bad)) == [("spec.request", "Invalid")]
    assert asked(request=encoded(signed_certificates.new_root("a").pem, PEM)) == [("spec.request", "Invalid")]


def test_request_of_a_version_that_there_is_not_was_an_internal_error() -> None:
    block = next(pem.read(PEM))
    version = block.content.index(b"\x02\x01\x00") + 2
    der = block.content[:version] + b"\x05" + block.content[version + 1 :]
    text = b"-----BEGIN CERTIFICATE REQUEST-----\n%b\n-----END CERTIFICATE REQUEST-----\n" % base64.b64encode(der)
    assert asked(request=encoded(text)) == [("spec.request", "Invalid")]


def test_certificate_of_a_version_that_there_is_not_was_an_internal_error() -> None:
    block = next(pem.read(signed_certificates.new_root("a").pem))
    der = block.content.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x09", 1)
    assert der != block.content
    assert not pem.is_certificate(pem.Block("CERTIFICATE", base64.b64encode(der)))


def test_many_blocks_that_do_not_end_are_none() -> None:
    assert asked(request=encoded(b"-----BEGIN CERTIFICATE REQUEST-----\n" * 50_000)) == [("spec.request", "Invalid")]


def test_legacy_signer_is_refused_for_new_requests_only() -> None:
    legacy = "kubernetes.io/legacy-unknown"
    assert asked(signerName=legacy) == [("spec.signerName", "Invalid")]
    key, request = sample("CertificateSigningRequest", spec__signerName=legacy)
    assert kind_validation.update(GroupVersionKind(*key), request, request) == []
