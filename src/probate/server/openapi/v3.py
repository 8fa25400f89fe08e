"""The OpenAPI version 3 documents: an index, and one document per section with only the definitions that it references.

The definitions are those of version 2, rewritten: a reference with siblings becomes an `allOf` with the reference, quantities and
int-or-string become unions of two types, and some defaults are added. The URL of a document contains its hash, so a client never
requests a document again that it already has.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from probate.server.openapi import parameters, sections
from probate.server.openapi.definitions import REFERENCE, Definitions, JsonSchema
from probate.server.openapi.parameters import Parameter
from probate.server.openapi.paths import Operation, PathItem
from probate.server.openapi.sections import Section

COMPONENTS = "#/components/schemas/"
SCALARS: dict[str, JsonSchema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "format": "int-or-string",
    },
}
_RBD = {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"}
_SCALE_IO = {"fsType": "xfs", "storageMode": "ThinProvisioned"}
# Defaults that version 2 does not have. `protocol` is a list map key: an applied port without it has the key TCP.
DEFAULTS: dict[str, dict[str, Any]] = {
    "io.k8s.api.core.v1.AzureDiskVolumeSource": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False},
    "io.k8s.api.core.v1.ContainerPort": {"protocol": "TCP"},
    "io.k8s.api.core.v1.ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "io.k8s.api.core.v1.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "io.k8s.api.core.v1.RBDPersistentVolumeSource": _RBD,
    "io.k8s.api.core.v1.RBDVolumeSource": _RBD,
    "io.k8s.api.core.v1.ReplicationControllerSpec": {"minReadySeconds": 0, "replicas": 1},
    "io.k8s.api.core.v1.ScaleIOPersistentVolumeSource": _SCALE_IO,
    "io.k8s.api.core.v1.ScaleIOVolumeSource": _SCALE_IO,
    "io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"},
}


def index(hashes: Mapping[str, str]) -> dict[str, Any]:
    """Returns the index with the URL of each section's document, given the hashes of these documents."""
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={hash_}"} for name, hash_ in sorted(hashes.items())}}


def document(section: Section, known: Definitions, *, version: str) -> dict[str, Any]:
    """Returns the document of one section."""
    items = sections.paths_of(section, known)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": {path: _path_item(item) for path, item in items.items()},
        "components": {
            "schemas": {name: _component(name, one) for name, one in known.needed(sections.definitions_of(items)).items()},
            "securitySchemes": {
                "BearerToken": {
                    "type": "apiKey",
                    "name": "authorization",
                    "in": "header",
                    "description": "Bearer Token authentication",
                }
            },
        },
    }


def schema(node: JsonSchema) -> JsonSchema:
    """Converts a schema to version 3."""
    result = dict(node)
    if "$ref" in result:
        target = {"$ref": COMPONENTS + result.pop("$ref").removeprefix(REFERENCE)}
        return {**result, "allOf": [target]} if result else target
    if "properties" in result:
        result["properties"] = {name: schema(one) for name, one in result["properties"].items()}
    for key in ("items", "additionalProperties", "not"):
        if isinstance(result.get(key), dict):
            result[key] = schema(result[key])
    for key in ("allOf", "anyOf", "oneOf"):
        if key in result:
            result[key] = [schema(one) for one in result[key]]
    return result


def _component(name: str, node: JsonSchema) -> JsonSchema:
    if name in SCALARS:
        return {**{key: value for key, value in node.items() if key not in {"type", "format"}}, **SCALARS[name]}
    result = schema(node)
    for field, default in DEFAULTS.get(name, {}).items():
        if field in result.get("properties", {}):
            result["properties"][field]["default"] = default
    return result


def _path_item(item: PathItem) -> dict[str, Any]:
    result: dict[str, Any] = {one.method: _operation(one) for one in item.operations}
    if item.parameters:
        result["parameters"] = [_PARAMETERS[name] for name in item.parameters]
    return result


def _operation(operation: Operation) -> dict[str, Any]:
    answer = {"schema": {"$ref": COMPONENTS + operation.answer} if operation.answer else {"type": "string"}}
    content = dict.fromkeys(operation.produces, answer)
    result: dict[str, Any] = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.id,
        "responses": {
            **{str(code): {"description": HTTPStatus(code).phrase, "content": content} for code in operation.codes},
            **_UNAUTHORIZED,
        },
    }
    if operation.parameters:
        result["parameters"] = [_PARAMETERS[name] for name in operation.parameters]
    if operation.body:
        result["requestBody"] = _body(operation)
    if operation.kind:
        result |= {"x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": operation.kind}
    return result


def _body(operation: Operation) -> dict[str, Any]:
    sent = {"schema": {"$ref": COMPONENTS + operation.body}}
    result: dict[str, Any] = {"content": dict.fromkeys(operation.consumes, sent)}
    return result | {"required": True} if operation.is_body_required else result


def _describe(one: Parameter) -> dict[str, Any]:
    result = {"name": one.name, "in": one.place, "description": one.description, "schema": {"type": one.type, "uniqueItems": True}}
    return result | {"required": True} if one.is_required else result


_PARAMETERS = {name: _describe(one) for name, one in parameters.BY_NAME.items()}
_UNAUTHORIZED = {"401": {"description": "Unauthorized"}}
