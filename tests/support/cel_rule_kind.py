"""A custom kind with CEL validation rules, and requests for its objects."""

from __future__ import annotations

from typing import Any

from support.in_process_server import InProcessServer, Response

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"
Schema = dict[str, Any]


def rule(text: str, **fields: Any) -> Schema:
    return {"x-kubernetes-validations": [{"rule": text, **fields}]}


def definition(spec: Schema, **root: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}, **root}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    crd_spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.com"}, "spec": crd_spec}


def thing(spec: Any, **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", **meta}, "spec": spec}


async def define(server: InProcessServer, spec: Schema, **root: Any) -> Response:
    return await server.request("POST", DEFINITIONS, definition(spec, **root))


async def create(server: InProcessServer, spec: Any) -> Response:
    return await server.request("POST", THINGS, thing(spec))


async def update(server: InProcessServer, spec: Any) -> Response:
    current = (await server.request("GET", f"{THINGS}/a")).json
    return await server.request("PUT", f"{THINGS}/a", {**current, "spec": spec})


def causes(response: Response) -> list[tuple[str, str]]:
    """Returns the field and message of each cause of a 422 response."""
    assert response.code == 422, response.body
    return [(one["field"], one["message"]) for one in response.json["details"]["causes"]]
