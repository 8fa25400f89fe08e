"""One YAML document to the value that JSON would have for it.

The C parser says what comes next, and the value is made of that at once, in one pass. Nothing is built that is too deep or too
large: aliases count as what they stand for, and one that stands for itself is refused. Keys that are numbers or truth values
become their text, as in Kubernetes; merge keys (`<<`) are filled in.

YAML's types are read as far as JSON has them: no dates, and no numbers in base 60, whose reading takes time without bound.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import yaml

from probate.api.field_errors import field
from probate.core import errors

MAX_DEPTH = 100
MAX_PARTS = 200_000
MAX_DUPLICATES = 100
"""Fields given twice that are named; more are not worth the time."""
MAX_DIRECTIVES = 20
"""Lines that begin with %: the parser compares each with all before it."""

_TAGS = "tag:yaml.org,2002:"
_DIRECTIVE = re.compile(rb"^%", re.MULTILINE)
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,30}|0x[0-9a-fA-F]{1,16}|0[0-7]{1,21})")
_BROKEN = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTHS = {
    spelling: truth
    for word, truth in (("yes", True), ("no", False), ("true", True), ("false", False), ("on", True), ("off", False))
    for spelling in (word, word.capitalize(), word.upper())
}


class Repeated(NamedTuple):
    """A field that was given again: its path, its name, and the line (from one) in which its value begins then."""

    path: str
    name: str
    line: int


def parse(body: bytes) -> tuple[Any, list[Repeated]]:
    """The value of the only document in the body (None if there is none), and the fields that were given twice.

    Of those the last one counts. `BadRequest` says what is wrong with the body.
    """
    if len(_DIRECTIVE.findall(body)) > MAX_DIRECTIVES:
        raise errors.BadRequest(f"the body has more than {MAX_DIRECTIVES} directives")
    builder = _Builder()
    try:
        for event in yaml.parse(body, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.YAMLError as error:
        raise errors.BadRequest(f"the body is no valid YAML: {error}") from None
    return builder.value, builder.duplicates


class _Known(NamedTuple):
    """What an anchor stands for: a value, of how many parts, and how deep it is."""

    value: Any
    parts: int
    height: int


class _Frame:
    """A list or an object that is being made, from this line on. `key` is the name that waits for its value."""

    __slots__ = ("anchor", "began", "height", "key", "line", "merged", "value")

    def __init__(self, value: Any, anchor: str | None, began: int, line: int) -> None:
        self.value: Any = value
        self.anchor = anchor
        self.began = began
        self.line = line
        self.height = 1
        self.key: str | None = None
        self.merged: list[Any] = []


_MERGE: Any = object()
"""What << is, where it is a name."""


class _Builder:
    """Makes the value from what the parser says."""

    def __init__(self) -> None:
        self.value: Any = None
        self.duplicates: list[Repeated] = []
        self._documents = 0
        self._parts = 0
        self._frames: list[_Frame] = []
        self._known: dict[str, _Known | None] = {}

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._count(1)
            value = _scalar(event)
            if event.anchor:
                self._known[event.anchor] = _Known(value, 1, 0)
            self._put(value, event.start_mark.line)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._begin(event, {} if kind is yaml.MappingStartEvent else [])
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end()
        elif kind is yaml.AliasEvent:
            self._repeat(event)
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                raise errors.BadRequest("the body must be one document, and is several")

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._parts > MAX_PARTS:
            raise errors.BadRequest(f"the body has more than {MAX_PARTS:,} parts, its aliases written out: send it as JSON")

    def _check_depth(self, below: int) -> None:
        if len(self._frames) + below > MAX_DEPTH:
            raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")

    def _begin(self, event: Any, value: Any) -> None:
        if event.tag not in {None, "!", f"{_TAGS}map", f"{_TAGS}seq"}:
            raise errors.BadRequest(f"{self._here()}: its tag is not understood")
        self._count(1)
        self._check_depth(1)
        if event.anchor:
            self._known[event.anchor] = None
        self._frames.append(_Frame(value, event.anchor, self._parts, event.start_mark.line))

    def _end(self) -> None:
        frame = self._frames.pop()
        for merged in frame.merged:
            for name, value in merged.items():
                frame.value.setdefault(name, value)
        if frame.anchor:
            self._known[frame.anchor] = _Known(frame.value, 1 + self._parts - frame.began, frame.height)
        self._put(frame.value, frame.line, frame.height)

    def _repeat(self, event: Any) -> None:
        anchor = event.anchor
        if anchor not in self._known:
            raise errors.BadRequest(f"{self._here()}: there is an alias (*), and no anchor (&) of its name before it")
        known = self._known[anchor]
        if known is None:
            raise errors.BadRequest(f"{self._here()}: an alias stands for something that it is in")
        self._count(known.parts)
        self._check_depth(known.height)
        self._put(known.value, event.start_mark.line, known.height)

    def _put(self, value: Any, line: int, height: int = 0) -> None:
        """Put a finished value to where it belongs."""
        if not self._frames:
            self.value = None if value is _MERGE else value
            return
        frame = self._frames[-1]
        frame.height = max(frame.height, height + 1)
        if isinstance(frame.value, list):
            frame.value.append("<<" if value is _MERGE else value)
        elif frame.key is None:
            self._name(frame, value)
        else:
            self._fill(frame, "<<" if value is _MERGE else value, line)

    def _name(self, frame: _Frame, value: Any) -> None:
        if value is _MERGE:
            frame.key = ""
            frame.merged.append(None)
            return
        if isinstance(value, dict | list):
            raise errors.BadRequest(f"{self._here()} has a field whose name is not text")
        frame.key = value if isinstance(value, str) else _name_of(value)

    def _fill(self, frame: _Frame, value: Any, line: int) -> None:
        key = frame.key or ""
        if not frame.merged or frame.merged[-1] is not None:
            if key in frame.value and len(self.duplicates) < MAX_DUPLICATES:
                self.duplicates.append(Repeated(self._here(), key, line + 1))
            frame.key, frame.value[key] = None, value
            return
        frame.key = None
        frame.merged.pop()
        merged = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in merged):
            raise errors.BadRequest(f"{self._here()}: << must be followed by an object, or a list of some")
        frame.merged += merged

    def _here(self) -> str:
        path = ""
        for frame in self._frames:
            if isinstance(frame.value, list):
                path = f"{path}[{len(frame.value)}]"
            elif frame.key is not None:
                path = field(path, frame.key)
        return path or "the body"


def _scalar(event: Any) -> Any:
    text: str = event.value
    if event.tag is None:
        return _plain(text) if event.implicit[0] and len(text) < 70 else text
    kind = event.tag.removeprefix(_TAGS)
    if kind in {"str", "!"}:
        return text
    value: Any = _plain(text) if kind in _KINDS and len(text) < 70 else _MERGE
    if type(value) not in _KINDS.get(kind, ()):
        raise errors.BadRequest("a value cannot be read as its tag (!) says: put texts that begin with ! into quotes")
    return float(value) if kind == "float" else value


_KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}


@lru_cache(maxsize=1024)
def _plain(text: str) -> Any:
    """What an unquoted word stands for."""
    if text in _NULLS:
        return None
    if text in _TRUTHS:
        return _TRUTHS[text]
    if text == "<<":
        return _MERGE
    if text[0] in "-+.0123456789":
        if _WHOLE.fullmatch(text):
            return _whole(text.replace("_", ""))
        if _BROKEN.fullmatch(text):
            return float(text)
    return text


def _whole(text: str) -> int | float:
    digits = text.lstrip("+-")
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") and digits != "0" else 10
    number = int(digits, base) * (-1 if text.startswith("-") else 1)
    return number if -(2**63) <= number < 2**64 else float(number)


def _name_of(value: float | None) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
