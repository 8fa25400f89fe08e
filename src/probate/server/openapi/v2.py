"""The OpenAPI version 2 document ("swagger"): a single document for the whole server.

kubectl before 1.27 supports only this version, and newer ones fall back to it. Two details follow the oldest clients: each
operation contains `dryRun` and `fieldValidation` inline, because these clients do not resolve references of parameters, and no
schema contains `oneOf`, which version 2 does not have.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from probate.api.catalog import Catalog
from probate.server.openapi import parameters, sections
from probate.server.openapi.definitions import Definitions, JsonSchema, reference
from probate.server.openapi.parameters import Parameter
from probate.server.openapi.paths import Operation, PathItem

# Version 2 has no union types: these two are strings, although numbers are also valid.
SCALARS: dict[str, JsonSchema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
}
INLINE = frozenset({"dryRun", "fieldValidation"})
BEARER_TOKEN = {
    "BearerToken": {"type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication"}
}


def document(catalog: Catalog, known: Definitions, *, version: str) -> dict[str, Any]:
    """Returns the document. `known` has the definitions of all kinds in the catalog; unreferenced ones are omitted."""
    items = {path: item for one in sections.of_catalog(catalog).values() for path, item in sections.paths_of(one, known).items()}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": {path: _path_item(item) for path, item in sorted(items.items())},
        "definitions": {name: _definition(name, one) for name, one in known.needed(sections.definitions_of(items)).items()},
        "parameters": {name: _SHARED[name] for name in sorted(parameters.BY_NAME) if name not in INLINE},
        "securityDefinitions": BEARER_TOKEN,
        "security": [{"BearerToken": []}],
    }


def _definition(name: str, schema: JsonSchema) -> JsonSchema:
    if name not in SCALARS:
        return schema
    return {**{key: value for key, value in schema.items() if key != "oneOf"}, **SCALARS[name]}


def _path_item(item: PathItem) -> dict[str, Any]:
    result: dict[str, Any] = {one.method: _operation(one) for one in item.operations}
    if item.parameters:
        result["parameters"] = [_parameter(name) for name in item.parameters]
    return result


def _operation(operation: Operation) -> dict[str, Any]:
    schema = reference(operation.answer) if operation.answer else {"type": "string"}
    result: dict[str, Any] = {
        "description": operation.description,
        "consumes": list(operation.consumes),
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.id,
        "parameters": _parameters(operation),
        "responses": {
            **{str(code): {"description": HTTPStatus(code).phrase, "schema": schema} for code in operation.codes},
            **_UNAUTHORIZED,
        },
    }
    if operation.kind:
        result |= {"x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": operation.kind}
    return result


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    result = [_parameter(name) for name in operation.parameters]
    if operation.body:
        body: dict[str, Any] = {"name": "body", "in": "body", "schema": reference(operation.body)}
        result.insert(0, body | {"required": True} if operation.is_body_required else body)
    return result


def _parameter(name: str) -> dict[str, Any]:
    return _SHARED[name] if name in INLINE else _REFERENCES[name]


def _describe(one: Parameter) -> dict[str, Any]:
    result = {"name": one.name, "in": one.place, "description": one.description, "type": one.type, "uniqueItems": True}
    return result | {"required": True} if one.is_required else result


_SHARED = {name: _describe(one) for name, one in parameters.BY_NAME.items()}
_REFERENCES = {name: {"$ref": f"#/parameters/{name}"} for name in parameters.BY_NAME}
_UNAUTHORIZED = {"401": {"description": "Unauthorized"}}
