"""What the tests in `threats` share: the rights of an attacker, the objects that it writes, and the ways to write them."""

from __future__ import annotations

import asyncio
from typing import Any

from probate.api.objects import Object
from support.in_process_server import Response
from support.rbac_server import RbacServer

CORE = "/api/v1/namespaces/a"
MAPS = f"{CORE}/configmaps"
PODS = f"{CORE}/pods"
SECRETS = f"{CORE}/secrets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/a/deployments"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
GONE = "00000000-dead-4000-8000-000000000000"
"""The uid of an owner that does not exist."""


def rbac_rule(verbs: str, *resources: str, group: str = "", **fields: Any) -> Object:
    """Returns an RBAC rule."""
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": list(resources), **fields}


def owner_reference(owner: Object, **fields: Any) -> Object:
    metadata = owner["metadata"]
    fixed = {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"]}
    return {**fixed, **fields}


def missing_owner_reference(**fields: Any) -> Object:
    """Returns a reference to an owner that does not exist."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": GONE, **fields}


def config_map(name: str, **meta: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}


def pod(name: str, *, meta: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name, **(meta or {})}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def deployment(name: str) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


async def write_metadata(server: RbacServer, user: str, path: str, *, meta: Object) -> dict[str, Response]:
    """Writes these metadata of an existing object by every method. Returns the response to each."""
    current = (await server.request("GET", path)).json
    updated = {**current, "metadata": {**current["metadata"], **meta}}
    document = {
        "apiVersion": current["apiVersion"],
        "kind": current["kind"],
        "metadata": {"name": current["metadata"]["name"], **meta},
    }
    steps = [{"op": "add", "path": f"/metadata/{name}", "value": value} for name, value in meta.items()]
    forced = {"fieldManager": user, "force": "true"}
    return {
        "update": await server.ask_as(user, "PUT", path, body=updated),
        "merge": await server.ask_as(user, "PATCH", path, body={"metadata": meta}, media=MERGE),
        "strategic": await server.ask_as(
            user, "PATCH", path, body={"metadata": meta}, media="application/strategic-merge-patch+json"
        ),
        "json": await server.ask_as(user, "PATCH", path, body=steps, media="application/json-patch+json"),
        "apply": await server.ask_as(user, "PATCH", path, body=document, media=APPLY, query=forced),
    }


def codes(responses: dict[str, Response]) -> dict[str, int]:
    return {method: response.code for method, response in responses.items()}


async def exists_after_collection(server: RbacServer, path: str) -> bool:
    """Returns whether the object exists once the collector is idle."""
    await server.wait_until_idle()
    return (await server.request("GET", path)).code == 200


async def until_gone(server: RbacServer, path: str, *, tries: int = 2_000) -> bool:
    for _ in range(tries):
        if (await server.request("GET", path)).code == 404:
            return True
        await asyncio.sleep(0)
    return False
