"""The syntax of keys and prefixes, and the two families of keys.

A key is a path of segments joined by `/`. Its first segment names the family:

    objects/<resource.group>/<namespace or ->/<name>        an object: has a value and a history, and can be watched
    owned/<owner uid>/<namespace or ->/<object's key>       index entries: no value, no history, cannot be watched
    blocking/<owner uid>/<namespace or ->/<object's key>
    ip/<address>, nodeport/<port>                           an address or port that one service occupies
    quota/<namespace>, quota/<tenant>-*                     updated by each write that counts against a quota

    "objects/pods/default/web-1"  is in the ranges  "objects/", "objects/pods/" and "objects/pods/default/"

A *prefix* names a range, in one of two forms. Nearly all name whole segments, and end in `/`: `objects/pods/a/` never includes
`objects/pods/ab/…`. A *partial prefix* names the objects of one resource whose namespace begins with an id and a dash, or the
cluster-scoped ones (namespace `-`) whose name does. An id is six characters of `a-z`, `0-9` and `-`, the first and last no dash:

    objects/<resource.group>/<id>-          objects/pods/111111-                     includes objects/pods/111111-web/p
    objects/<resource.group>/-/<id>-        objects/persistentvolumes/-/111111-      includes objects/persistentvolumes/-/111111-v

No other prefix ends within a segment. So at most one partial prefix contains a key, and cutting the key finds it
(`partial_prefix_of`).

Keys sort by code point, which is also the order of their UTF-8 bytes, so both engines agree on it.
Control characters are forbidden, because a scan continues at the previous key plus a zero byte. Empty segments are forbidden too.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from probate.api import object_keys
from probate.core import errors

OBJECTS = object_keys.OBJECTS

MAX_BYTES = 4096

_KEY = re.compile(r"[^/\x00-\x1f\x7f\ud800-\udfff]+(?:/[^/\x00-\x1f\x7f\ud800-\udfff]+)+")
_KEYS = re.compile(rf"(?:{_KEY.pattern}\n)*{_KEY.pattern}")
_PARTIAL_PREFIX = re.compile(OBJECTS + r"[^/\x00-\x1f\x7f\ud800-\udfff]+/(?:-/)?[a-z0-9][a-z0-9-]{4}[a-z0-9]-")
_PARTIAL_LENGTH = len("111111-")
_PRINTABLE_ASCII = bytes(range(0x20, 0x7F)) + b"\n"


is_object: Callable[[str], bool] = operator.methodcaller("startswith", OBJECTS)
"""Returns whether a key or prefix belongs to objects, not to index entries. Fast path: a native callable, called for every key."""


def is_valid(key: str) -> bool:
    """Returns whether `key` can be stored."""
    return _KEY.fullmatch(key) is not None and (len(key) * 4 <= MAX_BYTES or not _is_too_long(key))


def check_key(key: str) -> None:
    """Raises `InvalidKey` unless `key` can be stored."""
    if _KEY.fullmatch(key) is None or (len(key) * 4 > MAX_BYTES and _is_too_long(key)):
        raise errors.InvalidKey(_explain(key, "key"))


def check_keys(keys: Sequence[str]) -> None:
    """Raises `InvalidKey` unless every key can be stored.

    Fast path: joins the keys with line breaks, which no key contains, and matches the joined text once. Equals `check_key` of
    each key, property-tested in tests/unit/store/test_keys.py.
    """
    if not keys:
        return
    text = "\n".join(keys)
    is_valid = text.count("\n") == len(keys) - 1 and (_are_plain(text, keys) or _KEYS.fullmatch(text) is not None)
    if not is_valid or max(map(len, keys)) * 4 > MAX_BYTES:
        for key in keys:
            check_key(key)


def _are_plain(text: str, keys: Sequence[str]) -> bool:
    """Returns whether the keys, which are the lines of `text`, are valid and pure ASCII. Four times as fast as the pattern."""
    if not text.isascii() or text.encode().translate(None, _PRINTABLE_ASCII):
        return False
    return "//" not in f"/{text}/".replace("\n", "/") and all(["/" in key for key in keys])  # noqa: C419 twice as fast


def check_prefix(prefix: str) -> None:
    """Raises `InvalidKey` unless `prefix` names a range."""
    match = _KEY.fullmatch(prefix + "x") if prefix.endswith("/") else _PARTIAL_PREFIX.fullmatch(prefix)
    if match is None or _is_too_long(prefix):
        raise errors.InvalidKey(_explain(prefix, "prefix"))


def check_prefixes(prefixes: Sequence[str]) -> None:
    """Raises `InvalidKey` unless each prefix names a range. Fast path like `check_keys`, if all name whole segments."""
    text = "x\n".join(prefixes)
    are_valid = text.count("\n") == len(prefixes) - 1 and text.count("/x\n") == len(prefixes) - 1 and text.endswith("/")
    if not are_valid or not _are_plain(f"{text}x", prefixes) or max(map(len, prefixes)) * 4 > MAX_BYTES:
        for prefix in prefixes:
            check_prefix(prefix)


def is_partial(prefix: str) -> bool:
    """Returns whether a valid prefix ends within a segment."""
    return prefix[-1] != "/"


def range_end(prefix: str) -> str:
    """Returns the first string that sorts after every string that begins with `prefix`."""
    return prefix[:-1] + ("0" if prefix[-1] == "/" else ".")  # the characters after "/" and "-"


def prefixes_of(key: str) -> list[str]:
    """Returns the prefixes of all ranges of whole segments that contain the key, the widest range first."""
    prefixes = []
    slash = key.find("/")
    while slash >= 0:
        prefixes.append(key[: slash + 1])
        slash = key.find("/", slash + 1)
    return prefixes


def partial_prefix_of(key: str) -> str:
    """Returns the beginning of the key that alone can be a partial prefix whose range contains the key.

    Does not check whether it is one: callers look it up among valid prefixes.
    """
    start = key.find("/", len(OBJECTS)) + 1  # of the namespace
    if key.startswith("-/", start):
        start += 2
    return key[: start + _PARTIAL_LENGTH]


def child_prefix(key: str, prefix: str) -> str | None:
    """Returns the next longer prefix of whole segments under which the key is; None if the key is directly under `prefix`."""
    slash = key.find("/", len(prefix))
    return None if slash < 0 else key[: slash + 1]


def scan_start(prefix: str, after: str) -> str:
    """Returns where a scan of `prefix` that continues after the key `after` starts. No key sorts between `after` and the result."""
    return prefix if after < prefix else after + "\x00"


def _is_too_long(text: str) -> bool:
    # A character takes at most four bytes, so nearly every key is measured without encoding it.
    return len(text) * 4 > MAX_BYTES and len(text.encode(errors="replace")) > MAX_BYTES


def _explain(text: str, noun: str) -> str:
    shown = ascii(text if len(text) <= 80 else text[:77] + "...")
    if _is_too_long(text):
        return f"the {noun} {shown} is too long: {len(text.encode(errors='replace')):,} bytes of at most {MAX_BYTES:,}"
    end = " and ends in '/', or for objects in an id of six characters and '-'" if noun == "prefix" else ""
    return (
        f"{shown} cannot be a {noun}: it is two or more segments joined by '/'{end}, none of them empty, "
        "without control characters and in valid Unicode"
    )
