"""What a key may be, and which family it belongs to.

A key is a path of segments joined by `/`; the first one names its family:

    objects/<resource.group>/<namespace or ->/<name>        an object: has a value, a history, and is watched
    owned/<owner uid>/<namespace or ->/<object's key>       index entries: no value, no history, not watched
    blocking/<owner uid>/<namespace or ->/<object's key>
    ip/<address>, nodeport/<port>                           what a service has to itself
    quota/<namespace>                                       renewed by each write that a quota counts

    "objects/pods/default/web-1"  lies under  "objects/", "objects/pods/" and "objects/pods/default/"

A *prefix* names a range by whole segments, so it ends in `/`: `objects/pods/a/` never means what is under `objects/pods/ab/`.
Keys are text, ordered by code point, which is also the order of their UTF-8 bytes: both engines agree on it.
Control characters are forbidden (the byte after a key's end is how a scan goes on from it), and so are empty segments.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from probate.core import errors

OBJECTS = "objects/"

MAX_BYTES = 4096

_KEY = re.compile(r"[^/\x00-\x1f\x7f\ud800-\udfff]+(?:/[^/\x00-\x1f\x7f\ud800-\udfff]+)+")
_KEYS = re.compile(rf"(?:{_KEY.pattern}\n)*{_KEY.pattern}")
_PLAIN = bytes(range(0x20, 0x7F)) + b"\n"


is_object: Callable[[str], bool] = operator.methodcaller("startswith", OBJECTS)
"""Whether the key (or prefix) belongs to the objects, and not to an index. (Asked all the time: native code.)"""


def is_sound(key: str) -> bool:
    """Whether `key` can be stored."""
    return _KEY.fullmatch(key) is not None and (len(key) * 4 <= MAX_BYTES or not _is_too_long(key))


def check_key(key: str) -> None:
    """`BadKey` unless `key` can be stored."""
    if _KEY.fullmatch(key) is None or (len(key) * 4 > MAX_BYTES and _is_too_long(key)):
        raise errors.BadKey(_explain(key, "key"))


def check_keys(many: Sequence[str]) -> None:
    """`BadKey` unless each can be stored. All are tried in one go: no key holds the line break that is put between them."""
    if not many:
        return
    text = "\n".join(many)
    is_sound = text.count("\n") == len(many) - 1 and (_are_plain(text, many) or _KEYS.fullmatch(text) is not None)
    if not is_sound or max(map(len, many)) * 4 > MAX_BYTES:
        for key in many:
            check_key(key)


def _are_plain(text: str, many: Sequence[str]) -> bool:
    """Whether these keys, and they are the lines of the text, are sound and of ASCII. Four times as fast as the pattern."""
    if not text.isascii() or text.encode().translate(None, _PLAIN):
        return False
    return "//" not in f"/{text}/".replace("\n", "/") and all(["/" in key for key in many])  # noqa: C419 twice as fast


def check_prefix(prefix: str) -> None:
    """`BadKey` unless `prefix` names a range of whole segments."""
    if not prefix.endswith("/") or _KEY.fullmatch(prefix + "x") is None or _is_too_long(prefix):
        raise errors.BadKey(_explain(prefix, "prefix"))


def check_prefixes(many: Sequence[str]) -> None:
    """`BadKey` unless each names a range of whole segments."""
    text = "x\n".join(many)
    are_sound = text.count("\n") == len(many) - 1 and text.count("/x\n") == len(many) - 1 and text.endswith("/")
    if not are_sound or not _are_plain(f"{text}x", many) or max(map(len, many)) * 4 > MAX_BYTES:
        for prefix in many:
            check_prefix(prefix)


def end_of(prefix: str) -> str:
    """The first text that sorts after everything that begins with `prefix`."""
    return prefix[:-1] + "0"  # "0" follows "/"


def prefixes_of(key: str) -> list[str]:
    """All ranges the key lies in, widest first."""
    found = []
    slash = key.find("/")
    while slash >= 0:
        found.append(key[: slash + 1])
        slash = key.find("/", slash + 1)
    return found


def folder_of(key: str, prefix: str) -> str | None:
    """The range one segment below `prefix` that the key lies in; None if it lies in `prefix` itself."""
    slash = key.find("/", len(prefix))
    return None if slash < 0 else key[: slash + 1]


def start_of(prefix: str, after: str) -> str:
    """Where a scan of `prefix` begins that goes on after the key `after`. (No key lies between `after` and this.)"""
    return prefix if after < prefix else after + "\x00"


def _is_too_long(text: str) -> bool:
    # No character takes more than four bytes, so nearly every key is measured without encoding it.
    return len(text) * 4 > MAX_BYTES and len(text.encode(errors="replace")) > MAX_BYTES


def _explain(text: str, what: str) -> str:
    shown = ascii(text if len(text) <= 80 else text[:77] + "...")
    if _is_too_long(text):
        return f"the {what} {shown} is too long: {len(text.encode(errors='replace')):,} bytes of at most {MAX_BYTES:,}"
    end = " and ends in '/'" if what == "prefix" else ""
    return (
        f"{shown} cannot be a {what}: it is two or more segments joined by '/'{end}, none of them empty, "
        "without control characters and in valid Unicode"
    )
