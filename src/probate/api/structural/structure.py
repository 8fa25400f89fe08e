"""Is a schema structural: is every field and item described outside of what only restricts values.

Pruning and defaulting read the structure (`properties`, `items`, `additionalProperties` and their types) and nothing else. So
a type must be stated for every field, `allOf`, `anyOf`, `oneOf` and `not` may restrict fields but never introduce or type
them, and an object's metadata is not the definition's to describe, but for restricting its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from probate.api.field_errors import Path, Problem, first, forbidden, invalid, required
from probate.api.structural.parse import array, schemas, text
from probate.lib.regexp import BadPattern, compile_pattern

Written = dict[str, Any]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_NOT_NESTED = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "externalDocs": "must be undefined to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_FREE_IN_METADATA = frozenset({"type", "default", "example", "externalDocs"})


def structure_problems(written: Written, path: Path) -> list[Problem]:
    """Everything that keeps the schema from being structural, sorted as Kubernetes sorts it."""
    found = first(chain(_check_node(written, _ROOT, path), _check_complete(written, written, path, path)))
    return sorted(found, key=lambda one: (one.field, one.message))


def branches(written: Written) -> Iterator[tuple[str, int | None, Written]]:
    """All that only restricts values: the word, the index in its list (not's has none), the schema."""
    for word in ("anyOf", "allOf", "oneOf"):
        yield from ((word, index, one) for index, one in enumerate(array(written, word)) if isinstance(one, dict))
    if isinstance(written.get("not"), dict):
        yield "not", None, written["not"]


def branch_path(path: Path, word: str, index: int | None) -> Path:
    """Where a branch stands."""
    return path / word if index is None else path / word / index


def _check_node(written: Written, level: str, path: Path) -> Iterator[Problem]:
    yield from _check_parts(written, level, path)
    yield from _check_extensions(written, path)
    yield from _check_branches(written, path, skips_int_or_string=True)
    yield from _check_type(written, level, path)
    yield from _check_meta_fields(written, level, path)


def _check_parts(written: Written, level: str, path: Path) -> Iterator[Problem]:
    items, additional = written.get("items"), written.get("additionalProperties")
    if text(written, "type") == "array" and items is None:
        yield required(path / "items", "must be specified")
    if isinstance(items, dict):
        yield from _check_node(items, _ITEM, path / "items")
    for name, one in schemas(written, "properties").items():
        yield from _check_node(one, _FIELD, path / "properties" @ name)
    if additional is not None and level == _ROOT:
        yield forbidden(path / "additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        yield from _check_node(additional, _FIELD, path / "additionalProperties")


def _check_extensions(written: Written, path: Path) -> Iterator[Problem]:
    if not written.get("x-kubernetes-int-or-string"):
        return
    for word in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if written.get(word):
            yield invalid(path / word, True, "must be false if x-kubernetes-int-or-string is true")


def _check_type(written: Written, level: str, path: Path) -> Iterator[Problem]:
    given = text(written, "type")
    is_embedded = bool(written.get("x-kubernetes-embedded-resource"))
    is_free = written.get("x-kubernetes-int-or-string") or written.get("x-kubernetes-preserve-unknown-fields")
    if is_embedded and given != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(path / "type", given, detail) if given else required(path / "type", detail)
    elif not given and not is_free:
        yield required(path / "type", f"must not be empty {level}")
    if is_embedded and written.get("additionalProperties") is not None:
        yield forbidden(path / "additionalProperties", "must not be used if x-kubernetes-embedded-resource is set")
    if level == _ROOT and given and given != "object":
        yield invalid(path / "type", given, "must be object at the root")


def _check_meta_fields(written: Written, level: str, path: Path) -> Iterator[Problem]:
    is_embedded = bool(written.get("x-kubernetes-embedded-resource"))
    properties = schemas(written, "properties")
    if level == _ROOT or is_embedded:
        for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            if name in properties and text(properties[name], "type") != wanted:
                yield invalid(path / "properties" @ name / "type", text(properties[name], "type"), f"must be {wanted}")
    if level == _ROOT and "metadata" in properties and not _is_plain_metadata(properties["metadata"]):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(path / "properties" @ "metadata", detail)
    if is_embedded and not properties and not written.get("x-kubernetes-preserve-unknown-fields"):
        detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        yield required(path / "properties", detail)


def _is_plain_metadata(written: Written) -> bool:
    said = {word for word, one in written.items() if is_said(one)} - _FREE_IN_METADATA
    return said <= {"properties"} and schemas(written, "properties").keys() <= {"name", "generateName"}


def is_said(value: Any) -> bool:
    """Whether a word of a schema says anything: Kubernetes cannot tell false, empty and absent apart."""
    return value not in (None, False, "", [], {}) or (isinstance(value, int | float) and not isinstance(value, bool))


def _check_branches(written: Written, path: Path, *, skips_int_or_string: bool = False) -> Iterator[Problem]:
    """The restrictions of a schema or of a restriction. Only integer-or-string may say types, and only there."""
    all_of = array(written, "allOf")
    first_skips = bool(all_of) and isinstance(all_of[0], dict) and all_of[0].get("anyOf") == _INT_OR_STRING
    for word, index, one in branches(written):
        if word == "anyOf" and skips_int_or_string and written["anyOf"] == _INT_OR_STRING:
            continue
        skips = skips_int_or_string and first_skips and word == "allOf" and index == 0
        yield from _check_nested(one, branch_path(path, word, index), skips_int_or_string=skips)
    if pattern := text(written, "pattern"):
        try:
            compile_pattern(pattern)
        except BadPattern as error:
            yield invalid(path / "pattern", pattern, f"must be a valid regular expression, but isn't: {error}")


def _check_nested(written: Written, path: Path, *, skips_int_or_string: bool = False) -> Iterator[Problem]:
    yield from _check_branches(written, path, skips_int_or_string=skips_int_or_string)
    if isinstance(written.get("items"), dict):
        yield from _check_nested(written["items"], path / "items")
    for name, one in schemas(written, "properties").items():
        yield from _check_nested(one, path / "properties" @ name)
    for word, detail in _NOT_NESTED.items():
        if is_said(written.get(word)) or (word == "additionalProperties" and written.get(word) is not None):
            yield forbidden(path / word, detail)
    if "metadata" in schemas(written, "properties"):
        yield forbidden(path / "properties" @ "metadata", "must not be specified in a nested context")


def _check_complete(nested: Written, written: Written, path: Path, nested_path: Path) -> Iterator[Problem]:
    """Whatever the branches of `nested` speak of must be there in `written`, outside of any branch.

    Kubernetes asks this of the root's branches only: those of a field may speak of what the field does not have.
    """
    for word, index, one in branches(nested):
        yield from _check_known(one, written, path, branch_path(nested_path, word, index))


def _check_known(nested: Written, written: Written, path: Path, nested_path: Path) -> Iterator[Problem]:
    yield from _check_complete(nested, written, path, nested_path)
    if isinstance(nested.get("items"), dict):
        yield from _check_known_at(nested["items"], written.get("items"), path / "items", nested_path / "items")
    known = schemas(written, "properties")
    for name, one in schemas(nested, "properties").items():
        yield from _check_known_at(one, known.get(name), path / "properties" @ name, nested_path / "properties" @ name)


def _check_known_at(nested: Written, written: Any, path: Path, nested_path: Path) -> Iterator[Problem]:
    if isinstance(written, dict):
        yield from _check_known(nested, written, path, nested_path)
    else:
        yield required(path, f"because it is defined in {nested_path}")
