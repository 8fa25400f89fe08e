"""Every text, list and map of every built-in kind, one at a time, in a good object: what is put there grows to a wanted size.

The fields come from Kubernetes' own OpenAPI definitions, so a new kind or field is tried without a change here. A definition that
several kinds share (a pod's, a selector, metadata) is walked in the first kind that has it.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from fuzzing.oversize_values import UNITS, Make, base64_texts, numbered, texts, wide_map
from probate.api.catalog import Resource
from probate.kinds.builtin import catalog
from support.valid_objects import SAMPLES

Path = tuple[str | int, ...]
MOST_DEPTH = 14


class Field(NamedTuple):
    """A place in an object of a kind, and what makes a value of a wanted size for it."""

    resource: Resource
    path: Path
    shape: str
    make: Make

    @property
    def name(self) -> str:
        return f"{self.resource.kind}.{'.'.join(map(str, self.path))}: {self.shape}"

    def url(self) -> str:
        version = f"apis/{self.resource.api_version}" if self.resource.group else f"api/{self.resource.api_version}"
        return f"/{version}/{'namespaces/default/' if self.resource.is_namespaced else ''}{self.resource.plural}"

    def object(self, size: int) -> dict[str, Any]:
        """A good object of the kind with this field of that size."""
        resource = self.resource
        good = SAMPLES.get((resource.group, resource.version, resource.kind), {})
        object_ = copy.deepcopy({"metadata": {"name": "oversize"}, **good})
        _put(object_, self.path, self.make(size))
        return {"apiVersion": resource.api_version, "kind": resource.kind, **object_}


def fields(shapes: Container[str] | None = None) -> Iterator[Field]:
    """Every field of every kind that can be created, with texts of these shapes, or of all."""
    return (one for one in _all() if shapes is None or one.shape not in UNITS or one.shape in shapes)


def _all() -> Iterator[Field]:
    seen: set[str] = set()
    for resource in catalog.load():
        name = catalog.definition_name(resource.group, resource.version, resource.kind)
        if name is not None and "create" in resource.verbs:
            yield from _fields(resource, {"$ref": f"#/definitions/{name}"}, (), seen=seen)


def _fields(resource: Resource, schema: dict[str, Any], path: Path, *, seen: set[str]) -> Iterator[Field]:
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference:
        if reference in seen or len(path) > MOST_DEPTH:
            return
        seen.add(reference)
        schema = catalog.definitions()[reference]
    if path in {("apiVersion",), ("kind",)}:
        return
    yield from (Field(resource, path, shape, make) for shape, make in _values(schema))
    for name, part in schema.get("properties", {}).items():
        yield from _fields(resource, part, (*path, name), seen=seen)
    if schema.get("type") == "array":
        yield from _fields(resource, schema["items"], (*path, 0), seen=seen)
    if "additionalProperties" in schema:
        yield from _fields(resource, schema["additionalProperties"], (*path, "oversize"), seen=seen)


def _values(schema: dict[str, Any]) -> Iterator[tuple[str, Make]]:
    match schema.get("type"):
        case "string" if schema.get("format") == "byte":
            yield from base64_texts()
        case "string":
            yield from texts()
        case "array":
            yield "many items", lambda size: _items(schema["items"], size)
        case "object" if "additionalProperties" in schema:
            value = _least(schema["additionalProperties"], 1)
            yield "many keys", lambda size: wide_map(value, size)


def _items(schema: dict[str, Any], size: int) -> list[Any]:
    return numbered(lambda number: _least(schema, number), size, len(str(_least(schema, 1))) + 2)


def _least(schema: dict[str, Any], number: int, depth: int = 0) -> Any:
    """The smallest value of a schema: what is required, each text with the number in it."""
    if "$ref" in schema:
        schema = catalog.definitions()[schema["$ref"].rpartition("/")[2]]
    match schema.get("type"):
        case "string":
            return f"a{number}"
        case "integer" | "number":
            return number
        case "boolean":
            return True
        case "array":
            return []
    properties = schema.get("properties", {})
    wanted = schema.get("required") or list(properties)[:1]
    return {} if depth > 3 else {name: _least(properties[name], number, depth + 1) for name in wanted}


def _put(object_: Any, path: Path, value: Any) -> None:
    at = object_
    for part, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(at, list):
            if not at:
                at.append(empty)
            at = at[0]
        else:
            at = at.setdefault(part, empty)
    if isinstance(at, list):
        at[:1] = [value]
    else:
        at[path[-1]] = value
