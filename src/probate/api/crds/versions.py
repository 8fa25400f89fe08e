"""Validates the versions of a CRD: names, storage version, subresources, printer columns, selectable fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api import names
from probate.api.crds.layout import SPEC, Crd, schema_of, version_parts, version_path, versions_of
from probate.api.field_errors import FieldError, FieldPath, duplicate, invalid, required, too_many

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
MAX_SELECTABLE_FIELDS = 8
MAX_VERSIONS = 100  # Kubernetes has no such limits, but many versions would slow down every discovery and OpenAPI document
MAX_COLUMNS = 100
MAX_DEPRECATION_WARNING = 256


def validate_versions(crd: Crd) -> Iterator[FieldError]:
    """Validates the versions, except for their schemas."""
    for index, version in enumerate(versions_of(crd)):
        yield from _validate_version(version, version_path(index))
    yield from _validate_all_versions(crd)
    for part in version_parts(crd, "subresources"):
        yield from _validate_scale(part.value.get("scale"), part.path)
    for part in version_parts(crd, "additionalPrinterColumns"):
        if len(part.value) > MAX_COLUMNS:
            yield too_many(part.path, len(part.value), MAX_COLUMNS)
        for index, column in enumerate(part.value):
            yield from _validate_column(column, part.path / index)
    for part in version_parts(crd, "selectableFields"):
        yield from _validate_selectable_fields(part.value, schema_of(part.versions[0]), part.path)


def _validate_version(version: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    name = version.get("name") or ""
    if messages := names.validate_dns_1035_label(name):
        yield invalid(path / "name", name, ",".join(messages))
    warning = version.get("deprecationWarning")
    if warning is not None:
        yield from (
            invalid(path / "deprecationWarning", warning, message) for message in _validate_deprecation_warning(version, warning)
        )


def _validate_deprecation_warning(version: dict[str, Any], warning: str) -> list[str]:
    if not version.get("deprecated"):
        return ["can only be set for deprecated versions"]
    messages = []
    if len(warning.encode(errors="replace")) > MAX_DEPRECATION_WARNING:
        messages.append(f"must be <= {MAX_DEPRECATION_WARNING} characters long")
    if not warning:
        messages.append("must not be an empty string")
    if not warning.isprintable():
        messages.append("must only contain printable UTF-8 characters")
    return messages


def _validate_all_versions(crd: Crd) -> Iterator[FieldError]:
    versions = versions_of(crd)
    if len(versions) > MAX_VERSIONS:
        yield too_many(SPEC / "versions", len(versions), MAX_VERSIONS)
    version_names = [version.get("name") or "" for version in versions]
    if len(set(version_names)) < len(version_names):
        yield invalid(SPEC / "versions", versions, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield invalid(SPEC / "versions", versions, "must have exactly one version marked as storage version")
    # Kubernetes also stores the first version's name at spec.version, and validates it there, too.
    if version_names and version_names[0] and (messages := names.validate_dns_1035_label(version_names[0])):
        yield invalid(SPEC / "version", version_names[0], ",".join(messages))


def _validate_scale(scale: dict[str, Any] | None, path: FieldPath) -> Iterator[FieldError]:
    if scale is None:
        return
    yield from _validate_scale_path(scale, "specReplicasPath", (".spec.",), path=path, is_required=True)
    yield from _validate_scale_path(scale, "statusReplicasPath", (".status.",), path=path, is_required=True)
    yield from _validate_scale_path(scale, "labelSelectorPath", (".spec.", ".status."), path=path, is_required=False)


def _validate_scale_path(
    scale: dict[str, Any], field: str, roots: tuple[str, ...], *, path: FieldPath, is_required: bool
) -> Iterator[FieldError]:
    json_path, field_path = scale.get(field) or "", path / "scale" / field
    if not json_path:
        if is_required:
            yield required(field_path)
    elif not json_path.startswith("."):
        yield invalid(field_path, json_path, "must be a simple json path starting with .")
    elif not json_path.startswith(roots):
        yield invalid(field_path, json_path, f"should be a json path under {' or '.join(root.rstrip('.') for root in roots)}")


def _validate_column(column: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    column_type, column_format, json_path = (column.get(field) or "" for field in ("type", "format", "jsonPath"))
    if not column.get("name"):
        yield required(path / "name")
    if not column_type:
        yield required(path / "type", f"must be one of {','.join(COLUMN_TYPES)}")
    elif column_type not in COLUMN_TYPES:
        yield invalid(path / "type", column_type, f"must be one of {','.join(COLUMN_TYPES)}")
    if column_format and column_format not in COLUMN_FORMATS:
        yield invalid(path / "format", column_format, f"must be one of {','.join(COLUMN_FORMATS)}")
    if not json_path:
        yield required(path / "JSONPath")  # spelled as in v1beta1, as Kubernetes does
    elif not json_path.startswith("."):
        yield invalid(path / "JSONPath", json_path, "must be a simple json path starting with .")


def _validate_selectable_fields(fields: list[dict[str, Any]], schema: Any, path: FieldPath) -> Iterator[FieldError]:
    if schema is None:
        yield invalid(path, "", "selectableFields may only be set when there is a schema")
        return
    seen: set[str] = set()
    for index, field in enumerate(fields):
        field_path, json_path = path / index / "jsonPath", field.get("jsonPath") or ""
        yield from _validate_selectable_path(json_path, schema, field_path)
        if json_path and json_path in seen:
            yield duplicate(field_path, json_path)
        seen.add(json_path)
    if len(seen) > MAX_SELECTABLE_FIELDS:
        yield too_many(path, len(seen), MAX_SELECTABLE_FIELDS)


def _validate_selectable_path(json_path: str, schema: Any, path: FieldPath) -> Iterator[FieldError]:
    if not json_path:
        yield required(path)
        return
    field_schema = _find_field_schema(schema, json_path)
    if field_schema is None:
        yield invalid(path, json_path, "is an invalid path: it must name fields of the schema, as in .spec.color")
        return
    if json_path.startswith(".metadata."):
        yield invalid(path, json_path, "must not point to fields in metadata")
    if field_schema.get("type") not in ("string", "boolean", "integer"):
        detail = (
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
        )
        yield invalid(path, json_path, detail)


def _find_field_schema(schema: Any, json_path: str) -> dict[str, Any] | None:
    """Returns the schema of the field at a path such as .spec.color, or None."""
    start, *steps = json_path.split(".")
    if start or not steps:
        return None
    for step in steps:
        schema = ((schema.get("properties") or {}) if isinstance(schema, dict) else {}).get(step)
    return schema if isinstance(schema, dict) else None
