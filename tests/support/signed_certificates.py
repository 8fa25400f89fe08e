"""Certificates by an authority that is not Probate's, with any validity: roots, intermediates, and client certificates."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = 86400.0
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


class SignedCertificate(NamedTuple):
    """A certificate with its key, and the chain to its root, without the root, which is never sent."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    chain: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> bytes:
        """The certificate alone: what a server trusts."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def client_pem(self) -> bytes:
        """What a client uses: its key, its certificate, and the intermediates."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + b"".join(certificate.public_bytes(Encoding.PEM) for certificate in (self.certificate, *self.chain))


class Validity(NamedTuple):
    """When a certificate is valid, in seconds from now."""

    not_before: float = -300.0
    not_after: float = DAY


VALID_NOW = Validity()
EXPIRED, NOT_YET_VALID = Validity(-3 * DAY, -DAY), Validity(DAY, 2 * DAY)


def new_root(name: str, validity: Validity = VALID_NOW) -> SignedCertificate:
    key = ec.generate_private_key(ec.SECP256R1())
    return SignedCertificate(_issue(_name(name), key, validity, signer=None, signs=True), key)


def new_intermediate(signer: SignedCertificate, name: str, validity: Validity = Validity()) -> SignedCertificate:  # noqa: B008
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _issue(_name(name), key, validity, signer=signer, signs=True)
    return SignedCertificate(certificate, key, (certificate, *signer.chain))


def new_leaf(
    signer: SignedCertificate,
    name: str,
    groups: Sequence[str] = (),
    *,
    validity: Validity = VALID_NOW,
    purposes: Sequence[Any] = (CLIENT,),
) -> SignedCertificate:
    """Returns a client certificate, or one with other purposes."""
    key = ec.generate_private_key(ec.SECP256R1())
    return SignedCertificate(_issue(_name(name, groups), key, validity, signer=signer, purposes=purposes), key, signer.chain)


def _name(common: str, groups: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, *([x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else [])])


def _issue(
    name: x509.Name,
    key: Any,
    validity: Validity,
    *,
    signer: SignedCertificate | None,
    signs: bool = False,
    purposes: Sequence[Any] = (),
) -> x509.Certificate:
    now = datetime.fromtimestamp(time.time(), UTC)
    builder = x509.CertificateBuilder(
        subject_name=name,
        issuer_name=name if signer is None else signer.certificate.subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now + timedelta(seconds=validity.not_before),
        not_valid_after=now + timedelta(seconds=validity.not_after),
    ).add_extension(x509.BasicConstraints(ca=signs, path_length=None), critical=True)
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(list(purposes)), critical=False)
    return builder.sign(key if signer is None else signer.key, hashes.SHA256())
