"""An index of the definitions of a document: the definition of each kind, and the definitions that others reference.

A definition is a named schema: `io.k8s.api.core.v1.Pod`. Definitions of kinds contain `x-kubernetes-group-version-kind`, which is
the only mapping from a resource to its definition; names are never parsed. References are `#/definitions/<name>` throughout, for
version 3 documents too: `v3` rewrites them last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

JsonSchema: TypeAlias = dict[str, Any]

REFERENCE = "#/definitions/"
KIND_KEY = "x-kubernetes-group-version-kind"

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
STATUS = META + "Status"
DELETE_OPTIONS = META + "DeleteOptions"
PATCH = META + "Patch"


def reference(name: str) -> JsonSchema:
    """Returns a schema that references the definition with this name."""
    return {"$ref": REFERENCE + name}


class Definitions:
    """Named schemas; finds the definition of a kind or of its list, and all definitions that a set of definitions references."""

    def __init__(self, schemas: Mapping[str, JsonSchema]) -> None:
        self.schemas = schemas
        self._names: dict[tuple[str, str, str], str] = {}
        self._lists: dict[str, str] = {}
        self._references: dict[str, tuple[str, ...]] = {}
        for name, schema in schemas.items():
            self._index(name, schema)

    def name(self, group: str, version: str, kind: str) -> str:
        """Returns the definition name of a kind; empty if it has none, as for the options of exec and proxy."""
        return self._names.get((group, version, kind), "")

    def list_name(self, name: str) -> str:
        """Returns the name of the list whose items have this definition; empty if there is none."""
        return self._lists.get(name, "")

    def needed(self, names: Iterable[str]) -> dict[str, JsonSchema]:
        """Returns these definitions and all that they reference, directly or indirectly, sorted by name."""
        found: set[str] = set()
        pending = [name for name in names if name in self.schemas]
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending.extend(self._referenced(name))
        return {name: self.schemas[name] for name in sorted(found)}

    def _index(self, name: str, schema: JsonSchema) -> None:
        kinds = schema.get(KIND_KEY, ())
        for one in kinds:
            self._names.setdefault((one["group"], one["version"], one["kind"]), name)
        items = schema.get("properties", {}).get("items", {}).get("items", {})
        if kinds and "$ref" in items:
            self._lists.setdefault(items["$ref"].removeprefix(REFERENCE), name)

    def _referenced(self, name: str) -> tuple[str, ...]:
        if name not in self._references:
            referred = (one.removeprefix(REFERENCE) for one in references(self.schemas[name]))
            self._references[name] = tuple(one for one in dict.fromkeys(referred) if one in self.schemas)
        return self._references[name]


def references(schema: JsonSchema) -> Iterator[str]:
    """Yields all references in a schema. Visits only subschemas, so a field named `$ref` does not count."""
    if "$ref" in schema:
        yield schema["$ref"]
    for one in parts(schema):
        yield from references(one)


def parts(schema: JsonSchema) -> Iterator[JsonSchema]:
    """Yields the direct subschemas."""
    yield from schema.get("properties", {}).values()
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), dict):
            yield schema[key]
    for key in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(key, ())
