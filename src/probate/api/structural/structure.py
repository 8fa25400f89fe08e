"""Checks whether a schema is structural: whether it describes each field and item outside of value validations.

Pruning and defaulting use only the structure (`properties`, `items`, `additionalProperties` and their types). Therefore each field
must have a type; `allOf`, `anyOf`, `oneOf` and `not` can restrict fields but can neither introduce nor type them; and a
CustomResourceDefinition cannot describe an object's metadata except to restrict its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, limit_field_errors, required
from probate.api.structural.parse import array, schemas, text
from probate.lib.regexp import BadPattern, compile_pattern

RawSchema = dict[str, Any]

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


def structure_problems(written: RawSchema, path: FieldPath) -> list[FieldError]:
    """Returns all problems that keep the schema from being structural, in the order of Kubernetes."""
    found = limit_field_errors(chain(_check_node(written, _ROOT, path), _check_complete(written, written, path, nested_path=path)))
    return sorted(found, key=lambda one: (one.field, one.message))


def branches(written: RawSchema) -> Iterator[tuple[str, int | None, RawSchema]]:
    """Yields all value validations: keyword, index in its list (None for `not`), schema."""
    for keyword in ("anyOf", "allOf", "oneOf"):
        yield from ((keyword, index, one) for index, one in enumerate(array(written, keyword)) if isinstance(one, dict))
    if isinstance(written.get("not"), dict):
        yield "not", None, written["not"]


def branch_path(path: FieldPath, keyword: str, index: int | None) -> FieldPath:
    """Returns the path of a branch."""
    return path / keyword if index is None else path / keyword / index


def _check_node(written: RawSchema, level: str, path: FieldPath) -> Iterator[FieldError]:
    yield from _check_parts(written, level, path)
    yield from _check_extensions(written, path)
    yield from _check_branches(written, path, skips_int_or_string=True)
    yield from _check_type(written, level, path)
    yield from _check_meta_fields(written, level, path)


def _check_parts(written: RawSchema, level: str, path: FieldPath) -> Iterator[FieldError]:
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


def _check_extensions(written: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    if not written.get("x-kubernetes-int-or-string"):
        return
    for keyword in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if written.get(keyword):
            yield invalid(path / keyword, True, "must be false if x-kubernetes-int-or-string is true")


def _check_type(written: RawSchema, level: str, path: FieldPath) -> Iterator[FieldError]:
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


def _check_meta_fields(written: RawSchema, level: str, path: FieldPath) -> Iterator[FieldError]:
    is_embedded = bool(written.get("x-kubernetes-embedded-resource"))
    properties = schemas(written, "properties")
    if level == _ROOT or is_embedded:
        for name, expected in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            if name in properties and text(properties[name], "type") != expected:
                yield invalid(path / "properties" @ name / "type", text(properties[name], "type"), f"must be {expected}")
    if level == _ROOT and "metadata" in properties and not _is_plain_metadata(properties["metadata"]):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(path / "properties" @ "metadata", detail)
    if is_embedded and not properties and not written.get("x-kubernetes-preserve-unknown-fields"):
        detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        yield required(path / "properties", detail)


def _is_plain_metadata(written: RawSchema) -> bool:
    keywords = {keyword for keyword, one in written.items() if is_set(one)} - _FREE_IN_METADATA
    return keywords <= {"properties"} and schemas(written, "properties").keys() <= {"name", "generateName"}


def is_set(value: Any) -> bool:
    """Returns whether a keyword has a nonzero value: Kubernetes cannot distinguish false, empty and absent."""
    return value not in (None, False, "", [], {}) or (isinstance(value, int | float) and not isinstance(value, bool))


def _check_branches(written: RawSchema, path: FieldPath, *, skips_int_or_string: bool = False) -> Iterator[FieldError]:
    """Checks value validations. Only the int-or-string pattern can contain types, and only at its permitted position."""
    all_of = array(written, "allOf")
    first_skips = bool(all_of) and isinstance(all_of[0], dict) and all_of[0].get("anyOf") == _INT_OR_STRING
    for keyword, index, one in branches(written):
        if keyword == "anyOf" and skips_int_or_string and written["anyOf"] == _INT_OR_STRING:
            continue
        skips = skips_int_or_string and first_skips and keyword == "allOf" and index == 0
        yield from _check_nested(one, branch_path(path, keyword, index), skips_int_or_string=skips)
    if pattern := text(written, "pattern"):
        try:
            compile_pattern(pattern)
        except BadPattern as error:
            yield invalid(path / "pattern", pattern, f"must be a valid regular expression, but isn't: {error}")


def _check_nested(written: RawSchema, path: FieldPath, *, skips_int_or_string: bool = False) -> Iterator[FieldError]:
    yield from _check_branches(written, path, skips_int_or_string=skips_int_or_string)
    if isinstance(written.get("items"), dict):
        yield from _check_nested(written["items"], path / "items")
    for name, one in schemas(written, "properties").items():
        yield from _check_nested(one, path / "properties" @ name)
    for keyword, detail in _NOT_NESTED.items():
        if is_set(written.get(keyword)) or (keyword == "additionalProperties" and written.get(keyword) is not None):
            yield forbidden(path / keyword, detail)
    if "metadata" in schemas(written, "properties"):
        yield forbidden(path / "properties" @ "metadata", "must not be specified in a nested context")


def _check_complete(nested: RawSchema, written: RawSchema, path: FieldPath, *, nested_path: FieldPath) -> Iterator[FieldError]:
    """Checks that all fields in the branches of `nested` exist in `written`, outside of any branch.

    Kubernetes checks only the branches of the root: the branches of a field can mention fields that do not exist.
    """
    for keyword, index, one in branches(nested):
        yield from _check_known(one, written, path, nested_path=branch_path(nested_path, keyword, index))


def _check_known(nested: RawSchema, written: RawSchema, path: FieldPath, *, nested_path: FieldPath) -> Iterator[FieldError]:
    yield from _check_complete(nested, written, path, nested_path=nested_path)
    if isinstance(nested.get("items"), dict):
        yield from _check_known_at(nested["items"], written.get("items"), path / "items", nested_path=nested_path / "items")
    known = schemas(written, "properties")
    for name, one in schemas(nested, "properties").items():
        yield from _check_known_at(one, known.get(name), path / "properties" @ name, nested_path=nested_path / "properties" @ name)


def _check_known_at(nested: RawSchema, written: Any, path: FieldPath, *, nested_path: FieldPath) -> Iterator[FieldError]:
    if isinstance(written, dict):
        yield from _check_known(nested, written, path, nested_path=nested_path)
    else:
        yield required(path, f"because it is defined in {nested_path}")
