"""What the definitions of a document say about one another: which is whose, and which are needed.

A definition is a named schema: `io.k8s.api.core.v1.Pod`. The kinds among them say so in `x-kubernetes-group-version-kind`, which
is the only way from a resource to its definition; names are never taken apart. References are `#/definitions/<name>` throughout,
also where a document of version 3 is made: `v3` rewrites them last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

JsonSchema: TypeAlias = dict[str, Any]

REFERENCE = "#/definitions/"
KIND_KEY = "x-kubernetes-group-version-kind"

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
OBJECT_META = META + "ObjectMeta"
LIST_META = META + "ListMeta"
STATUS = META + "Status"
DELETE_OPTIONS = META + "DeleteOptions"
PATCH = META + "Patch"


def reference(name: str) -> JsonSchema:
    """A schema that is the one of this name."""
    return {"$ref": REFERENCE + name}


class Definitions:
    """Named schemas that can be asked for a kind's, a kind's list's, and for all that a few of them need."""

    def __init__(self, schemas: Mapping[str, JsonSchema]) -> None:
        self.schemas = schemas
        self._names: dict[tuple[str, str, str], str] = {}
        self._lists: dict[str, str] = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        for name, schema in schemas.items():
            self._enter(name, schema)

    def name(self, group: str, version: str, kind: str) -> str:
        """The name of the kind's definition; empty when there is none, as for what exec and proxy are sent."""
        return self._names.get((group, version, kind), "")

    def list_name(self, name: str) -> str:
        """The name of the list whose items are of this definition; empty when there is none."""
        return self._lists.get(name, "")

    def needed(self, names: Iterable[str]) -> dict[str, JsonSchema]:
        """These definitions and all that they refer to, however far, in the order of their names."""
        found: set[str] = set()
        waiting = [name for name in names if name in self.schemas]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self._referred(name))
        return {name: self.schemas[name] for name in sorted(found)}

    def _enter(self, name: str, schema: JsonSchema) -> None:
        kinds = schema.get(KIND_KEY, ())
        for one in kinds:
            self._names.setdefault((one["group"], one["version"], one["kind"]), name)
        items = schema.get("properties", {}).get("items", {}).get("items", {})
        if kinds and "$ref" in items:
            self._lists.setdefault(items["$ref"].removeprefix(REFERENCE), name)

    def _referred(self, name: str) -> tuple[str, ...]:
        if name not in self._needs:
            referred = (one.removeprefix(REFERENCE) for one in references(self.schemas[name]))
            self._needs[name] = tuple(one for one in dict.fromkeys(referred) if one in self.schemas)
        return self._needs[name]


def references(schema: JsonSchema) -> Iterator[str]:
    """All references in a schema. A field that happens to be called `$ref` is none: only schemas are looked at."""
    if "$ref" in schema:
        yield schema["$ref"]
    for one in parts(schema):
        yield from references(one)


def parts(schema: JsonSchema) -> Iterator[JsonSchema]:
    """The schemas directly inside a schema."""
    yield from schema.get("properties", {}).values()
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), dict):
            yield schema[key]
    for key in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(key, ())
