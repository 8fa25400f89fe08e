"""Which characters a class contains: ranges, Perl's and POSIX' classes, Unicode categories and scripts.

A set of characters is a predicate, so that negation and union are one line each and 0x10FFFF characters cost nothing.
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
# Python knows no scripts, but a character's name begins with its script's.
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
    """What lies between each two characters: "azAZ" is the letters."""
    pairs = tuple(zip(bounds[::2], bounds[1::2], strict=True))
    if len(pairs) == 1 and bounds[0] == bounds[1]:
        return bounds[0].__eq__
    return lambda char: any(low <= char <= high for low, high in pairs)


def union(sets: Sequence[Charset]) -> Charset:
    """What is in any of them."""
    return sets[0] if len(sets) == 1 else lambda char: any(one(char) for one in sets)


def negated(inner: Charset) -> Charset:
    """What is not in it."""
    return lambda char: not inner(char)


def folded(inner: Charset) -> Charset:
    """What is in it, in capitals or not."""
    return lambda char: inner(char) or inner(char.lower()) or inner(char.upper())


def perl(letter: str) -> Charset:
    """The set of \\d, \\w, \\s, or with a capital letter its opposite. ASCII only, as Go has it."""
    inner = ranges(_PERL[letter.lower()])
    return inner if letter.islower() else negated(inner)


def posix(name: str) -> Charset | None:
    """The set of [:name:] or [:^name:]; none if there is no such."""
    bounds = _POSIX.get(name.removeprefix("^"))
    if bounds is None:
        return None
    return negated(ranges(bounds)) if name.startswith("^") else ranges(bounds)


def unicode_class(name: str) -> Charset | None:
    """The set of \\p{name}: a general category or a script; none if it is not known."""
    bare = name.removeprefix("^")
    inner = _category(bare) or _script(bare)
    return negated(inner) if inner and name.startswith("^") else inner


def _category(name: str) -> Charset | None:
    if name == "Any":
        return lambda _: True
    return (lambda char: unicodedata.category(char).startswith(name)) if name in _CATEGORIES else None


def _script(name: str) -> Charset | None:
    prefix = _SCRIPTS.get(name)
    return (lambda char: unicodedata.name(char, "").startswith(prefix)) if prefix else None
