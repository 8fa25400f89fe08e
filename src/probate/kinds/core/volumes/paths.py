"""Validates file paths: relative to a directory, and without `..`."""

from __future__ import annotations

from probate.api.field_errors import FieldPath, invalid
from probate.kinds.shared.field_checks import Problems


def check_local_path(value: str, path: FieldPath) -> Problems:
    """Validates a relative path without `..`."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from check_backsteps(value, path)


def check_file_path(value: str, path: FieldPath) -> Problems:
    """Validates the path of a projected file: relative, without `..`, and its first name must not start with `..`."""
    yield from check_local_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def check_backsteps(value: str, path: FieldPath) -> Problems:
    """Validates that a path has no `..` element."""
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")
