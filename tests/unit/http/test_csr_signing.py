"""Which CertificateSigningRequests the server's authority signs, and what the certificates contain."""

from __future__ import annotations

import base64
import ipaddress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID

from probate.http.tls import authority, csr_signer
from probate.kinds.certificates.signers import CannotSign, RequestedCertificate
from support.certificate_requests import CLIENT, GROUP, KUBELET, NAME, UNIT, csr_pem, new_key, subject

NOW = 1_800_000_000.0
DAY = 86400.0
CA = authority.new_authority(NOW, lifetime=timedelta(days=3650))
USAGES = ("client auth",)
NODE = ("digital signature", "key encipherment", "client auth")


def sign(
    pem: bytes, signer: str = CLIENT, usages: tuple[str, ...] = USAGES, seconds: int | None = None, ca: Any = CA
) -> x509.Certificate:
    return x509.load_pem_x509_certificate(csr_signer.sign(ca, RequestedCertificate(signer, pem, usages, seconds), NOW))


def attributes(certificate: x509.Certificate, oid: Any) -> list[Any]:
    return [one.value for one in certificate.subject.get_attributes_for_oid(oid)]


def extension(certificate: x509.Certificate, kind: Any) -> Any:
    return certificate.extensions.get_extension_for_class(kind).value


def test_certificate_has_the_name_groups_and_key_of_the_request() -> None:
    key = new_key()
    certificate = sign(csr_pem(subject("ann", "staff", "ops"), key))
    assert (attributes(certificate, NAME), attributes(certificate, GROUP)) == (["ann"], ["staff", "ops"])
    assert certificate.public_key() == key.public_key()
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(CA.certificate))


def test_names_may_be_longer_than_64_characters() -> None:
    name = "system:serviceaccount:" + "a" * 100
    with pytest.warns(UserWarning, match="length"):
        pem = csr_pem(subject(name))
    certificate = csr_signer.sign(CA, RequestedCertificate(CLIENT, pem, USAGES), NOW)
    with pytest.warns(UserWarning, match="length"):
        assert attributes(x509.load_pem_x509_certificate(certificate), NAME) == [name]


def test_usages_are_those_of_the_request_and_nothing_else() -> None:
    certificate = sign(csr_pem(subject("ann")), usages=("digital signature", "client auth"))
    usage = extension(certificate, x509.KeyUsage)
    assert (usage.digital_signature, usage.key_encipherment, usage.key_cert_sign, usage.crl_sign) == (True, False, False, False)
    assert list(extension(certificate, x509.ExtendedKeyUsage)) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    with pytest.raises(x509.ExtensionNotFound):
        extension(sign(csr_pem(subject("ann"))), x509.KeyUsage)


def test_extensions_of_the_request_are_not_copied() -> None:
    everything = x509.KeyUsage(
        digital_signature=True,
        content_commitment=True,
        key_encipherment=True,
        data_encipherment=True,
        key_agreement=True,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    extensions_ = [
        x509.BasicConstraints(ca=True, path_length=None),
        everything,
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]),
        x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00"),
    ]
    certificate = sign(csr_pem(subject("ann"), extensions=extensions_))
    assert extension(certificate, x509.BasicConstraints) == x509.BasicConstraints(ca=False, path_length=None)
    assert list(extension(certificate, x509.ExtendedKeyUsage)) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    kinds = {type(one.value) for one in certificate.extensions}
    assert kinds == {x509.BasicConstraints, x509.ExtendedKeyUsage, x509.AuthorityKeyIdentifier}


def test_alternative_names_of_four_types_are_copied() -> None:
    names: list[x509.GeneralName] = [
        x509.DNSName("a.example.com"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.RFC822Name("a@example.com"),
        x509.UniformResourceIdentifier("spiffe://a"),
    ]
    others: list[x509.GeneralName] = [x509.RegisteredID(x509.ObjectIdentifier("1.2.3")), x509.DirectoryName(subject("root"))]
    certificate = sign(csr_pem(subject("ann"), extensions=[x509.SubjectAlternativeName(names + others)]))
    assert list(extension(certificate, x509.SubjectAlternativeName)) == names


def test_only_the_name_and_the_groups_of_the_subject_are_copied() -> None:
    name = x509.Name(
        [*subject("ann", "staff"), x509.NameAttribute(UNIT, "unit"), x509.NameAttribute(x509.ObjectIdentifier("1.2.3"), "x")]
    )
    assert sign(csr_pem(name)).subject == subject("ann", "staff")


@pytest.mark.parametrize(
    ("wanted", "expected"), [(None, 365 * DAY), (3600, 3600), (600, 600), (10, 600), (-1, 600), (2**31 - 1, 365 * DAY)]
)
def test_lifetime_is_that_of_the_request_within_limits(wanted: int | None, expected: float) -> None:
    certificate, begin = sign(csr_pem(subject("ann")), seconds=wanted), datetime.fromtimestamp(NOW, UTC)
    assert certificate.not_valid_before_utc == begin - authority.BACKDATE
    assert certificate.not_valid_after_utc == begin + timedelta(seconds=expected)


def test_certificate_does_not_outlast_the_authority() -> None:
    ca = authority.new_authority(NOW, lifetime=timedelta(hours=1))
    assert sign(csr_pem(subject("ann")), ca=ca).not_valid_after_utc == datetime.fromtimestamp(NOW + 3600, UTC)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(lambda: rsa.generate_private_key(65537, 2048), id="RSA"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP384R1()), id="P-384"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP521R1()), id="P-521"),
        pytest.param(ed25519.Ed25519PrivateKey.generate, id="Ed25519"),
    ],
)
def test_allowed_key_types_are_signed(key: Any) -> None:
    own = key()
    assert sign(csr_pem(subject("ann"), own)).public_key() == own.public_key()


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(lambda: rsa.generate_private_key(65537, 1024), id="short"),  # noqa: S505 refused for that reason
        pytest.param(lambda: ec.generate_private_key(ec.SECP256K1()), id="curve"),
    ],
)
def test_weak_keys_are_refused(key: Any) -> None:
    with pytest.raises(CannotSign, match="signed with its own key"):
        sign(csr_pem(subject("ann"), key()))


