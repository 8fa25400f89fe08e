"""The definitions of custom resources, from the `openAPIV3Schema` of each version that is served.

The kind's definition is the schema as written, with `apiVersion`, `kind` and `metadata` as every object has them. In version 2
whatever that version cannot say becomes more permissive, never less, since old clients refuse what they do not find: a field that
may be null or is int-or-string has no type, an object that keeps unknown fields lists none, and `oneOf`, `anyOf`, `allOf` and
`not` are gone. References are written as version 2 writes them in both; `v3` rewrites them.
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
"""Built-in ones, of which what all objects and lists have is described in the words that clients know."""


def v2_definitions(crd: dict[str, Any]) -> dict[str, JsonSchema]:
    """The definitions of a CustomResourceDefinition's kinds and lists for the document of version 2."""
    return _definitions(crd, _v2_kind)


def v3_definitions(crd: dict[str, Any]) -> dict[str, JsonSchema]:
    """The same for the documents of version 3."""
    return _definitions(crd, _v3_kind)


def definition_name(group: str, version: str, kind: str) -> str:
    """What the definition of a custom kind is called: the group backwards, as in `com.example.stable.v1.CronTab`."""
    return ".".join([*reversed(group.split(".")), version, kind])


def _definitions(crd: dict[str, Any], make_kind: Callable[[JsonSchema], JsonSchema]) -> dict[str, JsonSchema]:
    spec = crd["spec"]
    made: dict[str, JsonSchema] = {}
    for version, written in _served(spec):
        kind, list_kind = spec["names"]["kind"], spec["names"].get("listKind", spec["names"]["kind"] + "List")
        name = definition_name(spec["group"], version, kind)
        made[name] = {**make_kind(written), KIND_KEY: [_kind(spec["group"], version, kind)]}
        made[definition_name(spec["group"], version, list_kind)] = _list(name, kind, _kind(spec["group"], version, list_kind))
    return made


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
    """What every object or list has, as this definition describes it."""
    known = catalog.definitions()[like]["properties"]
    return {name: known[name] for name in _HEAD}


def _v2(node: JsonSchema) -> JsonSchema:
    made = _plain(node)
    keeps_unknown = node.get(_KEEPS_UNKNOWN)
    if node.get("nullable"):
        made.pop("type", None)
    elif not keeps_unknown:
        made |= _inside(node, _v2)
        if node.get(_EMBEDDED):
            made = _as_embedded(made)
    if made.get("type") == "array":
        made.setdefault("items", {})  # without, kubectl refuses the whole document
    return made


def _v3(node: JsonSchema) -> JsonSchema:
    made = _plain(node) | _inside(node, _v3)
    if node.get("nullable"):
        made["nullable"] = True
    made |= {key: [_v3(one) for one in node[key]] for key in _LOGIC if node.get(key)}
    if node.get("not"):
        made["not"] = _v3(node["not"])
    return _as_embedded(made) if node.get(_EMBEDDED) else made


def _plain(node: JsonSchema) -> JsonSchema:
    return {key: value for key, value in node.items() if key in _PLAIN or key.startswith("x-kubernetes-")}


def _inside(node: JsonSchema, shape: Callable[[JsonSchema], JsonSchema]) -> JsonSchema:
    made: JsonSchema = {}
    if node.get("properties"):
        made["properties"] = {name: shape(one) for name, one in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            made[key] = shape(node[key])
    if node.get("additionalProperties") is True:
        made["additionalProperties"] = True
    return made


def _as_embedded(made: JsonSchema) -> JsonSchema:
    """An object within an object: it has a head of its own, and must say what it is."""
    required = dict.fromkeys([*made.get("required", ()), "kind", "apiVersion"])
    return {**_with_head(made), "required": list(required)}
