"""Checks which keywords are allowed in a schema node and in which combinations, in value validations too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, limit_field_errors, not_supported
from probate.api.structural import list_keywords
from probate.api.structural.parse import array, schemas, text
from probate.api.structural.rule_shape import rule_problems
from probate.api.structural.structure import RawSchema, branch_path, branches, is_set

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


class _Position(NamedTuple):
    """The position of a node in the schema. `no_default` is the reason why the node must not set a default; empty if it can."""

    is_root: bool = False
    is_in_metadata: bool = False
    no_default: str = ""


def keyword_problems(written: RawSchema, path: FieldPath) -> list[FieldError]:
    """Returns the problems of all keywords that are not allowed at their position."""
    return limit_field_errors(_check_node(written, path, _Position(is_root=True)))


def is_readable(written: Any) -> bool:
    """Returns whether the schema contains nothing that structural schemas cannot represent, so its structure can be checked."""
    if not isinstance(written, dict):
        return False
    if any(is_set(written.get(word)) for word in (*_UNSUPPORTED, "$schema")) or isinstance(written.get("items"), list):
        return False
    if written.get("x-kubernetes-preserve-unknown-fields") is False:
        return False
    return all(is_readable(one) for _, one in _parts(written))


def _parts(written: RawSchema) -> Iterator[tuple[str, Any]]:
    """Yields all direct subschemas with their keywords."""
    for word in ("items", "additionalProperties", "not"):
        if isinstance(written.get(word), dict):
            yield word, written[word]
    for word in ("allOf", "anyOf", "oneOf"):
        yield from ((word, one) for one in array(written, word))
    yield from (("properties", one) for one in schemas(written, "properties").values())


def _check_node(written: RawSchema, path: FieldPath, position: _Position) -> Iterator[FieldError]:
    yield from _check_words(written, path, position)
    yield from _check_parts(written, path, position)
    yield from list_keywords.list_problems(written, path)
    yield from rule_problems(written, path)


def _check_words(written: RawSchema, path: FieldPath, position: _Position) -> Iterator[FieldError]:
    given = text(written, "type")
    if given and given not in TYPES:
        yield not_supported(path / "type", given, TYPES)
    if written.get("default") is not None and position.no_default:
        yield forbidden(path / "default", f"must not be set {position.no_default}")
    yield from (forbidden(path / word, f"{word} is not supported") for word in _UNSUPPORTED if is_set(written.get(word)))
    if given == "null":
        yield forbidden(path / "type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(written.get("items"), list):
        yield forbidden(path / "items", "items must be a schema object and not an array")
    if position.is_in_metadata and written.get("x-kubernetes-embedded-resource"):
        yield forbidden(path / "x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if written.get("uniqueItems"):
        yield forbidden(path / "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
    if written.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(path / "x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")


def _check_parts(written: RawSchema, path: FieldPath, position: _Position) -> Iterator[FieldError]:
    yield from _check_additional(written, path, position)
    for name, one in schemas(written, "properties").items():
        yield from _check_node(one, path / "properties" @ name, _property_position(name, written, position))
    inner = position._replace(is_root=False)
    for word, index, one in branches(written):
        yield from _check_node(one, branch_path(path, word, index), inner)
    if isinstance(written.get("items"), dict):
        yield from _check_node(written["items"], path / "items", inner)


def _check_additional(written: RawSchema, path: FieldPath, position: _Position) -> Iterator[FieldError]:
    additional = written.get("additionalProperties")
    if additional is None:
        return
    if schemas(written, "properties") and additional is not True:
        yield forbidden(path / "additionalProperties", "additionalProperties and properties are mutual exclusive")
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata" if position.is_in_metadata else position.no_default
        yield from _check_node(additional, path / "additionalProperties", position._replace(is_root=False, no_default=reason))


def _property_position(name: str, parent: RawSchema, position: _Position) -> _Position:
    if name not in _META_FIELDS or not (position.is_root or parent.get("x-kubernetes-embedded-resource")):
        return position._replace(is_root=False)
    return _Position(is_in_metadata=True, no_default=f"in top-level {name}" if position.is_root else position.no_default)
