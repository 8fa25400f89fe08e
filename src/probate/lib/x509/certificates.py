"""From when to when a certificate is, and for which organizations one is asked for, read from PEM texts or DER bytes.

No more of X.509 than that. What decides on rights is read with a library for it (`http.tls`).
"""

from __future__ import annotations

from datetime import UTC, datetime

from probate.lib.x509 import pem as pems

_SEQUENCE, _EXPLICIT, _UTC_TIME = 0x30, 0xA0, 0x17
_ORGANIZATION = bytes.fromhex("55040a")
_WIDE = {0x1E: "utf-16-be", 0x1C: "utf-32-be"}
"""Texts that have several bytes for each character."""


def not_after(pem: bytes) -> float | None:
    """The end of the first certificate, in seconds since the epoch; None if the text cannot be understood."""
    found = next(pems.read(pem), None)
    if found is None or found.kind != "CERTIFICATE":
        return None
    try:
        return span(found.content)[1]
    except (ValueError, IndexError):
        return None


def is_private_key(pem: bytes) -> bool:
    """Whether the text looks like a private key in PEM format: of this kind, and of the length that it says it has."""
    found = next(pems.read(pem), None)
    if found is None or not found.kind.endswith("PRIVATE KEY") or len(found.content) < 2:
        return False
    kind, short = found.content[:2]
    size = short if short < 0x80 else int.from_bytes(found.content[2 : 2 + (short & 0x7F)], "big") + (short & 0x7F)
    return kind == 0x30 and len(found.content) == 2 + size


def organizations(pem: bytes) -> list[str]:
    """Those in the subject of a request for a certificate; none if it cannot be understood."""
    found = next(pems.read(pem), None)
    try:
        request = _content(found.content, 0) if found else b""
        subject = _parts(_content(request, 0))[1][1]  # after the version
        pairs = [_parts(pair) for _, set_ in _parts(subject) for _, pair in _parts(set_)]
        return [text.decode(_WIDE.get(tag, "utf-8"), "replace") for (_, oid), (tag, text) in pairs if oid == _ORGANIZATION]
    except (ValueError, IndexError):
        return []


def span(der: bytes) -> tuple[float, float]:
    """When the certificate begins and ends, in seconds since the epoch. `ValueError` or `IndexError` if it is none."""
    certificate = _content(der, 0)
    body = _parts(_content(certificate, 0))
    number = 4 if body[0][0] == _EXPLICIT else 3  # version (or not), serial number, algorithm, issuer, validity
    begins, ends = (_moment(*one) for one in _parts(body[number][1]))
    return begins, ends


def _moment(kind: int, text: bytes) -> float:
    pattern = "%y%m%d%H%M%SZ" if kind == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(text.decode("ascii"), pattern).replace(tzinfo=UTC).timestamp()


def _content(der: bytes, at: int) -> bytes:
    tag, start, end = _header(der, at)
    if tag != _SEQUENCE:
        raise ValueError("no sequence")
    return der[start:end]


def _parts(der: bytes) -> list[tuple[int, bytes]]:
    """The elements of a sequence: the tag and the content of each."""
    found, at = [], 0
    while at < len(der):
        tag, start, at = _header(der, at)
        found.append((tag, der[start:at]))
    return found


def _header(der: bytes, at: int) -> tuple[int, int, int]:
    """The tag of the element that begins here, and where its content begins and ends."""
    length, start = der[at + 1], at + 2
    if length & 0x80:
        more = length & 0x7F
        length, start = int.from_bytes(der[start : start + more], "big"), start + more
    if start + length > len(der):
        raise ValueError("cut off")
    return der[at], start, start + length
