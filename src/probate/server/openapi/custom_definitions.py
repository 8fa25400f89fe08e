"""Generates the definitions of custom resources from the `openAPIV3Schema` of each served version.

The definition of a kind is the schema of the CustomResourceDefinition plus the standard `apiVersion`, `kind` and `metadata`. In
version 2, everything that the format cannot express becomes more permissive, never stricter, because old clients reject fields
that they do not find: a nullable or int-or-string field has no type, an object that preserves unknown fields lists none, and
`oneOf`, `anyOf`, `allOf` and `not` are omitted. References have the format of version 2 in both versions; `v3` rewrites them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from probate.kinds.builtin import catalog
from probate.server.openapi.definitions import KIND_KEY, JsonSchema, reference

_TEXTS = {"description", "title", "type", "format", "pattern"}
_LIMITS = {"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"}
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_PLAIN = _TEXTS | _LIMITS | _NUMBERS | {"default", "enum", "required"}
_LOGIC = ("allOf", "anyOf", "oneOf")
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"

_HEAD = ("apiVersion", "kind", "metadata")
_ANY_KIND, _ANY_LIST = "io.k8s.api.core.v1.ConfigMap", "io.k8s.api.core.v1.PodList"
"""Built-in kinds from which the descriptions of the fields of all objects and lists are copied, so clients see familiar texts."""


def v2_definitions(crd: dict[str, Any]) -> dict[str, JsonSchema]:
    """Returns the definitions of a CustomResourceDefinition's kinds and lists for the version 2 document."""
    return _definitions(crd, _v2_kind)


def v3_definitions(crd: dict[str, Any]) -> dict[str, JsonSchema]:
    """Returns the same for the version 3 documents."""
    return _definitions(crd, _v3_kind)


def definition_name(group: str, version: str, kind: str) -> str:
    """Returns the definition name of a custom resource: the reversed group, as in `com.example.stable.v1.CronTab`."""
    return ".".join([*reversed(group.split(".")), version, kind])


def _definitions(crd: dict[str, Any], make_kind: Callable[[JsonSchema], JsonSchema]) -> dict[str, JsonSchema]:
    spec = crd["spec"]
    result: dict[str, JsonSchema] = {}
    for version, written in _served(spec):
        kind, list_kind = spec["names"]["kind"], spec["names"].get("listKind", spec["names"]["kind"] + "List")
        name = definition_name(spec["group"], version, kind)
        result[name] = {**make_kind(written), KIND_KEY: [_kind(spec["group"], version, kind)]}
        result[definition_name(spec["group"], version, list_kind)] = _list(name, kind, _kind(spec["group"], version, list_kind))
    return result


def _served(spec: dict[str, Any]) -> Iterator[tuple[str, JsonSchema]]:
    for one in spec["versions"]:
        if one.get("served"):
            written = (one.get("schema") or {}).get("openAPIV3Schema") or {"type": "object", _KEEPS_UNKNOWN: True}
            yield one["name"], {**written, _KEEPS_UNKNOWN: True} if spec.get("preserveUnknownFields") else written


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "kind": kind, "version": version}


def _list(name: str, kind: str, list_kind: dict[str, str]) -> JsonSchema:
    return {
        "description": f"{list_kind['kind']} is a list of {kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_head(_ANY_LIST),
            "items": {"type": "array", "items": reference(name), "description": f"The objects, each a {kind}."},
        },
        KIND_KEY: [list_kind],
    }


def _v2_kind(written: JsonSchema) -> JsonSchema:
    if written.get(_KEEPS_UNKNOWN):
        return {"type": "object", **{key: written[key] for key in ("description",) if key in written}}
    return _with_head(_v2(written))


def _v3_kind(written: JsonSchema) -> JsonSchema:
    return _with_head(_v3(written))


def _with_head(schema: JsonSchema) -> JsonSchema:
    return {**schema, "properties": {**schema.get("properties", {}), **_head(_ANY_KIND)}}


@functools.cache
def _head(like: str) -> JsonSchema:
    """Returns the fields that every object or list has, as this built-in definition describes them."""
    known = catalog.definitions()[like]["properties"]
    return {name: known[name] for name in _HEAD}


def _v2(node: JsonSchema) -> JsonSchema:
    result = _plain(node)
    keeps_unknown = node.get(_KEEPS_UNKNOWN)
    if node.get("nullable"):
        result.pop("type", None)
    elif not keeps_unknown:
        result |= _inside(node, _v2)
        if node.get(_EMBEDDED):
            result = _as_embedded(result)
    if result.get("type") == "array":
        result.setdefault("items", {})  # without items, kubectl rejects the whole document
    return result


def _v3(node: JsonSchema) -> JsonSchema:
    result = _plain(node) | _inside(node, _v3)
    if node.get("nullable"):
        result["nullable"] = True
    result |= {key: [_v3(one) for one in node[key]] for key in _LOGIC if node.get(key)}
    if node.get("not"):
        result["not"] = _v3(node["not"])
    return _as_embedded(result) if node.get(_EMBEDDED) else result


def _plain(node: JsonSchema) -> JsonSchema:
    return {key: value for key, value in node.items() if key in _PLAIN or key.startswith("x-kubernetes-")}


def _inside(node: JsonSchema, shape: Callable[[JsonSchema], JsonSchema]) -> JsonSchema:
    result: JsonSchema = {}
    if node.get("properties"):
        result["properties"] = {name: shape(one) for name, one in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            result[key] = shape(node[key])
    if node.get("additionalProperties") is True:
        result["additionalProperties"] = True
    return result


def _as_embedded(result: JsonSchema) -> JsonSchema:
    """Describes an embedded resource: it has the standard fields, and requires kind and apiVersion."""
    required = dict.fromkeys([*result.get("required", ()), "kind", "apiVersion"])
    return {**_with_head(result), "required": list(required)}
