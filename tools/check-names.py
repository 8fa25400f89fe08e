#!/usr/bin/env python3
"""Checks the names of modules and the size of folders: `make check` runs it. Exits with 1 and one line per problem.

    tools/check-names.py          checks src/probate
    tools/check-names.py FOLDER   checks another tree (the tests of this script plant violations)

The rules:
- A module is a noun: a name that ends in `ing` is refused unless it is one of the field's own nouns.
- Vague or unusual names on a list are refused; the message says what to write instead.
- Within one top-level package, a bare name is used once. The exception are roles that every kind, engine or controller has: there
  the folder says to what the module belongs.
- A folder has at most 15 modules.
- Every package and module of the top two levels has an entry in docs/glossary.md.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "probate"
GLOSSARY = ROOT / "docs" / "glossary.md"
MOST_MODULES = 15

BANNED = {
    "carrying": "executor",
    "circles": "cycles",
    "control": "controllers",
    "crew": "controllers",
    "doers": "actors",
    "doings": "bulk_events",
    "emptiness": "omitempty",
    "exchange": "request_cycle",
    "falls": "deletion_causes",
    "figures": "metrics",
    "frugal": "protocol",
    "furniture": "bootstrap",
    "gate": "acceptor",
    "growth": "volume_expansion",
    "heads": "header_cache",
    "kinship": "ownership_api",
    "knots": "cycle_breaker",
    "lately": "value_cache",
    "leaving": "release",
    "lifelines": "owner_reference_permissions",
    "machinery": "lib, api or kinds",
    "machines": "cloud_node_lifecycle",
    "means": "context",
    "moments": "timestamps",
    "oddities": "field_validation",
    "places": "storage_keys",
    "preparation": "strategy",
    "recent": "generational_cache",
    "refusals": "api_errors",
    "residents": "namespace_defaults",
    "room": "pod_resources",
    "rooms": "memory_limits",
    "shaping": "responses",
    "sightings": "metadata_view",
    "strays": "cross_namespace",
    "telling": "action_log",
    "together": "bulk_writes",
    "utils": "the noun of what is in it",
    "voices": "events",
    "wire": "codec",
    "world": "backend",
}
NOUNS_IN_ING = {
    "autoscaling": "an API group",
    "binding": "a kind",
    "networking": "an API group",
    "routing": "what HTTP servers call it",
    "scheduling": "an API group",
}
ROLES = {
    "kinds": {
        "columns",
        "conversion",
        "defaults",
        "registration",
        "status_validation",
        "strategy",
        "validation",
        "warnings",
    },
    "controllers": {"controller", "decide"},
    "store": {"compaction", "reads", "store", "store_check", "writes"},
}
"""Bare names that may repeat within a package, since the folder says whose they are."""


def modules(folder: Path) -> list[Path]:
    """Returns the modules of a tree, without generated code."""
    return sorted(path for path in folder.rglob("*.py") if not path.stem.endswith("_pb2"))


def problems(folder: Path, glossary: str) -> Iterator[str]:
    """Yields every violation as a sentence."""
    for path in modules(folder):
        yield from _name_problems(path.relative_to(folder))
    yield from _size_problems(folder)
    yield from _repeated_names(folder)
    yield from _missing_entries(folder, glossary)


def _name_problems(path: Path) -> Iterator[str]:
    for part in {path.stem if path.stem != "__init__" else path.parent.name}:
        if part in BANNED:
            yield f"{path}: do not call a module `{part}`; write {BANNED[part]}"
        if part.rsplit("_", 1)[-1].endswith("ing") and part not in NOUNS_IN_ING:
            yield f"{path}: a module is a noun, `{part}` is not"


def _size_problems(folder: Path) -> Iterator[str]:
    for place in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        number = sum(path.stem != "__init__" for path in place.glob("*.py"))
        if number > MOST_MODULES:
            yield f"{place.relative_to(folder)}: {number} modules; a folder has at most {MOST_MODULES}"


def _repeated_names(folder: Path) -> Iterator[str]:
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in modules(folder):
        relative = path.relative_to(folder)
        if path.stem != "__init__" and path.stem not in ROLES.get(relative.parts[0], ()):
            seen[relative.parts[0], path.stem].append(str(relative))
    for (_, name), paths in seen.items():
        if len(paths) > 1:
            yield f"{', '.join(paths)}: `{name}` does not say of what"


def _missing_entries(folder: Path, glossary: str) -> Iterator[str]:
    for path in sorted(folder.glob("*")) + sorted(folder.glob("*/*")):
        is_module = path.suffix == ".py" and path.stem not in ("__init__", "__main__")
        is_package = (path / "__init__.py").exists()
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        if (is_module or is_package) and f"`{name}`" not in glossary:
            yield f"docs/glossary.md has no entry for `{name}`"


def main(arguments: list[str]) -> int:
    """Prints the problems and returns the exit code."""
    folder = Path(arguments[0]) if arguments else SOURCES
    found = list(problems(folder, GLOSSARY.read_text() if not arguments else (folder / "glossary.md").read_text()))
    print("\n".join(found) or "names: no problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
