"""Values of a wanted size: texts that make parsers work, lists and maps with many parts."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Make = Callable[[int], Any]
UNITS = {
    "letters": "a",
    "digits": "1",
    "dotted": "a.",
    "ranges": "1-2,",
    "spaced": "1 ",
    "paths": "/a",
    "pairs": "a=b,",
    "durations": "1h",
    "colons": "1:",
    "brackets": "[a]",
    "escapes": "\\",
    "accents": "é",
}
USUAL = ("letters", "ranges", "colons", "pairs")
"""Those that a run tries which is not thorough."""
LAST = "!"
"""Ends a text, so that an expression that matches all before it has to try every other way."""
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"


def text(unit: str, size: int) -> str:
    """So many bytes of a unit that repeats."""
    return unit * (size // len(unit.encode())) + LAST


def texts() -> Iterator[tuple[str, Make]]:
    for name, unit in UNITS.items():
        yield name, partial(text, unit)


def base64_texts() -> Iterator[tuple[str, Make]]:
    """Texts in base64, as `format: byte` wants them: noise, and certificates one after the other."""
    yield "base64", lambda size: "AAAA" * (size // 4)
    yield "pem", lambda size: base64.b64encode((CERTIFICATE * (size // len(CERTIFICATE) * 3 // 4)).encode()).decode()


def numbered(make: Callable[[int], Any], size: int, item_size: int) -> list[Any]:
    """So many bytes of items, each made from its number so that none equals another."""
    return [make(number) for number in range(max(1, size // item_size))]


def wide_map(value: Any, size: int) -> dict[str, Any]:
    """A map of so many bytes."""
    item = len(str(value)) + 14
    return dict(zip((f"k{number}" for number in itertools.count()), itertools.repeat(value, max(1, size // item)), strict=False))
