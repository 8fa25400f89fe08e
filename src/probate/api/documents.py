"""Bytes to values: JSON and YAML, within limits, and with what was written twice.

A body comes from anybody, so nothing here may take time or memory out of proportion to its size: depth is bounded, and YAML
(`yaml_values`) may not use its aliases to unfold into more than it is: a few hundred bytes can name a billion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import orjson

from probate.api import yaml_documents
from probate.api.field_errors import field
from probate.api.yaml_documents import MAX_DEPTH, MAX_DUPLICATES, MAX_PARTS
from probate.core import errors

_TEXT_OR_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_LEVELS = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
LARGE_BYTES = 64 * 1024
BEGINNING = 500
"""Texts and brackets of a large body that are looked at before it is read."""
_TEXT_OR_PART = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{\[]', re.DOTALL)


class Document(NamedTuple):
    """A parsed body, and the paths of the fields that were given more than once (the last one counts).

    Of YAML, `lines` says the same in the words of Kubernetes, whose reader of YAML has its own.
    """

    value: Any
    duplicates: list[str]
    lines: tuple[str, ...] = ()


def parse_json(body: bytes, *, finds_duplicates: bool) -> Document:
    """The value in this JSON. Looking for duplicates costs extra."""
    if len(body) > LARGE_BYTES:
        _check_beginning(body)
    parts = body.count(b"{") + body.count(b"[")
    if parts > MAX_PARTS:
        _check_parts(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.BadRequest(f"the body is no valid JSON: {error}") from None
    if parts > MAX_DEPTH:  # fewer cannot be nested deeper
        _check_depth(value)
    return Document(value, _duplicates_in_json(body) if finds_duplicates and _may_repeat(body, value) else [])


def _check_beginning(body: bytes) -> None:
    """`BadRequest` if the body begins with more levels than it may have. To find that out later takes all of it, in one go."""
    depth = 0
    for found in islice(_TEXT_OR_BRACKET.finditer(body), BEGINNING):
        depth += _LEVELS.get(found[0], 0)
        if depth > MAX_DEPTH:
            raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")


def _check_parts(body: bytes) -> None:
    """`BadRequest` if the body has more lists and objects than any object has: what is made of them takes long, and much memory."""
    beginnings = (found for found in _TEXT_OR_PART.finditer(body) if found[0] in {b"{", b"["})
    if next(islice(beginnings, MAX_PARTS, None), None) is not None:
        raise errors.BadRequest(f"the body has more than {MAX_PARTS:,} lists and objects")


def parse_yaml(body: bytes, *, finds_duplicates: bool) -> Document:
    """The value in this YAML: one document, with the types that JSON has."""
    value, repeated = yaml_documents.parse(body)
    if not repeated or not finds_duplicates:
        return Document(_apart(value), [])
    return Document(_apart(value), [one.path for one in repeated], tuple(map(_line, repeated)))


def _line(repeated: yaml_documents.Repeated) -> str:
    return f"line {repeated.line}: key {json.dumps(repeated.name, ensure_ascii=False)} already set in map"


def _check_depth(value: Any) -> None:
    """`BadRequest` if the value is nested deeper than any object needs to be."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]


def _may_repeat(body: bytes, value: Any) -> bool:
    """Whether a field may have been given twice: then the body names more fields than what became of it. Cheap, and nearly sure."""
    return b'" :' in body or body.count(b'":') != orjson.dumps(value).count(b'":')


def _duplicates_in_json(body: bytes) -> list[str]:
    marks: list[_Marked] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, value in pairs:
            if name in made:
                marks.append(_Marked(made, name))
            made[name] = value
        return made

    value = json.loads(body, object_pairs_hook=note)
    holders: dict[int, list[str]] = {}
    for mark in marks[:MAX_DUPLICATES]:
        holders.setdefault(id(mark.holder), []).append(mark.name)
    return list(_paths_to(value, holders, ""))


class _Marked(NamedTuple):
    """A field that was given twice, and the object it was given in."""

    holder: dict[str, Any]
    name: str


def _paths_to(value: Any, holders: dict[int, list[str]], path: str) -> Iterator[str]:
    for name in holders.get(id(value), ()):
        yield field(path, name)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _paths_to(inner, holders, field(path, name))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _paths_to(inner, holders, f"{path}[{position}]")


def _apart(value: Any) -> Any:
    """The value with nothing in it twice: what an alias stands for may be changed in one place and not in another."""
    try:
        return orjson.loads(orjson.dumps(value))
    except (orjson.JSONEncodeError, TypeError) as error:
        raise errors.BadRequest(f"the body holds what JSON cannot: {error}") from None
