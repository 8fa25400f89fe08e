"""The `Warning` headers of an answer, within Kubernetes' limits.

Warnings are sent whole while they have at most 4,096 characters together. Where they have more, each is cut to 256 characters, and
those that are beyond 4,096 are left out. The same warning is sent once.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_WARNINGS = 20
MAX_TOTAL = 4096
MAX_EACH = 256
_CUT = "..."


def encoded(warnings: Sequence[str]) -> list[bytes]:
    """The values of the headers."""
    texts = [text for text in dict.fromkeys(warnings) if text][:MAX_WARNINGS]
    if sum(map(len, texts)) > MAX_TOTAL:
        texts = _shortened(texts)
    return [_encoded(text) for text in texts]


def _shortened(texts: Sequence[str]) -> list[str]:
    found: list[str] = []
    room = MAX_TOTAL
    for text in texts:
        if room <= 0:
            break
        found.append(text if len(text) <= MAX_EACH else text[: MAX_EACH - len(_CUT)] + _CUT)
        room -= len(found[-1])
    return found


def _encoded(text: str) -> bytes:
    shown = "".join(character if character.isprintable() else "?" for character in text)
    quoted = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode("ascii", "replace")
