"""Makes certificates: one that signs others, and those that it signs. All keys are on the curve P-256.

`cryptography` is imported when something is made, which is seldom: a server that has its certificates starts without it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

EARLY = timedelta(minutes=5)
"""How long before it is made a certificate begins: clocks differ."""
CA_NAME = "probate-ca"


class Pair(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Subject(NamedTuple):
    """Whom a certificate is for. A server has names by which it is reached; a client has groups."""

    name: str
    groups: tuple[str, ...] = ()
    reached_by: tuple[str, ...] = ()


def new_authority(now: float, *, lifetime: timedelta) -> Pair:
    """A certificate that signs others."""
    from cryptography import x509  # noqa: PLC0415

    key = _new_key()
    subject = _name(CA_NAME, ())
    builder = _begin(subject, subject, key.public_key(), now, lifetime)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_others=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return _signed(builder, key, key)


def issue(authority: Pair, subject: Subject, now: float, *, lifetime: timedelta) -> Pair:
    """A certificate for a server, if it is reached by names, else for a client."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID as Purpose  # noqa: PLC0415

    signer: Any = load_pem_private_key(authority.key, None)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    key = _new_key()
    builder = _begin(_name(subject.name, subject.groups), issuer.subject, key.public_key(), now, lifetime)
    purpose = Purpose.SERVER_AUTH if subject.reached_by else Purpose.CLIENT_AUTH
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_others=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    if subject.reached_by:
        builder = builder.add_extension(_alternatives(subject.reached_by), critical=False)
    return _signed(builder, key, signer)


def new_signing_key() -> bytes:
    """A key to sign tokens with."""
    return _key_pem(_new_key())


def _new_key() -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    return ec.generate_private_key(ec.SECP256R1())


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: float, lifetime: timedelta
) -> x509.CertificateBuilder:
    from cryptography import x509  # noqa: PLC0415

    begin = datetime.fromtimestamp(now, UTC)
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(begin - EARLY).not_valid_after(begin + lifetime)


def _name(common: str, groups: Sequence[str]) -> x509.Name:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    of_groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*of_groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _alternatives(names: Sequence[str]) -> x509.SubjectAlternativeName:
    from cryptography import x509  # noqa: PLC0415

    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return x509.SubjectAlternativeName(found)


def _usage(*, signs_others: bool) -> x509.KeyUsage:
    from cryptography import x509  # noqa: PLC0415

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_others,
        crl_sign=signs_others,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: Any) -> Pair:
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415

    made = builder.sign(signer, hashes.SHA256())
    return Pair(made.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
