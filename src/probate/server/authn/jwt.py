"""JSON Web Tokens (JWT) in compact form: parsing, signing and verifying signatures.

The `alg` header of a token decides nothing by itself: each key belongs to one family of algorithms, and a token without a signature
is rejected.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, NamedTuple

import orjson

MAX_BYTES = 16 * 1024
_HASHES = {"256": "SHA256", "384": "SHA384", "512": "SHA512"}
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}

Claims = dict[str, Any]


class ParsedToken(NamedTuple):
    """The parts of a token. Trust none of them before `is_signed_by` has checked the signature."""

    algorithm: str
    key_id: str
    claims: Claims
    signed: bytes
    signature: bytes


def parse(token: str) -> ParsedToken | None:
    """Returns the parts of a token, or None if the text is not a JWT."""
    parts = token.split(".")
    if len(token) > MAX_BYTES or len(parts) != 3 or not all(parts):
        return None
    try:
        header, claims = (orjson.loads(_from_base64url(part)) for part in parts[:2])
        signature = _from_base64url(parts[2])
    except (ValueError, binascii.Error):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict) or "crit" in header:
        return None
    algorithm, key_id = header.get("alg"), header.get("kid", "")
    if not isinstance(algorithm, str) or not isinstance(key_id, str):
        return None
    return ParsedToken(algorithm, key_id, claims, token.rpartition(".")[0].encode(), signature)


def is_signed_by(token: ParsedToken, key: Any) -> bool:
    """Returns whether the owner of this public key signed the token."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415

    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            return _check_curve(token, key)
        return _check_rsa(token, key) if isinstance(key, rsa.RSAPublicKey) else False
    except (InvalidSignature, ValueError):
        return False


def _check_curve(token: ParsedToken, key: Any) -> bool:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    if _CURVES.get(token.algorithm) != key.curve.name or len(token.signature) % 2:
        return False
    half = len(token.signature) // 2
    if half != (key.curve.key_size + 7) // 8:
        return False
    numbers = [int.from_bytes(part, "big") for part in (token.signature[:half], token.signature[half:])]
    digest = getattr(hashes, _HASHES[token.algorithm[2:]])()
    key.verify(utils.encode_dss_signature(*numbers), token.signed, ec.ECDSA(digest))
    return True


def _check_rsa(token: ParsedToken, key: Any) -> bool:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

    family, size = token.algorithm[:2], token.algorithm[2:]
    if family not in {"RS", "PS"} or size not in _HASHES or key.key_size < 2048:
        return False
    digest = getattr(hashes, _HASHES[size])()
    scheme: Any = padding.PKCS1v15()
    if family == "PS":
        scheme = padding.PSS(mgf=padding.MGF1(digest), salt_length=padding.PSS.DIGEST_LENGTH)
    key.verify(token.signature, token.signed, scheme, digest)
    return True


def sign(claims: Claims, key: Any, key_id: str) -> str:
    """Returns a token with these claims, signed with a P-256 key."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    header = {"alg": "ES256", "kid": key_id, "typ": "JWT"}
    signed = f"{_base64url(orjson.dumps(header))}.{_base64url(orjson.dumps(claims))}"
    r, s = utils.decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def key_id_of(key: Any) -> str:
    """Returns the `kid` of a public key: its hash."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    return _base64url(hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest())


def to_jwk(key: Any) -> Claims:
    """Returns the JWK of a P-256 public key, with which others verify tokens."""
    numbers = key.public_numbers()
    x, y = (_base64url(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
    return {"use": "sig", "kty": "EC", "kid": key_id_of(key), "crv": "P-256", "alg": "ES256", "x": x, "y": y}


def from_jwk(jwk: Claims) -> Any | None:
    """Returns the public key that a JWK holds, or None if its type is not supported or it is not for signatures."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415

    try:
        if jwk.get("use", "sig") != "sig":
            return None
        if jwk["kty"] == "RSA":
            return rsa.RSAPublicNumbers(_number(jwk["e"]), _number(jwk["n"])).public_key()
        if jwk["kty"] == "EC":
            curves = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
            numbers = ec.EllipticCurvePublicNumbers(_number(jwk["x"]), _number(jwk["y"]), curves[jwk["crv"]])
            return numbers.public_key()
    except (KeyError, TypeError, ValueError):
        return None
    return None


def _number(text: str) -> int:
    return int.from_bytes(_from_base64url(text), "big")


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _from_base64url(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
