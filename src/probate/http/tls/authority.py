"""Issues certificates: a certificate authority, and the certificates that it signs. All keys are on the curve P-256.

`cryptography` is imported only when a certificate is issued, which is rare: a server that has its certificates starts without it.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

BACKDATE = timedelta(minutes=5)
"""How long before its issue a certificate becomes valid: clocks differ."""
CA_NAME = "probate-ca"


class KeyPair(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Subject(NamedTuple):
    """The subject of a certificate.

    A server has alternative names (DNS names and IP addresses). A client has groups, and a user of a tenant a unit and a URI.
    """

    name: str
    groups: tuple[str, ...] = ()
    alternative_names: tuple[str, ...] = ()
    unit: str = ""
    uri: str = ""


def new_authority(now: float, *, lifetime: timedelta) -> KeyPair:
    """Creates a certificate authority: a self-signed certificate and its key."""
    from cryptography import x509  # noqa: PLC0415

    key = _new_key()
    subject = _name(Subject(CA_NAME))
    builder = _new_builder(subject, subject, key.public_key(), now=now, lifetime=lifetime)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(is_ca=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return _sign(builder, key, key)


def issue(authority: KeyPair, subject: Subject, now: float, *, lifetime: timedelta) -> KeyPair:
    """Issues a server certificate if the subject has alternative names, else a client certificate."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID as Purpose  # noqa: PLC0415

    signer: Any = load_pem_private_key(authority.key, None)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    key = _new_key()
    builder = _new_builder(_name(subject), issuer.subject, key.public_key(), now=now, lifetime=lifetime)
    purpose = Purpose.SERVER_AUTH if subject.alternative_names else Purpose.CLIENT_AUTH
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(is_ca=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    if subject.alternative_names or subject.uri:
        builder = builder.add_extension(_subject_alternative_name(subject), critical=False)
    return _sign(builder, key, signer)


def new_signing_key() -> bytes:
    """Creates a key that signs tokens."""
    return _key_pem(_new_key())


def _new_key() -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    return ec.generate_private_key(ec.SECP256R1())


def _new_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, now: float, lifetime: timedelta
) -> x509.CertificateBuilder:
    from cryptography import x509  # noqa: PLC0415

    issued = datetime.fromtimestamp(now, UTC)
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(issued - BACKDATE).not_valid_after(issued + lifetime)


def _name(subject: Subject) -> x509.Name:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
    units = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, subject.unit)] if subject.unit else []
    return x509.Name([*organizations, *units, x509.NameAttribute(NameOID.COMMON_NAME, subject.name)])


def _subject_alternative_name(subject: Subject) -> x509.SubjectAlternativeName:
    from cryptography import x509  # noqa: PLC0415

    general_names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(subject.uri)] if subject.uri else []
    for name in subject.alternative_names:
        try:
            general_names.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            general_names.append(x509.DNSName(name))
    return x509.SubjectAlternativeName(general_names)


def _usage(*, is_ca: bool) -> x509.KeyUsage:
    from cryptography import x509  # noqa: PLC0415

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        encipher_only=False,
        decipher_only=False,
    )


def _sign(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: Any) -> KeyPair:
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415

    certificate = builder.sign(signer, hashes.SHA256())
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
