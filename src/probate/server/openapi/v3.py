"""The OpenAPI documents of version 3: an index, and one document for each section, holding just what that section needs.

The kinds' definitions are those of version 2, rewritten: a reference with anything beside it becomes `allOf` around the
reference, quantities and int-or-string say that they are one of two types, and a few defaults are known.
The address of a document carries its hash, so that a client that has it never asks again.
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
# Defaults that the definitions of version 2 do not have. The protocols are keys of lists: an applied port without one is TCP's.
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
    """Where the document of each section is, given the hashes of these documents."""
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={hash_}"} for name, hash_ in sorted(hashes.items())}}


def document(section: Section, known: Definitions, *, version: str) -> dict[str, Any]:
    """One section's document."""
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
    """A schema as version 3 writes it."""
    made = dict(node)
    if "$ref" in made:
        target = {"$ref": COMPONENTS + made.pop("$ref").removeprefix(REFERENCE)}
        return {**made, "allOf": [target]} if made else target
    if "properties" in made:
        made["properties"] = {name: schema(one) for name, one in made["properties"].items()}
    for key in ("items", "additionalProperties", "not"):
        if isinstance(made.get(key), dict):
            made[key] = schema(made[key])
    for key in ("allOf", "anyOf", "oneOf"):
        if key in made:
            made[key] = [schema(one) for one in made[key]]
    return made


def _component(name: str, node: JsonSchema) -> JsonSchema:
    if name in SCALARS:
        return {**{key: value for key, value in node.items() if key not in {"type", "format"}}, **SCALARS[name]}
    made = schema(node)
    for field, default in DEFAULTS.get(name, {}).items():
        if field in made.get("properties", {}):
            made["properties"][field]["default"] = default
    return made


def _path_item(item: PathItem) -> dict[str, Any]:
    made: dict[str, Any] = {one.method: _operation(one) for one in item.operations}
    if item.parameters:
        made["parameters"] = [_PARAMETERS[name] for name in item.parameters]
    return made


def _operation(operation: Operation) -> dict[str, Any]:
    answer = {"schema": {"$ref": COMPONENTS + operation.answer} if operation.answer else {"type": "string"}}
    content = dict.fromkeys(operation.produces, answer)
    made: dict[str, Any] = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.id,
        "responses": {
            **{str(code): {"description": HTTPStatus(code).phrase, "content": content} for code in operation.codes},
            **_REFUSED,
        },
    }
    if operation.parameters:
        made["parameters"] = [_PARAMETERS[name] for name in operation.parameters]
    if operation.body:
        made["requestBody"] = _body(operation)
    if operation.kind:
        made |= {"x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": operation.kind}
    return made


def _body(operation: Operation) -> dict[str, Any]:
    sent = {"schema": {"$ref": COMPONENTS + operation.body}}
    made: dict[str, Any] = {"content": dict.fromkeys(operation.consumes, sent)}
    return made | {"required": True} if operation.is_body_required else made


def _shown(one: Parameter) -> dict[str, Any]:
    made = {"name": one.name, "in": one.place, "description": one.description, "schema": {"type": one.type, "uniqueItems": True}}
    return made | {"required": True} if one.is_required else made


_PARAMETERS = {name: _shown(one) for name, one in parameters.BY_NAME.items()}
_REFUSED = {"401": {"description": "Unauthorized"}}
