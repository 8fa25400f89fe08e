"""Reads the validity period of a certificate and the organizations of a certificate request, from PEM text or DER bytes.

This module supports nothing else of X.509. Certificates that decide about access are parsed with a library (`http.tls`).
"""

from __future__ import annotations

from datetime import UTC, datetime

from probate.lib.x509 import pem as pems

_SEQUENCE, _EXPLICIT, _UTC_TIME = 0x30, 0xA0, 0x17
_ORGANIZATION = bytes.fromhex("55040a")
_ENCODINGS = {0x1E: "utf-16-be", 0x1C: "utf-32-be"}
"""Text encodings with several bytes per character, by ASN.1 tag."""


def not_after(pem: bytes) -> float | None:
    """Returns the notAfter time of the first certificate in seconds since the epoch; None if it cannot be parsed."""
    found = next(pems.read(pem), None)
    if found is None or found.kind != "CERTIFICATE":
        return None
    try:
        return span(found.content)[1]
    except (ValueError, IndexError):
        return None


def is_private_key(pem: bytes) -> bool:
    """Returns whether the text looks like a private key in PEM format: its PEM type says so, and its DER length is correct."""
    found = next(pems.read(pem), None)
    if found is None or not found.kind.endswith("PRIVATE KEY") or len(found.content) < 2:
        return False
    kind, short = found.content[:2]
    size = short if short < 0x80 else int.from_bytes(found.content[2 : 2 + (short & 0x7F)], "big") + (short & 0x7F)
    return kind == 0x30 and len(found.content) == 2 + size


def organizations(pem: bytes) -> list[str]:
    """Returns the organizations in the subject of a certificate request; an empty list if it cannot be parsed."""
    found = next(pems.read(pem), None)
    try:
        request = _content(found.content, 0) if found else b""
        subject = _parts(_content(request, 0))[1][1]  # the element after the version
        pairs = [_parts(pair) for _, set_ in _parts(subject) for _, pair in _parts(set_)]
        return [text.decode(_ENCODINGS.get(tag, "utf-8"), "replace") for (_, oid), (tag, text) in pairs if oid == _ORGANIZATION]
    except (ValueError, IndexError):
        return []


def span(der: bytes) -> tuple[float, float]:
    """Returns notBefore and notAfter in seconds since the epoch. Raises `ValueError` or `IndexError` for invalid input."""
    certificate = _content(der, 0)
    body = _parts(_content(certificate, 0))
    number = 4 if body[0][0] == _EXPLICIT else 3  # version (optional), serial number, algorithm, issuer, validity
    not_before, expires = (_moment(*one) for one in _parts(body[number][1]))
    return not_before, expires


def _moment(kind: int, text: bytes) -> float:
    pattern = "%y%m%d%H%M%SZ" if kind == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(text.decode("ascii"), pattern).replace(tzinfo=UTC).timestamp()


def _content(der: bytes, at: int) -> bytes:
    tag, start, end = _header(der, at)
    if tag != _SEQUENCE:
        raise ValueError("no sequence")
    return der[start:end]


def _parts(der: bytes) -> list[tuple[int, bytes]]:
    """Returns the tag and content of each element of a sequence."""
    found, at = [], 0
    while at < len(der):
        tag, start, at = _header(der, at)
        found.append((tag, der[start:at]))
    return found


def _header(der: bytes, at: int) -> tuple[int, int, int]:
    """Returns the tag of the element at a position, and the start and end of its content."""
    length, start = der[at + 1], at + 2
    if length & 0x80:
        length_bytes = length & 0x7F
        length, start = int.from_bytes(der[start : start + length_bytes], "big"), start + length_bytes
    if start + length > len(der):
        raise ValueError("cut off")
    return der[at], start, start + length
