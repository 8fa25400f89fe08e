"""Objects within objects: an embedded resource needs an apiVersion and a kind, and its metadata follows the usual rules.

The object itself is not looked at here (its own metadata is the server's to check), only what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api import field_errors, metadata, names
from probate.api.field_errors import Path, Problem, field
from probate.api.schema.node import Schema


def problems_in(value: Any, schema: Schema) -> list[Problem]:
    """What is wrong with the embedded resources below the value."""
    return field_errors.first(_walk_parts(value, schema, Path()))


def problems_at(path: Path, value: Any, schema: Schema) -> list[Problem]:
    """What is wrong with a value at `path` as an embedded resource, if it is to be one."""
    return [*_check_type(value, path), *_check_metadata(value.get("metadata"), path / "metadata")] if _is_one(value, schema) else []


def is_in(schema: Schema) -> bool:
    """Whether what the schema describes may hold any."""
    below = (*schema.properties.values(), *(one for one in (schema.values, schema.items) if one is not None))
    return any(one.is_embedded or is_in(one) for one in below)


def found(value: Any, schema: Schema, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The embedded resources below the value, each with its path."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        known = schema.properties.get(key) or schema.values if isinstance(key, str) else schema.items
        if known is None or not isinstance(one, dict | list):
            continue
        here = field(path, key) if isinstance(key, str) else f"{path}[{key}]"
        if known.is_embedded and isinstance(one, dict):
            yield here, one
        yield from found(one, known, here)


def _is_one(value: Any, schema: Schema) -> bool:
    return schema.is_embedded and isinstance(value, dict)


def _walk(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    yield from problems_at(path, value, schema)
    yield from _walk_parts(value, schema, path)


def _walk_parts(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
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


def _check_type(value: dict[str, Any], path: Path) -> Iterator[Problem]:
    for name in ("apiVersion", "kind"):
        given = value.get(name, "")
        if given == "":
            yield field_errors.required(path / name)
        elif not isinstance(given, str):
            yield field_errors.invalid(path / name, given, "must be a string")
        elif name == "apiVersion" and given.count("/") > 1:
            yield field_errors.invalid(path / name, given, f"unexpected GroupVersion string: {given}")
        elif name == "kind" and (wrong := names.dns_1035_label(given.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            yield field_errors.invalid(path / name, given, detail)


def _check_metadata(meta: Any, path: Path) -> Iterator[Problem]:
    if meta is None:
        return
    if not isinstance(meta, dict):
        yield field_errors.invalid(path, meta, "must be an object")
        return
    yield from _check_texts(meta, path)
    if isinstance(name := meta.get("name"), str):
        yield from (field_errors.invalid(path / "name", name, one) for one in names.path_segment(name))


def _check_texts(meta: dict[str, Any], path: Path) -> Iterator[Problem]:
    for name, check in (("labels", metadata.check_labels), ("annotations", metadata.check_annotations)):
        texts = meta.get(name)
        if texts is None:
            continue
        if isinstance(texts, dict) and all(isinstance(one, str) for one in texts.values()):
            yield from check(texts, path / name)
        else:
            yield field_errors.invalid(path / name, texts, "must be a map from texts to texts")
