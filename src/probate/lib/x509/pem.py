"""PEM texts: base64 blocks between BEGIN and END lines. Reads block by block and skips blocks without an END line, however many.

`cryptography` is imported only when a block is parsed, which is rare.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple


class Block(NamedTuple):
    """One PEM block: its type and its body text."""

    kind: str
    body: bytes

    @property
    def has_headers(self) -> bool:
        """Returns whether the block has headers besides the base64 data."""
        return b":" in self.body

    @property
    def content(self) -> bytes:
        """Returns the decoded bytes. Raises `ValueError` if the base64 is invalid."""
        lines = (line.strip() for line in self.body.splitlines() if b":" not in line)
        return base64.b64decode(b"".join(lines), validate=True)


def blocks(encoded: str) -> list[Block]:
    """Returns the blocks of a PEM text that is itself base64-encoded, as in object fields.

    Blocks without an END line are skipped.
    """
    try:
        return list(read(base64.b64decode(encoded)))
    except (binascii.Error, ValueError):
        return []


def read(text: bytes) -> Iterator[Block]:
    """Yields the blocks of a text in order."""
    for piece in text.split(b"-----BEGIN ")[1:]:
        kind, _, rest = piece.partition(b"-----")
        body, end, _ = rest.partition(b"-----END %b-----" % kind)
        if end:
            yield Block(kind.decode(errors="replace"), body)


def is_request(block: Block) -> bool:
    """Returns whether the block is a certificate request."""
    from cryptography import x509  # noqa: PLC0415

    try:
        x509.load_der_x509_csr(block.content)
    except (ValueError, x509.InvalidVersion):
        return False
    return block.kind == "CERTIFICATE REQUEST"


def is_certificate(block: Block) -> bool:
    """Returns whether the block is a certificate without headers."""
    from cryptography import x509  # noqa: PLC0415

    if block.kind != "CERTIFICATE" or block.has_headers:
        return False
    try:
        x509.load_der_x509_certificate(block.content)
    except (ValueError, x509.InvalidVersion):
        return False
    return True


def is_bundle(encoded: str) -> bool:
    """Returns whether the text contains certificates and all of them can be parsed. Other blocks are ignored."""
    certificates = [block for block in blocks(encoded) if block.kind == "CERTIFICATE" and not block.has_headers]
    return bool(certificates) and all(map(is_certificate, certificates))
