"""Parses one YAML document to the value that the same JSON would have.

libyaml's C parser emits events, and the value is built from them in one pass. A value that is too deep or too large is never built:
an alias counts as the value it refers to, and one that contains itself is rejected. Keys that are numbers or booleans become
strings, as in Kubernetes; merge keys (`<<`) are applied.

Only JSON's types are recognised: no dates, and no base-60 numbers, whose parsing takes unbounded time.
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
"""Largest number of duplicate fields that are reported."""
MAX_DIRECTIVES = 20
"""Largest number of lines that begin with %: the parser compares each with all lines before it."""

_TAGS = "tag:yaml.org,2002:"
_DIRECTIVE = re.compile(rb"^%", re.MULTILINE)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,30}|0x[0-9a-fA-F]{1,16}|0[0-7]{1,21})")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    spelling: truth
    for word, truth in (("yes", True), ("no", False), ("true", True), ("false", False), ("on", True), ("off", False))
    for spelling in (word, word.capitalize(), word.upper())
}


class DuplicateKey(NamedTuple):
    """A field that is set again: its path, its name, and the line (from 1) at which its new value begins."""

    path: str
    name: str
    line: int


def parse(body: bytes) -> tuple[Any, list[DuplicateKey]]:
    """Returns the value of the only document in the body (None if there is none), and the duplicate fields.

    The last value of a duplicate field counts. Raises `BadRequest` if the body is invalid.
    """
    if len(_DIRECTIVE.findall(body)) > MAX_DIRECTIVES:
        raise errors.BadRequest(f"the body has more than {MAX_DIRECTIVES} directives")
    builder = _Builder()
    try:
        for event in yaml.parse(body, Loader=yaml.CSafeLoader):
            builder.handle(event)
    except yaml.YAMLError as error:
        raise errors.BadRequest(f"the body is not valid YAML: {error}") from None
    return builder.value, builder.duplicates


class _AnchorValue(NamedTuple):
    """The value of an anchor, its number of parts, and its depth."""

    value: Any
    parts: int
    height: int


class _Frame:
    """A list or an object under construction, which begins at this line. `key` is the field whose value comes next."""

    __slots__ = ("anchor", "height", "key", "line", "merged", "parts_before", "value")

    def __init__(self, value: Any, anchor: str | None, parts_before: int, *, line: int) -> None:
        self.value: Any = value
        self.anchor = anchor
        self.parts_before = parts_before
        self.line = line
        self.height = 1
        self.key: str | None = None
        self.merged: list[Any] = []


_MERGE: Any = object()
"""The value of an unquoted `<<`."""


class _Builder:
    """Builds the value from the parser's events."""

    def __init__(self) -> None:
        self.value: Any = None
        self.duplicates: list[DuplicateKey] = []
        self._documents = 0
        self._parts = 0
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _AnchorValue | None] = {}

    def handle(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._count_parts(1)
            value = _scalar_value(event)
            if event.anchor:
                self._anchors[event.anchor] = _AnchorValue(value, 1, 0)
            self._add(value, event.start_mark.line)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._begin_container(event, {} if kind is yaml.MappingStartEvent else [])
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end_container()
        elif kind is yaml.AliasEvent:
            self._expand_alias(event)
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                raise errors.BadRequest("the body must be one document; it contains several")

    def _count_parts(self, parts: int) -> None:
        self._parts += parts
        if self._parts > MAX_PARTS:
            raise errors.BadRequest(f"the body has more than {MAX_PARTS:,} parts, its aliases written out: send it as JSON")

    def _check_depth(self, below: int) -> None:
        if len(self._frames) + below > MAX_DEPTH:
            raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")

    def _begin_container(self, event: Any, value: Any) -> None:
        if event.tag not in {None, "!", f"{_TAGS}map", f"{_TAGS}seq"}:
            raise errors.BadRequest(f"{self._path()}: its tag is not supported")
        self._count_parts(1)
        self._check_depth(1)
        if event.anchor:
            self._anchors[event.anchor] = None
        self._frames.append(_Frame(value, event.anchor, self._parts, line=event.start_mark.line))

    def _end_container(self) -> None:
        frame = self._frames.pop()
        for merged in frame.merged:
            for name, value in merged.items():
                frame.value.setdefault(name, value)
        if frame.anchor:
            self._anchors[frame.anchor] = _AnchorValue(frame.value, 1 + self._parts - frame.parts_before, frame.height)
        self._add(frame.value, frame.line, frame.height)

    def _expand_alias(self, event: Any) -> None:
        anchor = event.anchor
        if anchor not in self._anchors:
            raise errors.BadRequest(f"{self._path()}: an alias (*) has no anchor (&) of its name before it")
        anchor_value = self._anchors[anchor]
        if anchor_value is None:
            raise errors.BadRequest(f"{self._path()}: an alias refers to a value that contains it")
        self._count_parts(anchor_value.parts)
        self._check_depth(anchor_value.height)
        self._add(anchor_value.value, event.start_mark.line, anchor_value.height)

    def _add(self, value: Any, line: int, height: int = 0) -> None:
        """Adds a finished value to its parent."""
        if not self._frames:
            self.value = None if value is _MERGE else value
            return
        frame = self._frames[-1]
        frame.height = max(frame.height, height + 1)
        if isinstance(frame.value, list):
            frame.value.append("<<" if value is _MERGE else value)
        elif frame.key is None:
            self._set_key(frame, value)
        else:
            self._set_value(frame, "<<" if value is _MERGE else value, line)

    def _set_key(self, frame: _Frame, value: Any) -> None:
        if value is _MERGE:
            frame.key = ""
            frame.merged.append(None)
            return
        if isinstance(value, dict | list):
            raise errors.BadRequest(f"{self._path()} has a field whose name is not a string")
        frame.key = value if isinstance(value, str) else _key_text(value)

    def _set_value(self, frame: _Frame, value: Any, line: int) -> None:
        key = frame.key or ""
        if not frame.merged or frame.merged[-1] is not None:
            if key in frame.value and len(self.duplicates) < MAX_DUPLICATES:
                self.duplicates.append(DuplicateKey(self._path(), key, line + 1))
            frame.key, frame.value[key] = None, value
            return
        frame.key = None
        frame.merged.pop()
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise errors.BadRequest(f"{self._path()}: the value of << must be an object, or a list of objects")
        frame.merged += sources

    def _path(self) -> str:
        path = ""
        for frame in self._frames:
            if isinstance(frame.value, list):
                path = f"{path}[{len(frame.value)}]"
            elif frame.key is not None:
                path = field(path, frame.key)
        return path or "the body"


def _scalar_value(event: Any) -> Any:
    text: str = event.value
    if event.tag is None:
        return _plain_value(text) if event.implicit[0] and len(text) < 70 else text
    kind = event.tag.removeprefix(_TAGS)
    if kind in {"str", "!"}:
        return text
    value: Any = _plain_value(text) if kind in _TAG_TYPES and len(text) < 70 else _MERGE
    if type(value) not in _TAG_TYPES.get(kind, ()):
        raise errors.BadRequest("a value does not match its tag (!): quote strings that begin with !")
    return float(value) if kind == "float" else value


_TAG_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}


@lru_cache(maxsize=1024)
def _plain_value(text: str) -> Any:
    """Returns the value of an unquoted scalar."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text == "<<":
        return _MERGE
    if text[0] in "-+.0123456789":
        if _INTEGER.fullmatch(text):
            return _integer_value(text.replace("_", ""))
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def _integer_value(text: str) -> int | float:
    digits = text.lstrip("+-")
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") and digits != "0" else 10
    number = int(digits, base) * (-1 if text.startswith("-") else 1)
    return number if -(2**63) <= number < 2**64 else float(number)


def _key_text(value: float | None) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
