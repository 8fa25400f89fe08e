"""Signed tokens (JWT, in their compact form): how they are written and read, and whether the signature is right.

What a token says of its own algorithm decides nothing: a key is for one family of algorithms, and one without a signature is none.
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


class Parsed(NamedTuple):
    """A token, taken apart. Nothing of it is to be believed before its signature was checked."""

    algorithm: str
    key_id: str
    claims: Claims
    signed: bytes
    signature: bytes


def parse(token: str) -> Parsed | None:
    """The parts of a token; None if it is none."""
    parts = token.split(".")
    if len(token) > MAX_BYTES or len(parts) != 3 or not all(parts):
        return None
    try:
        header, claims = (orjson.loads(_decoded(part)) for part in parts[:2])
        signature = _decoded(parts[2])
    except (ValueError, binascii.Error):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict) or "crit" in header:
        return None
    algorithm, key_id = header.get("alg"), header.get("kid", "")
    if not isinstance(algorithm, str) or not isinstance(key_id, str):
        return None
    return Parsed(algorithm, key_id, claims, token.rpartition(".")[0].encode(), signature)


def is_signed_by(parsed: Parsed, key: Any) -> bool:
    """Whether the token was signed by the owner of this public key."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415

    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            return _check_curve(parsed, key)
        return _check_rsa(parsed, key) if isinstance(key, rsa.RSAPublicKey) else False
    except (InvalidSignature, ValueError):
        return False


def _check_curve(parsed: Parsed, key: Any) -> bool:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    if _CURVES.get(parsed.algorithm) != key.curve.name or len(parsed.signature) % 2:
        return False
    half = len(parsed.signature) // 2
    if half != (key.curve.key_size + 7) // 8:
        return False
    numbers = [int.from_bytes(part, "big") for part in (parsed.signature[:half], parsed.signature[half:])]
    digest = getattr(hashes, _HASHES[parsed.algorithm[2:]])()
    key.verify(utils.encode_dss_signature(*numbers), parsed.signed, ec.ECDSA(digest))
    return True


def _check_rsa(parsed: Parsed, key: Any) -> bool:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

    family, size = parsed.algorithm[:2], parsed.algorithm[2:]
    if family not in {"RS", "PS"} or size not in _HASHES or key.key_size < 2048:
        return False
    digest = getattr(hashes, _HASHES[size])()
    way: Any = padding.PKCS1v15()
    if family == "PS":
        way = padding.PSS(mgf=padding.MGF1(digest), salt_length=padding.PSS.DIGEST_LENGTH)
    key.verify(parsed.signature, parsed.signed, way, digest)
    return True


def sign(claims: Claims, key: Any, key_id: str) -> str:
    """A token with these claims, signed with a key on the curve P-256."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    header = {"alg": "ES256", "kid": key_id, "typ": "JWT"}
    signed = f"{_encoded(orjson.dumps(header))}.{_encoded(orjson.dumps(claims))}"
    one, other = utils.decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_encoded(one.to_bytes(32, 'big') + other.to_bytes(32, 'big'))}"


def key_id_of(key: Any) -> str:
    """What a public key is called: its hash."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    return _encoded(hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest())


def description(key: Any) -> Claims:
    """The JWK that describes a public key on the curve P-256, for others to verify tokens with."""
    numbers = key.public_numbers()
    x, y = (_encoded(one.to_bytes(32, "big")) for one in (numbers.x, numbers.y))
    return {"use": "sig", "kty": "EC", "kid": key_id_of(key), "crv": "P-256", "alg": "ES256", "x": x, "y": y}


def public_key(described: Claims) -> Any | None:
    """The key that a JWK describes; None if it is of no kind that is used here, or not for signatures."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415

    try:
        if described.get("use", "sig") != "sig":
            return None
        if described["kty"] == "RSA":
            return rsa.RSAPublicNumbers(_number(described["e"]), _number(described["n"])).public_key()
        if described["kty"] == "EC":
            curves = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
            numbers = ec.EllipticCurvePublicNumbers(_number(described["x"]), _number(described["y"]), curves[described["crv"]])
            return numbers.public_key()
    except (KeyError, TypeError, ValueError):
        return None
    return None


def _number(text: str) -> int:
    return int.from_bytes(_decoded(text), "big")


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
