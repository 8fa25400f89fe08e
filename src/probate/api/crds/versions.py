"""The versions of a definition: their names, which one is stored, subresources, printer columns, selectable fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api import names
from probate.api.crds.layout import SPEC, Definition, parts, schema_of, version_path, versions_of
from probate.api.field_errors import Path, Problem, duplicate, invalid, required, too_many

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
MAX_SELECTABLE_FIELDS = 8
MAX_VERSIONS = 100  # Kubernetes has no such limits, but every list and document of the API would pay for it
MAX_COLUMNS = 100
MAX_DEPRECATION_WARNING = 256


def version_problems(crd: Definition) -> Iterator[Problem]:
    """What is wrong with the versions, their schemas apart."""
    for index, version in enumerate(versions_of(crd)):
        yield from _check_version(version, version_path(index))
    yield from _check_all(crd)
    for part in parts(crd, "subresources"):
        yield from _check_scale(part.value.get("scale"), part.path)
    for part in parts(crd, "additionalPrinterColumns"):
        if len(part.value) > MAX_COLUMNS:
            yield too_many(part.path, len(part.value), MAX_COLUMNS)
        for index, column in enumerate(part.value):
            yield from _check_column(column, part.path / index)
    for part in parts(crd, "selectableFields"):
        yield from _check_selectable(part.value, schema_of(part.versions[0]), part.path)


def _check_version(version: dict[str, Any], path: Path) -> Iterator[Problem]:
    name = version.get("name") or ""
    if wrong := names.dns_1035_label(name):
        yield invalid(path / "name", name, ",".join(wrong))
    warning = version.get("deprecationWarning")
    if warning is not None:
        yield from (invalid(path / "deprecationWarning", warning, one) for one in _warning_faults(version, warning))


def _warning_faults(version: dict[str, Any], warning: str) -> list[str]:
    if not version.get("deprecated"):
        return ["can only be set for deprecated versions"]
    faults = []
    if len(warning.encode(errors="replace")) > MAX_DEPRECATION_WARNING:
        faults.append(f"must be <= {MAX_DEPRECATION_WARNING} characters long")
    if not warning:
        faults.append("must not be an empty string")
    if not warning.isprintable():
        faults.append("must only contain printable UTF-8 characters")
    return faults


def _check_all(crd: Definition) -> Iterator[Problem]:
    versions = versions_of(crd)
    if len(versions) > MAX_VERSIONS:
        yield too_many(SPEC / "versions", len(versions), MAX_VERSIONS)
    given = [one.get("name") or "" for one in versions]
    if len(set(given)) < len(given):
        yield invalid(SPEC / "versions", versions, "must contain unique version names")
    if sum(1 for one in versions if one.get("storage")) != 1:
        yield invalid(SPEC / "versions", versions, "must have exactly one version marked as storage version")
    # Kubernetes keeps the first version's name a second time, at spec.version, and checks it there too.
    if given and given[0] and (wrong := names.dns_1035_label(given[0])):
        yield invalid(SPEC / "version", given[0], ",".join(wrong))


def _check_scale(scale: dict[str, Any] | None, path: Path) -> Iterator[Problem]:
    if scale is None:
        return
    yield from _check_scale_path(scale, "specReplicasPath", (".spec.",), path, is_required=True)
    yield from _check_scale_path(scale, "statusReplicasPath", (".status.",), path, is_required=True)
    yield from _check_scale_path(scale, "labelSelectorPath", (".spec.", ".status."), path, is_required=False)


def _check_scale_path(
    scale: dict[str, Any], field: str, roots: tuple[str, ...], path: Path, *, is_required: bool
) -> Iterator[Problem]:
    given, here = scale.get(field) or "", path / "scale" / field
    if not given:
        if is_required:
            yield required(here)
    elif not given.startswith("."):
        yield invalid(here, given, "must be a simple json path starting with .")
    elif not given.startswith(roots):
        yield invalid(here, given, f"should be a json path under {' or '.join(one.rstrip('.') for one in roots)}")


def _check_column(column: dict[str, Any], path: Path) -> Iterator[Problem]:
    kind, shape, json_path = (column.get(field) or "" for field in ("type", "format", "jsonPath"))
    if not column.get("name"):
        yield required(path / "name")
    if not kind:
        yield required(path / "type", f"must be one of {','.join(COLUMN_TYPES)}")
    elif kind not in COLUMN_TYPES:
        yield invalid(path / "type", kind, f"must be one of {','.join(COLUMN_TYPES)}")
    if shape and shape not in COLUMN_FORMATS:
        yield invalid(path / "format", shape, f"must be one of {','.join(COLUMN_FORMATS)}")
    if not json_path:
        yield required(path / "JSONPath")  # spelt as in v1beta1: so does Kubernetes
    elif not json_path.startswith("."):
        yield invalid(path / "JSONPath", json_path, "must be a simple json path starting with .")


def _check_selectable(fields: list[dict[str, Any]], schema: Any, path: Path) -> Iterator[Problem]:
    if schema is None:
        yield invalid(path, "", "selectableFields may only be set when there is a schema")
        return
    seen: set[str] = set()
    for index, field in enumerate(fields):
        here, given = path / index / "jsonPath", field.get("jsonPath") or ""
        yield from _check_selectable_path(given, schema, here)
        if given and given in seen:
            yield duplicate(here, given)
        seen.add(given)
    if len(seen) > MAX_SELECTABLE_FIELDS:
        yield too_many(path, len(seen), MAX_SELECTABLE_FIELDS)


def _check_selectable_path(given: str, schema: Any, path: Path) -> Iterator[Problem]:
    if not given:
        yield required(path)
        return
    found = _find(schema, given)
    if found is None:
        yield invalid(path, given, "is an invalid path: it must name fields of the schema, as in .spec.color")
        return
    if given.startswith(".metadata."):
        yield invalid(path, given, "must not point to fields in metadata")
    if found.get("type") not in ("string", "boolean", "integer"):
        detail = (
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
        )
        yield invalid(path, given, detail)


def _find(schema: Any, json_path: str) -> dict[str, Any] | None:
    """The schema of the field at a path such as .spec.color; none if there is no such field."""
    start, *steps = json_path.split(".")
    if start or not steps:
        return None
    for step in steps:
        schema = ((schema.get("properties") or {}) if isinstance(schema, dict) else {}).get(step)
    return schema if isinstance(schema, dict) else None
