"""Embedded resources: objects within objects. Each needs an apiVersion and a kind, and its metadata follows the usual rules.

These functions ignore the root object (the server validates its metadata) and check only what it contains.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api import field_errors, metadata, names
from probate.api.field_errors import FieldError, FieldPath, field
from probate.api.schema.node import Schema


def problems_in(value: Any, schema: Schema) -> list[FieldError]:
    """Returns the problems of all embedded resources below the value."""
    return field_errors.limit_field_errors(_walk_parts(value, schema, FieldPath()))


def problems_at(path: FieldPath, value: Any, schema: Schema) -> list[FieldError]:
    """Returns the problems of the value at `path` as an embedded resource, if the schema declares it as one."""
    return (
        [*_check_type(value, path), *_check_metadata(value.get("metadata"), path / "metadata")]
        if _is_embedded(value, schema)
        else []
    )


def may_contain_embedded(schema: Schema) -> bool:
    """Returns whether a value of this schema can contain embedded resources."""
    below = (*schema.properties.values(), *(one for one in (schema.values, schema.items) if one is not None))
    return any(one.is_embedded_resource or may_contain_embedded(one) for one in below)


def find_embedded_resources(value: Any, schema: Schema, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the embedded resources below the value with their paths."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        known = schema.properties.get(key) or schema.values if isinstance(key, str) else schema.items
        if known is None or not isinstance(one, dict | list):
            continue
        here = field(path, key) if isinstance(key, str) else f"{path}[{key}]"
        if known.is_embedded_resource and isinstance(one, dict):
            yield here, one
        yield from find_embedded_resources(one, known, here)


def _is_embedded(value: Any, schema: Schema) -> bool:
    return schema.is_embedded_resource and isinstance(value, dict)


def _walk(value: Any, schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    yield from problems_at(path, value, schema)
    yield from _walk_parts(value, schema, path)


def _walk_parts(value: Any, schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    if isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(one, dict | list):
                continue
            if (known := schema.properties.get(key)) is not None:
                yield from _walk(one, known, path / key)
            elif schema.values is not None:
                yield from _walk(one, schema.values, path @ key)
    elif isinstance(value, list) and schema.items is not None:
        for index, one in enumerate(value):
            yield from _walk(one, schema.items, path / index)


def _check_type(value: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        given = value.get(name, "")
        if given == "":
            yield field_errors.required(path / name)
        elif not isinstance(given, str):
            yield field_errors.invalid(path / name, given, "must be a string")
        elif name == "apiVersion" and given.count("/") > 1:
            yield field_errors.invalid(path / name, given, f"unexpected GroupVersion string: {given}")
        elif name == "kind" and (wrong := names.validate_dns_1035_label(given.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            yield field_errors.invalid(path / name, given, detail)


def _check_metadata(meta: Any, path: FieldPath) -> Iterator[FieldError]:
    if meta is None:
        return
    if not isinstance(meta, dict):
        yield field_errors.invalid(path, meta, "must be an object")
        return
    yield from _check_texts(meta, path)
    if isinstance(name := meta.get("name"), str):
        yield from (field_errors.invalid(path / "name", name, one) for one in names.validate_path_segment(name))


def _check_texts(meta: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    for name, check in (("labels", metadata.validate_labels), ("annotations", metadata.validate_annotations)):
        texts = meta.get(name)
        if texts is None:
            continue
        if isinstance(texts, dict) and all(isinstance(one, str) for one in texts.values()):
            yield from check(texts, path / name)
        else:
            yield field_errors.invalid(path / name, texts, "must be a map of strings to strings")
