"""Signs CertificateSigningRequests for client certificates. Every field is parsed, checked and written again; none is copied
unparsed.

A certificate has the checked name and groups, alternative names of four types, the usages that the signer allows, and nothing else
that a request may contain. It is not a CA, and does not outlast the authority.
"""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from probate.http.tls.authority import BACKDATE, KeyPair
from probate.kinds.certificates import signers
from probate.kinds.certificates.signers import CannotSign, RequestedCertificate, RequestSubject

if TYPE_CHECKING:
    from cryptography import x509

MAX_BYTES = 32 * 1024
"""Size of a request."""
MIN_RSA_BITS, MAX_RSA_BITS = 2048, 8192


def sign(authority: KeyPair, order: RequestedCertificate, now: float) -> bytes:
    """Returns the certificate in PEM format. Raises `CannotSign` if the request cannot be signed."""
    with warnings.catch_warnings():  # about names over 64 characters, which users may have
        warnings.simplefilter("ignore", UserWarning)
        return _sign(authority, order, now)


def _sign(authority: KeyPair, order: RequestedCertificate, now: float) -> bytes:
    request = _parse(order.request)
    names = _alternative_names(request)
    subject = RequestSubject(*_subject(request), other_names=frozenset(_name_type(name) for name in names))
    signers.check(order.signer, subject, order.usages)
    return _issue(authority, _public_key(request), subject, names=names, order=order, now=now)


def _parse(pem: bytes) -> x509.CertificateSigningRequest:
    from cryptography import x509  # noqa: PLC0415

    if len(pem) > MAX_BYTES:
        raise CannotSign(f"the request is over {MAX_BYTES:,} bytes")
    try:
        return x509.load_pem_x509_csr(pem)
    except (ValueError, x509.InvalidVersion) as error:
        raise CannotSign("the request cannot be read") from error


def _subject(request: x509.CertificateSigningRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns all common names and all organizations (groups)."""
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    try:
        attributes = list(request.subject)
    except ValueError as error:
        raise CannotSign("the subject of the request cannot be read") from error
    names, groups = (
        tuple(attribute.value if isinstance(attribute.value, str) else "" for attribute in attributes if attribute.oid == oid)
        for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
    )
    return names, groups


def _alternative_names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    from cryptography import x509  # noqa: PLC0415

    try:
        names = list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise CannotSign("the extensions of the request cannot be read") from error
    return [name for name in names if _name_type(name)]


def _name_type(name: x509.GeneralName) -> str:
    from cryptography import x509  # noqa: PLC0415

    types: dict[type, str] = {x509.DNSName: "DNS", x509.RFC822Name: "Email", x509.IPAddress: "IP"}
    return {**types, x509.UniformResourceIdentifier: "URI"}.get(type(name), "")


def _public_key(request: x509.CertificateSigningRequest) -> Any:
    """Returns the public key of the request. The request's signature proves that its author has the private key."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    try:
        key = request.public_key()
        if _is_allowed(key) and request.is_signature_valid:
            return key
    except (ValueError, UnsupportedAlgorithm):
        pass
    raise CannotSign("the request has to be signed with its own key: RSA of 2048 to 8192 bits, P-256, P-384, P-521 or Ed25519")


def _is_allowed(key: Any) -> bool:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415

    if isinstance(key, rsa.RSAPublicKey):
        return MIN_RSA_BITS <= key.key_size <= MAX_RSA_BITS
    if isinstance(key, ec.EllipticCurvePublicKey):
        return isinstance(key.curve, ec.SECP256R1 | ec.SECP384R1 | ec.SECP521R1)
    return isinstance(key, ed25519.Ed25519PublicKey)


def _issue(
    authority: KeyPair, key: Any, subject: RequestSubject, *, names: list[x509.GeneralName], order: RequestedCertificate, now: float
) -> bytes:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID as Purpose  # noqa: PLC0415

    signer: Any = load_pem_private_key(authority.key, None)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issued = datetime.fromtimestamp(now, UTC)
    end = min(issued + timedelta(seconds=signers.lifetime(order.seconds)), issuer.not_valid_after_utc)
    builder = x509.CertificateBuilder(issuer_name=issuer.subject, subject_name=_name(subject), public_key=key)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(issued - BACKDATE).not_valid_after(end)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([Purpose.CLIENT_AUTH]), critical=False)
    builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    if usage := _usage(order.usages):
        builder = builder.add_extension(usage, critical=True)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)


def _name(subject: RequestSubject) -> x509.Name:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    attributes = [*((NameOID.ORGANIZATION_NAME, group) for group in subject.groups), (NameOID.COMMON_NAME, subject.names[0])]
    return x509.Name([x509.NameAttribute(oid, text, _validate=False) for oid, text in attributes])


def _usage(usages: tuple[str, ...]) -> x509.KeyUsage | None:
    """Returns the key usage extension; None if the request names no usage of the key itself."""
    from cryptography import x509  # noqa: PLC0415

    signs, encrypts = "digital signature" in usages, "key encipherment" in usages
    if not signs and not encrypts:
        return None
    return x509.KeyUsage(
        digital_signature=signs,
        content_commitment=False,
        key_encipherment=encrypts,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
