"""A CRD in Kubernetes' internal layout: what all versions have in common is at the top level.

Kubernetes validates an internal form in which a schema, subresources, printer columns or selectable fields that are equal in all
versions (a single version included) occur once at the top level. Field errors use these paths, so the same mistake is reported at
`spec.validation.openAPIV3Schema` or at `spec.versions[1].schema.openAPIV3Schema`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from probate.api.field_errors import FieldPath
from probate.api.objects import Object

Crd: TypeAlias = Object

SPEC = FieldPath("spec")
_TOP_NAMES = {"schema": "validation"}


class VersionPart(NamedTuple):
    """A field of one version or of all of them, and its path. `versions` are those that have it."""

    path: FieldPath
    value: Any
    versions: tuple[dict[str, Any], ...]


def spec_of(crd: Crd) -> dict[str, Any]:
    """Returns the CRD's spec."""
    return crd.get("spec") or {}


def names_of(crd: Crd) -> dict[str, Any]:
    """Returns the names that the CRD requests."""
    return spec_of(crd).get("names") or {}


def versions_of(crd: Crd) -> list[dict[str, Any]]:
    """Returns the versions in the spec."""
    return spec_of(crd).get("versions") or []


def version_path(index: int) -> FieldPath:
    """Returns the path of a version."""
    return SPEC / "versions" / index


def version_parts(crd: Crd, field: str) -> Iterator[VersionPart]:
    """Yields the field of all versions, wherever the layout places it. Versions without the field are skipped."""
    versions = versions_of(crd)
    values = [version.get(field) for version in versions]
    if values and all(value == values[0] for value in values):
        if values[0] is not None:
            yield VersionPart(SPEC / _TOP_NAMES.get(field, field), values[0], tuple(versions))
        return
    for index, (version, value) in enumerate(zip(versions, values, strict=True)):
        if value is not None:
            yield VersionPart(version_path(index) / field, value, (version,))


def schema_of(version: dict[str, Any]) -> Any:
    """Returns the version's schema, or None."""
    return (version.get("schema") or {}).get("openAPIV3Schema")


def has_status_subresource(version: dict[str, Any]) -> bool:
    """Returns whether the version has a status subresource."""
    return (version.get("subresources") or {}).get("status") is not None
