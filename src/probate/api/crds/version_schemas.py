"""The schemas of a definition: that every version has one, and that it is right where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.crds.layout import SPEC, Definition, Part, has_status, parts, schema_of, spec_of, version_path, versions_of
from probate.api.field_errors import Path, Problem, forbidden, invalid, required
from probate.api.structural.parse import LIMITS
from probate.api.structural.schema_check import check
from probate.api.structural.structure import is_said

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
"""Of all versions together, each property and each list's items counted. Each takes a tenth of a millisecond to check and compile,
and a kilobyte for as long as the kind is served. Kubernetes has no such limit; the largest published definitions have a third."""


def count(crd: Definition) -> int:
    """How many objects the schemas of all versions are made of."""
    waiting: list[Any] = [schema_of(one) for one in versions_of(crd)]
    found = 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found += 1
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def schema_problems(crd: Definition) -> Iterator[Problem]:
    """What is wrong with the schemas."""
    for index, version in enumerate(versions_of(crd)):
        if schema_of(version) is None:
            yield required(version_path(index) / "schema" / "openAPIV3Schema", "schemas are required")
    for part in parts(crd, "schema"):
        written = part.value.get("openAPIV3Schema")
        if isinstance(written, dict):
            yield from _check_schema(written, part, part.path / "openAPIV3Schema")
    if spec_of(crd).get("preserveUnknownFields") is True and any(_has_default(schema_of(one)) for one in versions_of(crd)):
        yield invalid(SPEC / "preserveUnknownFields", True, "must be false in order to use defaults in the schema")


def _check_schema(written: dict[str, Any], part: Part, path: Path) -> Iterator[Problem]:
    if any(has_status(one) for one in part.versions):
        yield from _check_root(written, path)
    if written.get("nullable"):
        yield forbidden(path / "nullable", "nullable cannot be true at the root")
    yield from check(written, path)


def _check_root(written: dict[str, Any], path: Path) -> Iterator[Problem]:
    """With a status subresource the schema is applied to the status alone too: the root must not speak of the whole."""
    given = written.get("type")
    if given and given != "object":
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(path / "type", given, detail)
    if others := sorted(word for word, one in written.items() if is_said(one) and word not in BESIDE_STATUS):
        detail = f"{', '.join(others)} must not be at the root of the schema if the status subresource is enabled"
        yield invalid(path, written, detail)


def _has_default(written: Any) -> bool:
    """Whether any schema in it has a default."""
    if isinstance(written, list):
        return any(_has_default(one) for one in written)
    if not isinstance(written, dict):
        return False
    if written.get("default") is not None:
        return True
    below = [written.get(word) for word in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "not")]
    return any(_has_default(one) for one in (*below, *(written.get("properties") or {}).values()))
