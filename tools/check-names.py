#!/usr/bin/env python3
"""Checks names and the size of folders: `make check` runs it. Exits with 1 and one line per problem.

    tools/check-names.py          checks src/probate; of tests, bench and tools the names of classes, functions and variables
    tools/check-names.py FOLDER   checks another tree, with the glossary.md in it (the tests of this script plant violations)

The rules:
- A module is a noun: a name that ends in `ing` is refused unless it is one of the field's own nouns.
- Vague or unusual names of modules, classes and functions are refused, and words that only Probate used, as a part of any name.
  The message says what to write instead.
- Within one top-level package, a bare name of a module is used once. The exception are roles that every kind, engine or controller
  has: there the folder says to what the module belongs.
- A folder has at most 15 modules.
- docs/glossary.md has an entry for every package and module of the top two levels, and for every noun of the domain: each public
  class of the modules that define the domain.

tools/names.toml holds the names.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "probate"
ALL_CODE = (SOURCES, ROOT / "tests", ROOT / "bench", ROOT / "tools")
GLOSSARY = ROOT / "docs" / "glossary.md"
NAMES = tomllib.loads((Path(__file__).parent / "names.toml").read_text())
MOST_MODULES = 15
_ENTRY = re.compile(r"^\| ([^|]+?) \|", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


def modules(folder: Path) -> list[Path]:
    """Returns the modules of a tree, without generated code."""
    return sorted(path for path in folder.rglob("*.py") if not path.stem.endswith("_pb2"))


def problems(folder: Path, glossary: str) -> Iterator[str]:
    """Yields every violation of the modules of a package as a sentence."""
    for path in modules(folder):
        yield from _module_problems(path.relative_to(folder))
    yield from _size_problems(folder)
    yield from _repeated_names(folder)
    yield from _missing_modules(folder, glossary)
    yield from _missing_nouns(folder, glossary)


def _module_problems(path: Path) -> Iterator[str]:
    name = path.stem if path.stem != "__init__" else path.parent.name
    if name in NAMES["modules"]:
        yield f"{path}: do not call a module `{name}`; write {NAMES['modules'][name]}"
    if name.rsplit("_", 1)[-1].endswith("ing") and name not in NAMES["nouns"]:
        yield f"{path}: a module is a noun, `{name}` is not"


def _size_problems(folder: Path) -> Iterator[str]:
    for place in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        number = sum(path.stem != "__init__" for path in place.glob("*.py"))
        if number > MOST_MODULES:
            yield f"{place.relative_to(folder)}: {number} modules; a folder has at most {MOST_MODULES}"


def _repeated_names(folder: Path) -> Iterator[str]:
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in modules(folder):
        relative = path.relative_to(folder)
        if path.stem != "__init__" and path.stem not in NAMES["roles"].get(relative.parts[0], ()):
            seen[relative.parts[0], path.stem].append(str(relative))
    for (_, name), paths in seen.items():
        if len(paths) > 1:
            yield f"{', '.join(paths)}: `{name}` does not say of what"


def _missing_modules(folder: Path, glossary: str) -> Iterator[str]:
    for path in sorted(folder.glob("*")) + sorted(folder.glob("*/*")):
        is_module = path.suffix == ".py" and path.stem not in ("__init__", "__main__")
        is_package = (path / "__init__.py").exists()
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        if (is_module or is_package) and f"`{name}`" not in glossary:
            yield f"docs/glossary.md has no entry for `{name}`"


def _missing_nouns(folder: Path, glossary: str) -> Iterator[str]:
    entries = {word.lower() for word in _ENTRY.findall(glossary)}
    for path in filter(Path.exists, (folder / name for name in NAMES["domain"]["modules"])):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            if f"`{node.name}`" not in glossary and not {node.name.lower(), " ".join(_words(node.name))} & entries:
                yield f"{path.relative_to(folder)}:{node.lineno}: docs/glossary.md does not explain `{node.name}`"


def identifier_problems(folder: Path) -> Iterator[str]:
    """Yields every refused name of a class, function, parameter, variable or attribute that the modules of a tree define."""
    for path in modules(folder):
        for node in ast.walk(ast.parse(path.read_text())):
            for problem in _node_problems(node):
                yield f"{path.relative_to(folder.parent)}:{getattr(node, 'lineno', 0)}: {problem}"


def _node_problems(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.ClassDef(name=name):
            return _refused("class", name, _CLASSES)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return _refused("function", name, NAMES["functions"])
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return _refused("variable", name, {})
    return ()


def _refused(what: str, name: str, replacements: dict[str, str]) -> Iterator[str]:
    if replacement := replacements.get(name.strip("_")):
        yield f"do not call a {what} `{name}`; write {replacement}"
        return
    for word in _words(name):
        if replacement := NAMES["words"].get(word):
            yield f"do not write `{word}` in `{name}`; write {replacement}"


def _words(name: str) -> list[str]:
    """Returns the words of a name in snake_case or CamelCase, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def _camel_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


_CLASSES = {_camel_case(name): instead for name, instead in NAMES["modules"].items()} | NAMES["classes"]


def main(arguments: list[str]) -> int:
    """Prints the problems and returns the exit code."""
    package = Path(arguments[0]) if arguments else SOURCES
    glossary = package / "glossary.md" if arguments else GLOSSARY
    found = list(problems(package, glossary.read_text()))
    for folder in [package] if arguments else ALL_CODE:
        found += identifier_problems(folder)
    print("\n".join(found) or "names: no problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
