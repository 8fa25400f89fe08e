"""Policies and bindings that tests write, and how they ask."""

from __future__ import annotations

from typing import Any

from support.in_process_server import House, Told

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
Object = dict[str, Any]


def rules(*resources: str, group: str = "", operations: tuple[str, ...] = ("CREATE", "UPDATE"), **more: Any) -> Object:
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": list(operations), "resources": list(resources), **more}


def policy(name: str = "p", *, match: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"matchConstraints": match or {"resourceRules": [rules("configmaps")]}, **spec}}


def wanting(*expressions: str, **spec: Any) -> Object:
    return policy(validations=[{"expression": one} for one in expressions], **spec)


def binding(name: str = "b", to: str = "p", **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"policyName": to, "validationActions": ["Deny"], **spec}}


def changing(*expressions: str, name: str = "p", is_patch: bool = False, **spec: Any) -> Object:
    kind, field = ("JSONPatch", "jsonPatch") if is_patch else ("ApplyConfiguration", "applyConfiguration")
    mutations = [{"patchType": kind, field: {"expression": one}} for one in expressions]
    return policy(name, mutations=mutations, **{"reinvocationPolicy": "Never", **spec})


async def write(house: House, plural: str, object_: Object) -> Told:
    return await house.ask("POST", f"{REGISTRATION}/{plural}", object_)


async def validating(house: House, made: Object, *bindings: Object) -> None:
    told = await write(house, "validatingadmissionpolicies", made)
    assert told.code == 201, told.body
    for one in bindings or (binding(to=made["metadata"]["name"]),):
        told = await write(house, "validatingadmissionpolicybindings", one)
        assert told.code == 201, told.body


async def mutating(house: House, made: Object, *bindings: Object) -> None:
    told = await write(house, "mutatingadmissionpolicies", made)
    assert told.code == 201, told.body
    name = made["metadata"]["name"]
    for one in bindings or ({"metadata": {"name": f"{name}-b"}, "spec": {"policyName": name}},):
        told = await write(house, "mutatingadmissionpolicybindings", one)
        assert told.code == 201, told.body


async def create_map(house: House, name: str = "m", **object_: Any) -> Told:
    meta = {"name": name, **object_.pop("metadata", {})}
    return await house.ask("POST", MAPS, {"metadata": meta, **object_})


def refusal(told: Told) -> str:
    """Why it was refused, without what it was."""
    assert told.code >= 400, told.body
    return str(told.json["message"]).partition("denied request: ")[2]
