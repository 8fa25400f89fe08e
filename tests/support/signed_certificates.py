"""Certificates of any kind and time, by an authority that is not Probate's: roots, those in between, and those of clients."""

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


class Signed(NamedTuple):
    """A certificate with its key, and those by which it is believed, up to the root, which nobody sends."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    by: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> bytes:
        """What others are to believe."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def shown(self) -> bytes:
        """What a client shows: its key, its certificate, and those in between."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + b"".join(one.public_bytes(Encoding.PEM) for one in (self.certificate, *self.by))


class Span(NamedTuple):
    """From when to when, in seconds from now."""

    begins: float = -300.0
    ends: float = DAY


OVER, LATER = Span(-3 * DAY, -DAY), Span(DAY, 2 * DAY)


def root(name: str, span: Span = Span()) -> Signed:  # noqa: B008 it cannot be changed
    key = ec.generate_private_key(ec.SECP256R1())
    return Signed(_made(_name(name), key, span, None, signs=True), key)


def between(signer: Signed, name: str, span: Span = Span()) -> Signed:  # noqa: B008
    key = ec.generate_private_key(ec.SECP256R1())
    made = _made(_name(name), key, span, signer, signs=True)
    return Signed(made, key, (made, *signer.by))


def of(signer: Signed, name: str, groups: Sequence[str] = (), span: Span = Span(), purposes: Sequence[Any] = (CLIENT,)) -> Signed:  # noqa: B008
    """A client's, or whoever's these purposes are."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Signed(_made(_name(name, groups), key, span, signer, purposes=purposes), key, signer.by)


def _name(common: str, groups: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, *([x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else [])])


def _made(
    name: x509.Name, key: Any, span: Span, signer: Signed | None, *, signs: bool = False, purposes: Sequence[Any] = ()
) -> x509.Certificate:
    now = datetime.fromtimestamp(time.time(), UTC)
    builder = x509.CertificateBuilder(
        subject_name=name,
        issuer_name=name if signer is None else signer.certificate.subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now + timedelta(seconds=span.begins),
        not_valid_after=now + timedelta(seconds=span.ends),
    ).add_extension(x509.BasicConstraints(ca=signs, path_length=None), critical=True)
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(list(purposes)), critical=False)
    return builder.sign(key if signer is None else signer.key, hashes.SHA256())
