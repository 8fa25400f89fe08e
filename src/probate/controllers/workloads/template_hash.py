"""Names for versions: the same content has the same letters."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What hashes are made of: no vowels, so that they do not spell words."""
_LENGTH = 10


def of(content: Any, collisions: int = 0) -> str:
    """Ten letters that are the same for the same content, as long as nothing else of that name was in the way."""
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS) + (b"%d" % collisions if collisions else b"")
    number = int.from_bytes(hashlib.sha256(text).digest()[:8])
    found = ""
    for _ in range(_LENGTH):
        number, at = divmod(number, len(_LETTERS))
        found += _LETTERS[at]
    return found
