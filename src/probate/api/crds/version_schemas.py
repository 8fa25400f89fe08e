"""Validates the schemas of a CRD: every version has one, and each is valid where it is placed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.crds.layout import (
    SPEC,
    Crd,
    VersionPart,
    has_status_subresource,
    schema_of,
    spec_of,
    version_parts,
    version_path,
    versions_of,
)
from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, required
from probate.api.structural.parse import LIMITS
from probate.api.structural.schema_check import check
from probate.api.structural.structure import is_set

_NOT_BESIDE_STATUS = frozenset({"enum", "minProperties", "maxProperties", "allOf", "anyOf", "oneOf", "not"})
BESIDE_STATUS = frozenset(LIMITS) - _NOT_BESIDE_STATUS | {
    "description",
    "type",
    "format",
    "title",
    "uniqueItems",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}


MAX_SCHEMAS = 50_000
"""Largest number of schemas in all versions together; each property and each list's items counts as one. Each takes a tenth of a
millisecond to check and compile, and a kilobyte while the kind is served. Kubernetes has no such limit; the largest published CRDs
have a third of it."""


def count_schemas(crd: Crd) -> int:
    """Returns the number of schema objects in all versions."""
    pending: list[Any] = [schema_of(version) for version in versions_of(crd)]
    total = 0
    while pending:
        schema = pending.pop()
        if isinstance(schema, dict):
            total += 1
            pending.extend(schema.values())
        elif isinstance(schema, list):
            pending.extend(schema)
    return total


def validate_schemas(crd: Crd) -> Iterator[FieldError]:
    """Validates the schemas."""
    for index, version in enumerate(versions_of(crd)):
        if schema_of(version) is None:
            yield required(version_path(index) / "schema" / "openAPIV3Schema", "schemas are required")
    for part in version_parts(crd, "schema"):
        schema = part.value.get("openAPIV3Schema")
        if isinstance(schema, dict):
            yield from _validate_schema(schema, part, part.path / "openAPIV3Schema")
    if spec_of(crd).get("preserveUnknownFields") is True and any(_has_default(schema_of(version)) for version in versions_of(crd)):
        yield invalid(SPEC / "preserveUnknownFields", True, "must be false in order to use defaults in the schema")


def _validate_schema(schema: dict[str, Any], part: VersionPart, path: FieldPath) -> Iterator[FieldError]:
    if any(has_status_subresource(version) for version in part.versions):
        yield from _validate_root(schema, path)
    if schema.get("nullable"):
        yield forbidden(path / "nullable", "nullable cannot be true at the root")
    yield from check(schema, path)


def _validate_root(schema: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Validates the root, which must not constrain the whole object.

    With a status subresource the schema applies to the status alone, too.
    """
    schema_type = schema.get("type")
    if schema_type and schema_type != "object":
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(path / "type", schema_type, detail)
    if forbidden_keywords := sorted(keyword for keyword, value in schema.items() if is_set(value) and keyword not in BESIDE_STATUS):
        detail = f"{', '.join(forbidden_keywords)} must not be at the root of the schema if the status subresource is enabled"
        yield invalid(path, schema, detail)


def _has_default(schema: Any) -> bool:
    """Returns whether the schema or any schema in it has a default."""
    if isinstance(schema, list):
        return any(_has_default(child) for child in schema)
    if not isinstance(schema, dict):
        return False
    if schema.get("default") is not None:
        return True
    children = [schema.get(keyword) for keyword in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "not")]
    return any(_has_default(child) for child in (*children, *(schema.get("properties") or {}).values()))
