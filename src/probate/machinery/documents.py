"""Bytes to values: JSON and YAML, within limits, and with what was written twice.

A body comes from anybody, so nothing here may take time or memory out of proportion to its size: depth is bounded, and YAML
may not use its aliases to unfold into more than it is (a few hundred bytes can name a billion).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import orjson
import yaml

from probate import errors

MAX_DEPTH = 100
MAX_YAML_NODES = 200_000
MAX_DUPLICATES = 100
"""Fields given twice that are named; more are not worth the time."""


class Document(NamedTuple):
    """A parsed body, and the paths of the fields that were given more than once (the last one counts)."""

    value: Any
    duplicates: list[str]


def parse_json(body: bytes, *, finds_duplicates: bool) -> Document:
    """The value in this JSON. Looking for duplicates costs extra."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.BadRequest(f"the body is no valid JSON: {error}") from None
    _check_depth(value)
    return Document(value, _duplicates_in_json(body) if finds_duplicates and _may_repeat(body, value) else [])


class _Loader(yaml.CSafeLoader):
    """YAML's types as far as JSON has them: no dates, and no numbers in base 60, whose reading takes time without bound."""


_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,30}|0x[0-9a-fA-F]{1,16}|0[0-7]{1,21})"),
    "tag:yaml.org,2002:float": re.compile(
        r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?"
    ),
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if not tag.endswith((":int", ":float", ":timestamp"))]
    for first, known in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern in _NUMBERS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern.pattern})$"), list("-+.0123456789"))


def parse_yaml(body: bytes, *, finds_duplicates: bool) -> Document:
    """The value in this YAML: one document, with the types that JSON has."""
    try:
        _check_events(body)
        loader = _Loader(body)
        try:
            node = loader.get_single_node()
            _check_unfolds(node)
            duplicates = list(islice(_duplicates_in_yaml(node, ""), MAX_DUPLICATES)) if finds_duplicates else []
            value = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except errors.ApiError:
        raise
    except Exception as error:  # noqa: BLE001 whatever a constructor trips over, it is the body's fault
        raise errors.BadRequest(f"the body is no valid YAML: {error}") from None
    _check_depth(value)
    return Document(_as_json(value), duplicates)


def _check_events(body: bytes) -> None:
    """`BadRequest` if the document is too deep or has too many parts: found before anything is built of it."""
    depth = 0
    for number, event in enumerate(yaml.parse(body, Loader=_Loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")
        if number > MAX_YAML_NODES:
            raise errors.BadRequest(f"the body has more than {MAX_YAML_NODES:,} parts: send it as JSON")


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
        yield f"{path}.{name}" if path else name
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _paths_to(inner, holders, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _paths_to(inner, holders, f"{path}[{position}]")


def _duplicates_in_yaml(node: yaml.Node | None, path: str) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for name, inner in node.value:
            if not isinstance(name, yaml.ScalarNode):
                raise errors.BadRequest(f"{path or 'the body'} has a field whose name is not text")
            here = f"{path}.{name.value}" if path else str(name.value)
            if name.value in seen:
                yield here
            seen.add(name.value)
            yield from _duplicates_in_yaml(inner, here)
    elif isinstance(node, yaml.SequenceNode):
        for position, inner in enumerate(node.value):
            yield from _duplicates_in_yaml(inner, f"{path}[{position}]")


def _check_unfolds(node: yaml.Node | None) -> None:
    """`BadRequest` if the document with all its aliases written out is too large, or never ends."""
    if node is not None and _unfolded(node, {}, 0) > MAX_YAML_NODES:
        raise errors.BadRequest("the body's aliases unfold into too much: write it out, or as JSON")


def _unfolded(node: yaml.Node, known: dict[int, int], depth: int) -> int:
    if id(node) in known:
        return known[id(node)]
    if depth > MAX_DEPTH:
        raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")
    known[id(node)] = MAX_YAML_NODES + 1  # what contains itself never ends
    size = 1
    if isinstance(node, yaml.MappingNode):
        size += sum(_unfolded(name, known, depth + 1) + _unfolded(inner, known, depth + 1) for name, inner in node.value)
    elif isinstance(node, yaml.SequenceNode):
        size += sum(_unfolded(inner, known, depth + 1) for inner in node.value)
    known[id(node)] = size
    return size


def _as_json(value: Any) -> Any:
    """The value as JSON would have it: names are text, and there are no dates."""
    try:
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except (orjson.JSONEncodeError, TypeError) as error:
        raise errors.BadRequest(f"the body holds what JSON cannot: {error}") from None
