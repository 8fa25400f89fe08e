"""Certificates in the group system:masters cannot be requested."""

from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from probate.lib.x509 import certificates
from support import signed_certificates
from support.in_process_server import running

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENTS = "kubernetes.io/kube-apiserver-client"


def asked(*groups: str, kind: _ASN1Type = _ASN1Type.UTF8String) -> bytes:
    name = x509.NameAttribute(NameOID.COMMON_NAME, "eve")
    names = [name, *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group, kind) for group in groups)]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize(
    ("groups", "signer", "code"),
    [
        pytest.param(["system:masters"], CLIENTS, 403, id="a master"),
        pytest.param(["a", "system:masters"], CLIENTS, 403, id="a master among others"),
        pytest.param(["a"], CLIENTS, 201, id="somebody else"),
        pytest.param(["system:masters"], "example.com/signer", 201, id="a master elsewhere"),
    ],
)
async def test_certificate_was_asked_for_as(groups: list[str], signer: str, code: int) -> None:
    async with running() as server:
        spec = {"request": base64.b64encode(asked(*groups)).decode(), "signerName": signer, "usages": ["client auth"]}
        response = await server.request("POST", REQUESTS, {"metadata": {"name": "r"}, "spec": spec})
        assert response.code == code, response.body


@pytest.mark.parametrize("kind", [_ASN1Type.UTF8String, _ASN1Type.PrintableString, _ASN1Type.BMPString])
def test_groups_are_read_in_any_asn1_string_type(kind: _ASN1Type) -> None:
    assert certificates.organizations(asked("a", "b", kind=kind)) == ["a", "b"]


@pytest.mark.parametrize("text", [b"", b"-----BEGIN X-----\nAAAA\n-----END X-----", b"-----BEGIN X-----\n!\n-----END X-----"])
def test_invalid_requests_have_no_groups(text: bytes) -> None:
    assert certificates.organizations(text) == []


def test_unterminated_pem_blocks_blocked_the_event_loop() -> None:
    """Each was searched to the end of the text: 72 KB of them took seconds, on the event loop."""
    many = b"-----BEGIN A-----\n" * 100_000
    assert certificates.organizations(many + asked("a")) == ["a"]
    pem = signed_certificates.new_root("somebody").pem
    assert certificates.not_after(many + pem) == certificates.not_after(pem) is not None


def test_groups_are_found_behind_headers_of_a_block() -> None:
    begin, line, rest = asked("system:masters").partition(b"\n")
    assert certificates.organizations(begin + line + b"note: x\n" + rest) == ["system:masters"]
