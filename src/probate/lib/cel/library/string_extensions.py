"""The string extension of CEL. Indexes count characters, not bytes."""

from __future__ import annotations

from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.functions import Library, first, tenth, traversal
from probate.lib.cel.library.string_format import format_template
from probate.lib.cel.library.strings import searching

LIBRARY = Library()
function = LIBRARY.function

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code + 32: code for code in range(ord("A"), ord("Z") + 1)}
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}


@function("string::charAt(int) -> string", grows=lambda *_: 1)
def _char_at(_: Meter, text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


@function("string::indexOf(string) -> int", cost=searching)
def _index_of(_: Meter, text: str, part: str) -> int:
    return text.find(part)


@function("string::indexOf(string, int) -> int", cost=lambda text, part, _: searching(text, part))
def _index_of_from(_: Meter, text: str, part: str, start: int) -> int:
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


@function("string::lastIndexOf(string) -> int", cost=searching)
def _last_index_of(_: Meter, text: str, part: str) -> int:
    return text.rfind(part)


@function("string::lastIndexOf(string, int) -> int", cost=lambda text, part, _: searching(text, part))
def _last_index_of_from(_: Meter, text: str, part: str, start: int) -> int:
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part))


@function("string::lowerAscii() -> string", cost=traversal, grows=first)
def _lower(_: Meter, text: str) -> str:
    return text.translate(_LOWER)


@function("string::upperAscii() -> string", cost=traversal, grows=first)
def _upper(_: Meter, text: str) -> str:
    return text.translate(_UPPER)


@function("string::reverse() -> string", cost=traversal, grows=first)
def _reverse(_: Meter, text: str) -> str:
    return text[::-1]


@function("string::trim() -> string", cost=traversal, grows=first)
def _trim(_: Meter, text: str) -> str:
    return text.strip(_SPACE)


@function("strings.quote(string) -> string", cost=traversal, grows=lambda size: 2 * size + 2)
def _quote(_: Meter, text: str) -> str:
    return '"' + "".join(_QUOTED.get(char, char) for char in text) + '"'


@function("string::substring(int) -> string", cost=traversal, grows=first)
def _from(meter: Meter, text: str, start: int) -> str:
    return _substring(meter, text, start, len(text))


@function("string::substring(int, int) -> string", cost=traversal, grows=first)
def _substring(_: Meter, text: str, start: int, end: int) -> str:
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    if not 0 <= end <= len(text):
        raise CelError(f"index out of range: {end}")
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _replacing(text: int, _old: int, new: int, *_: int) -> int:
    return (text + 1) * max(new, 1)


@function("string::replace(string, string) -> string", cost=lambda text, *_: tenth(text), grows=_replacing)
def _replace(meter: Meter, text: str, old: str, new: str) -> str:  # noqa: PLR0917 CEL passes arguments by position
    return _replaced(meter, text, old, new, -1)


@function("string::replace(string, string, int) -> string", cost=lambda text, *_: tenth(text), grows=_replacing)
def _replaced(meter: Meter, text: str, old: str, new: str, count: int) -> str:  # noqa: PLR0917 CEL passes arguments by position
    times = text.count(old) if count < 0 else min(count, text.count(old))
    meter.charge(tenth(len(text), times * len(new)))
    return text.replace(old, new, count)


@function("string::split(string) -> list<string>", cost=traversal, grows=first)
def _split(meter: Meter, text: str, separator: str) -> list[str]:
    return _split_up_to(meter, text, separator, -1)


@function("string::split(string, int) -> list<string>", cost=traversal, grows=first)
def _split_up_to(meter: Meter, text: str, separator: str, count: int) -> list[str]:  # noqa: PLR0917 CEL passes arguments by position
    if count == 0:
        return []
    if count == 1:
        return [text]
    if separator:
        meter.charge(text.count(separator))
        return text.split(separator, count - 1 if count > 0 else -1)
    meter.charge(len(text))
    return list(text) if count < 0 or count >= len(text) else [*text[: count - 1], text[count - 1 :]]


@function("list<string>::join() -> string", grows=lambda size: 100 * size)
def _join(meter: Meter, items: list[Any]) -> str:
    return _join_with(meter, items, "")


@function("list<string>::join(string) -> string", grows=lambda size, part: (100 + part) * size)
def _join_with(meter: Meter, items: list[Any], separator: str) -> str:
    meter.charge(len(items))
    if not all(type(one) is str for one in items):
        raise NoOverload("join")
    meter.charge(tenth(sum(map(len, items)), len(separator) * len(items)))
    return separator.join(items)


@function(
    "string::format(list<dyn>) -> string",
    cost=lambda text, items: tenth(text) + items,
    grows=lambda text, items: text + 100 * items,
)
def _format(meter: Meter, template: str, args: list[Any]) -> str:
    return format_template(meter, template, args)


@function("jsonpatch.escapeKey(string) -> string", cost=traversal, grows=lambda size: 2 * size)
def _escape_key(_: Meter, text: str) -> str:
    """Escapes a key for use in a JSON Patch path."""
    return text.replace("~", "~0").replace("/", "~1")
