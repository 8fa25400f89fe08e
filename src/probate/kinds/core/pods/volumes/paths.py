"""Paths of files: below some directory, and never upwards."""

from __future__ import annotations

from probate.api.field_errors import Path, invalid
from probate.kinds.shared.field_checks import Problems


def check_local_path(value: str, path: Path) -> Problems:
    """A path below some directory: relative, and never upwards."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from check_backsteps(value, path)


def check_file_path(value: str, path: Path) -> Problems:
    """A path of a file that is written into a volume, where names with `..` before them are the writer's own."""
    yield from check_local_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def check_backsteps(value: str, path: Path) -> Problems:
    """A path that never goes upwards."""
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")
