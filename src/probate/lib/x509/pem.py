"""PEM texts: blocks of bytes between two lines that say what they are. Read block by block, however many begin and never end.

`cryptography` is imported when something is looked into, which is seldom.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple


class Block(NamedTuple):
    """One block: what it says it is, and the text in it."""

    kind: str
    body: bytes

    @property
    def has_headers(self) -> bool:
        """Whether there is more than bytes in it."""
        return b":" in self.body

    @property
    def content(self) -> bytes:
        """The bytes in it. `ValueError` if they cannot be read."""
        lines = (line.strip() for line in self.body.splitlines() if b":" not in line)
        return base64.b64decode(b"".join(lines), validate=True)


def blocks(encoded: str) -> list[Block]:
    """The blocks of a text that is in base64 once more, as objects have it. One that does not end is none."""
    try:
        return list(read(base64.b64decode(encoded)))
    except (binascii.Error, ValueError):
        return []


def read(text: bytes) -> Iterator[Block]:
    """The blocks of a text, one after the other."""
    for piece in text.split(b"-----BEGIN ")[1:]:
        kind, _, rest = piece.partition(b"-----")
        body, end, _ = rest.partition(b"-----END %b-----" % kind)
        if end:
            yield Block(kind.decode(errors="replace"), body)


def is_request(block: Block) -> bool:
    """Whether it holds a request for a certificate."""
    from cryptography import x509  # noqa: PLC0415

    try:
        x509.load_der_x509_csr(block.content)
    except (ValueError, x509.InvalidVersion):
        return False
    return block.kind == "CERTIFICATE REQUEST"


def is_certificate(block: Block) -> bool:
    """Whether it holds a certificate, and nothing but it."""
    from cryptography import x509  # noqa: PLC0415

    if block.kind != "CERTIFICATE" or block.has_headers:
        return False
    try:
        x509.load_der_x509_certificate(block.content)
    except (ValueError, x509.InvalidVersion):
        return False
    return True


def is_bundle(encoded: str) -> bool:
    """Whether there are certificates in the text, all of which can be read. What else is in it does not matter."""
    certificates = [block for block in blocks(encoded) if block.kind == "CERTIFICATE" and not block.has_headers]
    return bool(certificates) and all(map(is_certificate, certificates))
