"""`binding`: a pod gets its node, once and for all."""

from __future__ import annotations

from typing import Any

import orjson

from probate import errors
from probate.machinery import builtin, names, problems, typed
from probate.machinery.problems import Path
from probate.machinery.schema import Schema
from probate.server import negotiation, places, query, reading, refusals, wire, writing
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target

MAX_TRIES = 20
DONE = orjson.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


async def answer(api: Api, request: Request, at: Target, _form: Form) -> Answer:
    """Bind the pod to the node that the body names."""
    options = query.write_options(request.query, "CreateOptions")
    value = reading.parse(await request.read_body(), negotiation.media_type(request.header("content-type"))).value
    node = _node(value, at)
    for _ in range(MAX_TRIES):
        if await _attempt(api, at, node, is_dry_run=options.is_dry_run):
            return Answer(201, DONE)
    raise refusals.changed(at.resource, at.name)


def _node(value: Any, at: Target) -> str:
    if not isinstance(value, dict) or value.get("kind") not in (None, "", "Binding"):
        raise errors.BadRequest("the body must be a Binding")
    binding = typed.Reader(lambda _: None).read(value, builtin.schema("", "v1", "Binding") or Schema())
    if binding.get("metadata", {}).get("name") not in {None, "", at.name}:
        raise errors.BadRequest(f"the body must be a Binding of {at.name}")
    target = binding.get("target", {})
    if target.get("kind") not in {None, "", "Node"}:
        raise refusals.invalid(
            at.resource, at.name, [problems.not_supported(Path("target.kind"), target["kind"], ["Node", "<empty>"])]
        )
    if not target.get("name"):
        raise refusals.invalid(at.resource, at.name, [problems.required(Path("target.name"))])
    if wrong := names.dns_subdomain(target["name"]):
        raise refusals.invalid(at.resource, at.name, [problems.invalid(Path("target.name"), target["name"], wrong[0])])
    return str(target["name"])


async def _attempt(api: Api, at: Target, node: str, *, is_dry_run: bool) -> bool:
    now = await api.store.read(places.of(at.resource, at.namespace or "", at.name))
    if now is None:
        raise refusals.not_found(at.resource, at.name)
    pod = wire.loaded(now, at.resource)
    if pod["metadata"].get("deletionTimestamp"):
        raise refusals.conflict(at.resource, at.name, f"pod {at.name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise refusals.conflict(at.resource, at.name, f"pod {at.name} is already assigned to node {pod['spec']['nodeName']!r}")
    pod["spec"]["nodeName"] = node
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": api.now()}
    others = [one for one in (pod.get("status") or {}).get("conditions") or [] if one.get("type") != "PodScheduled"]
    pod["status"] = {**(pod.get("status") or {}), "conditions": [*others, condition]}
    return await writing.replace(api, at.resource, now, pod, is_dry_run=is_dry_run) is not None
