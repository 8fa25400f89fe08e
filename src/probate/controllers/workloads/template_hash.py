"""Hashes of templates: equal content has an equal hash."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of hashes: no vowels, so that hashes spell no words."""
_LENGTH = 10


def compute_hash(content: Any, collisions: int = 0) -> str:
    """Returns ten letters that are equal for equal content. A collision count changes the hash after a name collision."""
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS) + (b"%d" % collisions if collisions else b"")
    number = int.from_bytes(hashlib.sha256(text).digest()[:8])
    letters = ""
    for _ in range(_LENGTH):
        number, index = divmod(number, len(_LETTERS))
        letters += _LETTERS[index]
    return letters
