"""Which words may stand in a schema, and with which others: what is checked of every node, restrictions included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api.field_errors import Path, Problem, first, forbidden, invalid, not_supported
from probate.api.structural import list_keywords
from probate.api.structural.parse import array, schemas, text
from probate.api.structural.rule_shape import rule_problems
from probate.api.structural.structure import Written, branch_path, branches, is_said

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


class _Place(NamedTuple):
    """What is known of where a node stands. `no_default` is why a default must not be set; empty if it may."""

    is_root: bool = False
    is_in_metadata: bool = False
    no_default: str = ""


def keyword_problems(written: Written, path: Path) -> list[Problem]:
    """Every word that is wrong where it stands."""
    return first(_check_node(written, path, _Place(is_root=True)))


def is_readable(written: Any) -> bool:
    """Whether nothing in it is beyond structural schemas altogether, so that its structure can be looked at."""
    if not isinstance(written, dict):
        return False
    if any(is_said(written.get(word)) for word in (*_UNSUPPORTED, "$schema")) or isinstance(written.get("items"), list):
        return False
    if written.get("x-kubernetes-preserve-unknown-fields") is False:
        return False
    return all(is_readable(one) for _, one in _parts(written))


def _parts(written: Written) -> Iterator[tuple[str, Any]]:
    """All schemas directly below."""
    for word in ("items", "additionalProperties", "not"):
        if isinstance(written.get(word), dict):
            yield word, written[word]
    for word in ("allOf", "anyOf", "oneOf"):
        yield from ((word, one) for one in array(written, word))
    yield from (("properties", one) for one in schemas(written, "properties").values())


def _check_node(written: Written, path: Path, place: _Place) -> Iterator[Problem]:
    yield from _check_words(written, path, place)
    yield from _check_parts(written, path, place)
    yield from list_keywords.list_problems(written, path)
    yield from rule_problems(written, path)


def _check_words(written: Written, path: Path, place: _Place) -> Iterator[Problem]:
    given = text(written, "type")
    if given and given not in TYPES:
        yield not_supported(path / "type", given, TYPES)
    if written.get("default") is not None and place.no_default:
        yield forbidden(path / "default", f"must not be set {place.no_default}")
    yield from (forbidden(path / word, f"{word} is not supported") for word in _UNSUPPORTED if is_said(written.get(word)))
    if given == "null":
        yield forbidden(path / "type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(written.get("items"), list):
        yield forbidden(path / "items", "items must be a schema object and not an array")
    if place.is_in_metadata and written.get("x-kubernetes-embedded-resource"):
        yield forbidden(path / "x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if written.get("uniqueItems"):
        yield forbidden(path / "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
    if written.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(path / "x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")


def _check_parts(written: Written, path: Path, place: _Place) -> Iterator[Problem]:
    yield from _check_additional(written, path, place)
    for name, one in schemas(written, "properties").items():
        yield from _check_node(one, path / "properties" @ name, _place_of(name, written, place))
    inner = place._replace(is_root=False)
    for word, index, one in branches(written):
        yield from _check_node(one, branch_path(path, word, index), inner)
    if isinstance(written.get("items"), dict):
        yield from _check_node(written["items"], path / "items", inner)


def _check_additional(written: Written, path: Path, place: _Place) -> Iterator[Problem]:
    additional = written.get("additionalProperties")
    if additional is None:
        return
    if schemas(written, "properties") and additional is not True:
        yield forbidden(path / "additionalProperties", "additionalProperties and properties are mutual exclusive")
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata" if place.is_in_metadata else place.no_default
        yield from _check_node(additional, path / "additionalProperties", place._replace(is_root=False, no_default=reason))


def _place_of(name: str, parent: Written, place: _Place) -> _Place:
    if name not in _META_FIELDS or not (place.is_root or parent.get("x-kubernetes-embedded-resource")):
        return place._replace(is_root=False)
    return _Place(is_in_metadata=True, no_default=f"in top-level {name}" if place.is_root else place.no_default)
