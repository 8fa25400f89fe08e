"""The functions, classes and methods that a source file defines, for tests of pages that name them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "probate"


@functools.cache
def names_of(path: Path) -> frozenset[str]:
    """Returns the names in a file; a method is `Class.method`."""
    return frozenset(_names_in(ast.parse(path.read_text()).body))


def is_module(name: str) -> bool:
    """Whether a dotted name, relative to `probate`, is a module or a package."""
    path = PACKAGE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def _names_in(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _names_in(node.body, f"{prefix}{node.name}.")
