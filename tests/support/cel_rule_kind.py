"""A custom kind with rules, and what the server says of its objects. Asked by ASGI, in the test's own process."""

from __future__ import annotations

from typing import Any

from support.in_process_server import House, Told

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"
Schema = dict[str, Any]


def rule(text: str, **more: Any) -> Schema:
    return {"x-kubernetes-validations": [{"rule": text, **more}]}


def definition(spec: Schema, **root: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}, **root}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    about = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.com"}, "spec": about}


def thing(spec: Any, **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", **meta}, "spec": spec}


async def define(house: House, spec: Schema, **root: Any) -> Told:
    return await house.ask("POST", DEFINITIONS, definition(spec, **root))


async def create(house: House, spec: Any) -> Told:
    return await house.ask("POST", THINGS, thing(spec))


async def update(house: House, spec: Any) -> Told:
    now = (await house.ask("GET", f"{THINGS}/a")).json
    return await house.ask("PUT", f"{THINGS}/a", {**now, "spec": spec})


def causes(told: Told) -> list[tuple[str, str]]:
    """Where and what, for each cause of a refusal."""
    assert told.code == 422, told.body
    return [(one["field"], one["message"]) for one in told.json["details"]["causes"]]