def test_request_without_proof_of_possession_is_refused() -> None:
    """The signature is invalid: anybody could request a certificate for another's key."""
    lines = csr_pem(subject("ann")).splitlines()
    der = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    der[-1] ^= 1
    pem = b"\n".join([lines[0], base64.encodebytes(bytes(der)).strip(), lines[-1], b""])
    with pytest.raises(CannotSign, match="signed with its own key"):
        sign(pem)


MASTERS = "system:masters"


@pytest.mark.parametrize("signer", [CLIENT, KUBELET])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(subject("ann", MASTERS), id="group"),
        pytest.param(subject("ann", "staff", MASTERS), id="one of several"),
        pytest.param(
            x509.Name([x509.NameAttribute(GROUP, MASTERS, _ASN1Type.BMPString), *subject("ann")]), id="in wide characters"
        ),
        pytest.param(
            x509.Name([x509.NameAttribute(GROUP, MASTERS, _ASN1Type.PrintableString), *subject("ann")]), id="in another alphabet"
        ),
        pytest.param(
            x509.Name([x509.RelativeDistinguishedName([x509.NameAttribute(NAME, "ann"), x509.NameAttribute(GROUP, MASTERS)])]),
            id="in one piece with the name",
        ),
    ],
)
def test_system_masters_group_is_refused_in_every_encoding(name: x509.Name, signer: str) -> None:
    with pytest.raises(CannotSign, match="system:masters group is not allowed"):
        sign(csr_pem(name), signer, NODE)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param(subject(""), "one common name", id="nobody"),
        pytest.param(x509.Name([*subject("ann"), *subject("root")]), "one common name", id="two"),
        pytest.param(subject("ann\0root"), "invisible characters", id="NUL"),
        pytest.param(subject("ann", "staff\n"), "invisible characters", id="line"),
    ],
)
def test_ambiguous_subjects_are_refused(name: x509.Name, reason: str) -> None:
    with pytest.raises(CannotSign, match=reason):
        sign(csr_pem(name))


@pytest.mark.parametrize(
    ("usages", "reason"),
    [
        (("client auth", "server auth"), "invalid usage for client certificate: server auth"),
        (("client auth", "cert sign"), "invalid usage for client certificate: cert sign"),
        (("client auth", "any"), "invalid usage for client certificate: any"),
        (("digital signature",), "missing required usage for client certificate: client auth"),
    ],
)
def test_usages_other_than_a_clients_are_refused(usages: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CannotSign, match=reason):
        sign(csr_pem(subject("ann")), usages=usages)


@pytest.mark.parametrize(
    ("name", "usages", "names", "reason"),
    [
        pytest.param(subject("system:node:n", "system:nodes"), NODE, [], "", id="node"),
        pytest.param(subject("system:node:n", "system:nodes"), NODE[::2], [], "", id="without RSA"),
        pytest.param(subject("system:node:n"), NODE, [], "organization is not system:nodes", id="no group"),
        pytest.param(subject("system:node:n", "system:nodes", "a"), NODE, [], "organization is not", id="one more group"),
        pytest.param(subject("n", "system:nodes"), NODE, [], "does not begin with system:node:", id="another name"),
        pytest.param(subject("system:node:n", "system:nodes"), USAGES, [], "usages did not match", id="usages"),
        pytest.param(
            subject("system:node:n", "system:nodes"), NODE, [x509.DNSName("a")], "DNS subjectAltNames are not allowed", id="names"
        ),
    ],
)
def test_kubelet_signer_rules(name: x509.Name, usages: tuple[str, ...], names: list[x509.GeneralName], reason: str) -> None:
    pem = csr_pem(name, extensions=[x509.SubjectAlternativeName(names)] if names else [])
    if reason:
        with pytest.raises(CannotSign, match=reason):
            sign(pem, KUBELET, usages)
    else:
        assert sign(pem, KUBELET, usages).subject == name


@pytest.mark.parametrize("signer", ["kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown", "example.com/s"])
def test_unknown_signers_are_refused(signer: str) -> None:
    with pytest.raises(CannotSign, match="the server has no signer"):
        sign(csr_pem(subject("ann")), signer)


@pytest.mark.parametrize(
    "pem", [b"", b"x", b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", b"x" * 100_000]
)
def test_malformed_requests_are_refused(pem: bytes) -> None:
    with pytest.raises(CannotSign, match="the request"):
        sign(pem)
