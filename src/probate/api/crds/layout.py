"""A definition as Kubernetes looks at it: what all versions have in common stands at the top.

Kubernetes validates an internal form in which a schema, subresources, printer columns or selectable fields that are the same
in all versions (a single version included) stand once at the top. Problems are named by their place there, so the same
mistake is at `spec.validation.openAPIV3Schema` or at `spec.versions[1].schema.openAPIV3Schema`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api.field_errors import Path

Definition = dict[str, Any]

SPEC = Path("spec")
_TOP_NAMES = {"schema": "validation"}


class Part(NamedTuple):
    """A part of a version, or of all of them, and where it stands. `versions` are those it is of."""

    path: Path
    value: Any
    versions: tuple[dict[str, Any], ...]


def spec_of(crd: Definition) -> dict[str, Any]:
    """The definition's spec."""
    return crd.get("spec") or {}


def names_of(crd: Definition) -> dict[str, Any]:
    """The names that it asks for."""
    return spec_of(crd).get("names") or {}


def versions_of(crd: Definition) -> list[dict[str, Any]]:
    """Its versions as written."""
    return spec_of(crd).get("versions") or []


def version_path(index: int) -> Path:
    """Where a version stands."""
    return SPEC / "versions" / index


def parts(crd: Definition, field: str) -> Iterator[Part]:
    """The field of all versions, wherever it stands; nothing where it is not given."""
    versions = versions_of(crd)
    given = [one.get(field) for one in versions]
    if given and all(one == given[0] for one in given):
        if given[0] is not None:
            yield Part(SPEC / _TOP_NAMES.get(field, field), given[0], tuple(versions))
        return
    for index, (version, value) in enumerate(zip(versions, given, strict=True)):
        if value is not None:
            yield Part(version_path(index) / field, value, (version,))


def schema_of(version: dict[str, Any]) -> Any:
    """The version's schema as written; none if it has none."""
    return (version.get("schema") or {}).get("openAPIV3Schema")


def has_status(version: dict[str, Any]) -> bool:
    """Whether the version has a status of its own path."""
    return (version.get("subresources") or {}).get("status") is not None
