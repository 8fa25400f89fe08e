"""Reads data files beside a module, for packages that may not touch the disk themselves."""

from __future__ import annotations

from pathlib import Path


def read_bytes(module_file: str, name: str) -> bytes:
    """Returns the content of a file beside a module, whose `__file__` is given. (importlib.resources imports much more.)"""
    return Path(module_file).with_name(name).read_bytes()


def read_text(module_file: str, name: str) -> str:
    """Returns the same as text."""
    return read_bytes(module_file, name).decode()
