"""Signs requests for clients' certificates. What the request says is read, and written anew: nothing is taken over unread.

A certificate has the name and the groups that were looked at, the other names of four kinds, the usages that the signer allows, and
nothing else that a request may ask for. It signs for nobody, and does not outlast the authority.
"""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from probate.http.tls.authority import EARLY, Pair
from probate.kinds.certificates import signers
from probate.kinds.certificates.signers import Asked, Unfit, Wanted

if TYPE_CHECKING:
    from cryptography import x509

MAX_BYTES = 32 * 1024
"""Of a request."""
LEAST_RSA_BITS, MOST_RSA_BITS = 2048, 8192


def signed(authority: Pair, wanted: Wanted, now: float) -> bytes:
    """The certificate, as PEM. `Unfit` says why there is none."""
    with warnings.catch_warnings():  # of names over 64 characters, which users may have
        warnings.simplefilter("ignore", UserWarning)
        return _signed(authority, wanted, now)


def _signed(authority: Pair, wanted: Wanted, now: float) -> bytes:
    request = _read(wanted.request)
    names = _other_names(request)
    asked = Asked(*_subject(request), other_names=frozenset(_kind(one) for one in names))
    signers.check(wanted.signer, asked, wanted.usages)
    return _made(authority, _own_key(request), asked, names, wanted, now)


def _read(pem: bytes) -> x509.CertificateSigningRequest:
    from cryptography import x509  # noqa: PLC0415

    if len(pem) > MAX_BYTES:
        raise Unfit(f"the request is over {MAX_BYTES:,} bytes")
    try:
        return x509.load_pem_x509_csr(pem)
    except (ValueError, x509.InvalidVersion) as error:
        raise Unfit("the request cannot be read") from error


def _subject(request: x509.CertificateSigningRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All names and all groups."""
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    try:
        attributes = list(request.subject)
    except ValueError as error:
        raise Unfit("the subject of the request cannot be read") from error
    names, groups = (
        tuple(one.value if isinstance(one.value, str) else "" for one in attributes if one.oid == oid)
        for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
    )
    return names, groups


def _other_names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    from cryptography import x509  # noqa: PLC0415

    try:
        found = list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise Unfit("the extensions of the request cannot be read") from error
    return [one for one in found if _kind(one)]


def _kind(name: x509.GeneralName) -> str:
    from cryptography import x509  # noqa: PLC0415

    kinds: dict[type, str] = {x509.DNSName: "DNS", x509.RFC822Name: "Email", x509.IPAddress: "IP"}
    return {**kinds, x509.UniformResourceIdentifier: "URI"}.get(type(name), "")


def _own_key(request: x509.CertificateSigningRequest) -> Any:
    """The key of the request, which its author has: it is signed with it."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    try:
        key = request.public_key()
        if _is_good(key) and request.is_signature_valid:
            return key
    except (ValueError, UnsupportedAlgorithm):
        pass
    raise Unfit("the request has to be signed with its own key: RSA of 2048 to 8192 bits, P-256, P-384, P-521 or Ed25519")


def _is_good(key: Any) -> bool:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415

    if isinstance(key, rsa.RSAPublicKey):
        return LEAST_RSA_BITS <= key.key_size <= MOST_RSA_BITS
    if isinstance(key, ec.EllipticCurvePublicKey):
        return isinstance(key.curve, ec.SECP256R1 | ec.SECP384R1 | ec.SECP521R1)
    return isinstance(key, ed25519.Ed25519PublicKey)


def _made(authority: Pair, key: Any, asked: Asked, names: list[x509.GeneralName], wanted: Wanted, now: float) -> bytes:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID as Purpose  # noqa: PLC0415

    signer: Any = load_pem_private_key(authority.key, None)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    begin = datetime.fromtimestamp(now, UTC)
    end = min(begin + timedelta(seconds=signers.lifetime(wanted.seconds)), issuer.not_valid_after_utc)
    builder = x509.CertificateBuilder(issuer_name=issuer.subject, subject_name=_name(asked), public_key=key)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begin - EARLY).not_valid_after(end)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([Purpose.CLIENT_AUTH]), critical=False)
    builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    if usage := _usage(wanted.usages):
        builder = builder.add_extension(usage, critical=True)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)


def _name(asked: Asked) -> x509.Name:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    said = [*((NameOID.ORGANIZATION_NAME, group) for group in asked.groups), (NameOID.COMMON_NAME, asked.names[0])]
    return x509.Name([x509.NameAttribute(oid, text, _validate=False) for oid, text in said])


def _usage(usages: tuple[str, ...]) -> x509.KeyUsage | None:
    """What the key may be used for; None if nothing is said about it."""
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
