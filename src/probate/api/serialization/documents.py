"""Parses JSON and YAML bodies within limits, and finds fields that are set twice.

Any client can send a body, so parsing must not take time or memory out of proportion to its size: the depth is limited, and YAML
aliases (`yaml_documents`) may not expand without limit: a few hundred bytes can describe a billion values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import orjson

from probate.api.field_errors import field
from probate.api.serialization import yaml_documents
from probate.api.serialization.yaml_documents import MAX_DEPTH, MAX_DUPLICATES, MAX_PARTS
from probate.core import errors

_TEXT_OR_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_LEVELS = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
LARGE_BYTES = 64 * 1024
MAX_CHECKED_TOKENS = 500
"""Number of strings and brackets of a large body that are checked for depth before it is parsed."""
_TEXT_OR_PART = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{\[]', re.DOTALL)


class Document(NamedTuple):
    """A parsed body, and the paths of the fields that were set more than once. The last value counts.

    For YAML, `lines` are the messages of Kubernetes' YAML parser about the same duplicates, which differ from those for JSON.
    """

    value: Any
    duplicates: list[str]
    lines: tuple[str, ...] = ()


def parse_json(body: bytes, *, finds_duplicates: bool) -> Document:
    """Parses JSON. Finding duplicate fields costs extra."""
    if len(body) > LARGE_BYTES:
        _check_beginning(body)
    parts = body.count(b"{") + body.count(b"[")
    if parts > MAX_PARTS:
        _check_parts(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.BadRequest(f"the body is not valid JSON: {error}") from None
    if parts > MAX_DEPTH:  # fewer cannot be nested deeper
        _check_depth(value)
    return Document(value, _duplicates_in_json(body) if finds_duplicates and _may_have_duplicates(body, value) else [])


def _check_beginning(body: bytes) -> None:
    """Raises `BadRequest` if the body begins with too many levels. To find that out later would require parsing it all at once."""
    depth = 0
    for found in islice(_TEXT_OR_BRACKET.finditer(body), MAX_CHECKED_TOKENS):
        depth += _LEVELS.get(found[0], 0)
        if depth > MAX_DEPTH:
            raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")


def _check_parts(body: bytes) -> None:
    """Raises `BadRequest` if the body has more lists and objects than any real object: parsing them takes long, and much memory."""
    brackets = (found for found in _TEXT_OR_PART.finditer(body) if found[0] in {b"{", b"["})
    if next(islice(brackets, MAX_PARTS, None), None) is not None:
        raise errors.BadRequest(f"the body has more than {MAX_PARTS:,} lists and objects")


def parse_yaml(body: bytes, *, finds_duplicates: bool) -> Document:
    """Parses YAML: one document, with JSON's types."""
    value, duplicates = yaml_documents.parse(body)
    if not duplicates or not finds_duplicates:
        return Document(_copy_aliases(value), [])
    return Document(_copy_aliases(value), [duplicate.path for duplicate in duplicates], tuple(map(_duplicate_message, duplicates)))


def _duplicate_message(duplicate: yaml_documents.DuplicateKey) -> str:
    return f"line {duplicate.line}: key {json.dumps(duplicate.name, ensure_ascii=False)} already set in map"


def _check_depth(value: Any) -> None:
    """Raises `BadRequest` if the value is nested too deeply."""
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


def _may_have_duplicates(body: bytes, value: Any) -> bool:
    """Returns whether a field may be set twice: the body then has more field names than the parsed value. Cheap, almost certain."""
    return b'" :' in body or body.count(b'":') != orjson.dumps(value).count(b'":')


def _duplicates_in_json(body: bytes) -> list[str]:
    duplicates: list[_DuplicateField] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        parsed: dict[str, Any] = {}
        for name, value in pairs:
            if name in parsed:
                duplicates.append(_DuplicateField(parsed, name))
            parsed[name] = value
        return parsed

    value = json.loads(body, object_pairs_hook=collect)
    containers: dict[int, list[str]] = {}
    for mark in duplicates[:MAX_DUPLICATES]:
        containers.setdefault(id(mark.container), []).append(mark.name)
    return list(_duplicate_paths(value, containers, ""))


class _DuplicateField(NamedTuple):
    """A duplicate field, and the object that contains it."""

    container: dict[str, Any]
    name: str


def _duplicate_paths(value: Any, containers: dict[int, list[str]], path: str) -> Iterator[str]:
    for name in containers.get(id(value), ()):
        yield field(path, name)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _duplicate_paths(inner, containers, field(path, name))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _duplicate_paths(inner, containers, f"{path}[{position}]")


def _copy_aliases(value: Any) -> Any:
    """Returns a copy in which no part occurs twice: a value with several aliases must be changeable in one place alone."""
    try:
        return orjson.loads(orjson.dumps(value))
    except (orjson.JSONEncodeError, TypeError) as error:
        raise errors.BadRequest(f"the body contains a value that JSON cannot represent: {error}") from None
