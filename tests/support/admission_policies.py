"""Builds admission policies and bindings, and creates them on a server."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from support.in_process_server import InProcessServer, Response

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def rules(*resources: str, group: str = "", operations: tuple[str, ...] = ("CREATE", "UPDATE"), **more: Any) -> Object:
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": list(operations), "resources": list(resources), **more}


def policy(name: str = "p", *, match: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"matchConstraints": match or {"resourceRules": [rules("configmaps")]}, **spec}}


def validating_policy(*expressions: str, **spec: Any) -> Object:
    return policy(validations=[{"expression": expression} for expression in expressions], **spec)


def binding(name: str = "b", to: str = "p", **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"policyName": to, "validationActions": ["Deny"], **spec}}


def mutating_policy(*expressions: str, name: str = "p", is_patch: bool = False, **spec: Any) -> Object:
    kind, field = ("JSONPatch", "jsonPatch") if is_patch else ("ApplyConfiguration", "applyConfiguration")
    mutations = [{"patchType": kind, field: {"expression": expression}} for expression in expressions]
    return policy(name, mutations=mutations, **{"reinvocationPolicy": "Never", **spec})


async def create_registration(server: InProcessServer, plural: str, object_: Object) -> Response:
    return await server.request("POST", f"{REGISTRATION}/{plural}", object_)


async def create_validating(server: InProcessServer, policy_object: Object, *bindings: Object) -> None:
    response = await create_registration(server, "validatingadmissionpolicies", policy_object)
    assert response.code == 201, response.body
    for binding_object in bindings or (binding(to=policy_object["metadata"]["name"]),):
        response = await create_registration(server, "validatingadmissionpolicybindings", binding_object)
        assert response.code == 201, response.body


async def create_mutating(server: InProcessServer, policy_object: Object, *bindings: Object) -> None:
    response = await create_registration(server, "mutatingadmissionpolicies", policy_object)
    assert response.code == 201, response.body
    name = policy_object["metadata"]["name"]
    for binding_object in bindings or ({"metadata": {"name": f"{name}-b"}, "spec": {"policyName": name}},):
        response = await create_registration(server, "mutatingadmissionpolicybindings", binding_object)
        assert response.code == 201, response.body


async def create_map(server: InProcessServer, name: str = "m", **object_: Any) -> Response:
    meta = {"name": name, **object_.pop("metadata", {})}
    return await server.request("POST", MAPS, {"metadata": meta, **object_})


def denial_message(response: Response) -> str:
    """Returns the policy's message, without the text that Kubernetes puts before it."""
    assert response.code >= 400, response.body
    return str(response.json["message"]).partition("denied request: ")[2]
