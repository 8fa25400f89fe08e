"""Character classes: ranges, Perl and POSIX classes, Unicode categories and scripts.

A character set is a predicate, so negation and union take one line each and a set of 0x10FFFF characters takes no memory.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

Charset = Callable[[str], bool]

_PERL = {"d": "09", "w": "09AZ__az", "s": "\t\n\f\r  "}
_POSIX = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZ__az",
    "xdigit": "09AFaf",
}
_SUBCATEGORIES = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = frozenset(kind + sub for kind, subs in _SUBCATEGORIES.items() for sub in ["", *subs])
# Python has no script property, but the name of a character starts with the name of its script.
_SCRIPTS = {
    "Arabic": "ARABIC ",
    "Armenian": "ARMENIAN ",
    "Cyrillic": "CYRILLIC ",
    "Devanagari": "DEVANAGARI ",
    "Greek": "GREEK ",
    "Han": "CJK UNIFIED",
    "Hangul": "HANGUL ",
    "Hebrew": "HEBREW ",
    "Hiragana": "HIRAGANA ",
    "Katakana": "KATAKANA ",
    "Latin": "LATIN ",
    "Thai": "THAI ",
}


def ranges(bounds: str) -> Charset:
    """Returns the set of the ranges between each pair of characters: "azAZ" is the ASCII letters."""
    pairs = tuple(zip(bounds[::2], bounds[1::2], strict=True))
    if len(pairs) == 1 and bounds[0] == bounds[1]:
        return bounds[0].__eq__
    return lambda char: any(low <= char <= high for low, high in pairs)


def union(sets: Sequence[Charset]) -> Charset:
    """Returns the union of the sets."""
    return sets[0] if len(sets) == 1 else lambda char: any(one(char) for one in sets)


def complement(inner: Charset) -> Charset:
    """Returns the complement of the set."""
    return lambda char: not inner(char)


def case_insensitive(inner: Charset) -> Charset:
    """Returns the case-insensitive version of the set."""
    return lambda char: inner(char) or inner(char.lower()) or inner(char.upper())


def perl(letter: str) -> Charset:
    """Returns the set of \\d, \\w or \\s; an uppercase letter yields the complement. ASCII only, as in Go."""
    inner = ranges(_PERL[letter.lower()])
    return inner if letter.islower() else complement(inner)


def posix(name: str) -> Charset | None:
    """Returns the set of [:name:] or [:^name:]; None if the name is unknown."""
    bounds = _POSIX.get(name.removeprefix("^"))
    if bounds is None:
        return None
    return complement(ranges(bounds)) if name.startswith("^") else ranges(bounds)


def unicode_class(name: str) -> Charset | None:
    """Returns the set of \\p{name}, a general category or a script; None if the name is unknown."""
    bare = name.removeprefix("^")
    inner = _category(bare) or _script(bare)
    return complement(inner) if inner and name.startswith("^") else inner


def _category(name: str) -> Charset | None:
    if name == "Any":
        return lambda _: True
    return (lambda char: unicodedata.category(char).startswith(name)) if name in _CATEGORIES else None


def _script(name: str) -> Charset | None:
    prefix = _SCRIPTS.get(name)
    return (lambda char: unicodedata.name(char, "").startswith(prefix)) if prefix else None
