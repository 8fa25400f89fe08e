"""Encodes the `Warning` headers of a response within Kubernetes' limits.

Warnings are sent unabridged if their total length is at most 4,096 characters. Otherwise each is truncated to 256 characters, and
those beyond 4,096 characters are omitted. Duplicate warnings are sent once.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_WARNINGS = 20
MAX_TOTAL = 4096
MAX_EACH = 256
_ELLIPSIS = "..."


def encoded(warnings: Sequence[str]) -> list[bytes]:
    """Returns the header values."""
    texts = [text for text in dict.fromkeys(warnings) if text][:MAX_WARNINGS]
    if sum(map(len, texts)) > MAX_TOTAL:
        texts = _shortened(texts)
    return [_encoded(text) for text in texts]


def _shortened(texts: Sequence[str]) -> list[str]:
    shortened: list[str] = []
    remaining = MAX_TOTAL
    for text in texts:
        if remaining <= 0:
            break
        shortened.append(text if len(text) <= MAX_EACH else text[: MAX_EACH - len(_ELLIPSIS)] + _ELLIPSIS)
        remaining -= len(shortened[-1])
    return shortened


def _encoded(text: str) -> bytes:
    shown = "".join(character if character.isprintable() else "?" for character in text)
    quoted = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode("ascii", "replace")
