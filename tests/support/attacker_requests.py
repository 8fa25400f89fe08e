"""What those who attack in `threats` have in common: what they are allowed, what they write, and how they write it."""

from __future__ import annotations

import asyncio
from typing import Any

from support.in_process_server import Told
from support.rbac_server import Guarded

CORE = "/api/v1/namespaces/a"
MAPS = f"{CORE}/configmaps"
PODS = f"{CORE}/pods"
SECRETS = f"{CORE}/secrets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/a/deployments"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
GONE = "00000000-dead-4000-8000-000000000000"
"""The uid of nobody."""

Object = dict[str, Any]


def may(verbs: str, *resources: str, group: str = "", **more: Any) -> Object:
    """A rule."""
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": list(resources), **more}


def reference(owner: Object, **other: Any) -> Object:
    about = owner["metadata"]
    said = {"apiVersion": "v1", "kind": "ConfigMap", "name": about["name"], "uid": about["uid"]}
    return {**said, **other}


def nobody(**other: Any) -> Object:
    """A reference to an owner that is gone."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": GONE, **other}


def config_map(name: str, **meta: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}


def pod(name: str, *, meta: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name, **(meta or {})}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def deployment(name: str) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


async def rewrite(house: Guarded, who: str, path: str, meta: Object) -> dict[str, Told]:
    """Write these metadata of an object that is there, in all ways there are: what is said to each."""
    now = (await house.ask("GET", path)).json
    whole = {**now, "metadata": {**now["metadata"], **meta}}
    document = {"apiVersion": now["apiVersion"], "kind": now["kind"], "metadata": {"name": now["metadata"]["name"], **meta}}
    steps = [{"op": "add", "path": f"/metadata/{name}", "value": value} for name, value in meta.items()]
    forced = {"fieldManager": who, "force": "true"}
    return {
        "update": await house.ask_as(who, "PUT", path, whole),
        "merge": await house.ask_as(who, "PATCH", path, {"metadata": meta}, media=MERGE),
        "strategic": await house.ask_as(who, "PATCH", path, {"metadata": meta}, media="application/strategic-merge-patch+json"),
        "json": await house.ask_as(who, "PATCH", path, steps, media="application/json-patch+json"),
        "apply": await house.ask_as(who, "PATCH", path, document, media=APPLY, query=forced),
    }


def codes(told: dict[str, Told]) -> dict[str, int]:
    return {way: one.code for way, one in told.items()}


async def is_there(house: Guarded, path: str) -> bool:
    """Whether it is there once the collector has nothing left to do."""
    await house.rest()
    return (await house.ask("GET", path)).code == 200


async def until_gone(house: Guarded, path: str, *, tries: int = 2_000) -> bool:
    for _ in range(tries):
        if (await house.ask("GET", path)).code == 404:
            return True
        await asyncio.sleep(0)
    return False
