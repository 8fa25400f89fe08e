"""`binding`: a pod gets its node, once and for all. Sent to the pod, or to `bindings`, where the body names the pod too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from probate.api import field_errors, metadata, names
from probate.api.documents import Document
from probate.api.field_errors import Path, Problem
from probate.api.schema.node import Schema
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.admission import phases, pod_topology_labels
from probate.server.admission.attributes import Act
from probate.server.codec import negotiation, object_codec, request_body
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import path_identity, write
from probate.server.request import Request, Target
from probate.server.storage import storage_keys

Object = dict[str, Any]

MAX_TRIES = 20
_METADATA = Path("metadata")
DONE = orjson.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


async def answer(api: Api, request: Request, at: Target, _form: Form) -> Answer:
    """Bind the pod to the node that the body names."""
    return await _bind(api, request, at, *await _read(api, request))


async def create(api: Api, request: Request, at: Target, _form: Form) -> Answer:
    """Bind the pod that the body names, as well as the node."""
    binding, warnings = await _read(api, request)
    pods, name = api.catalog.find("", "v1", "pods"), binding["metadata"].get("name")
    if pods is None or not name:
        raise errors.BadRequest("the Binding must name the pod in metadata.name")
    return await _bind(api, request, Target(pods, at.namespace, name, "binding"), binding, warnings)


async def _read(api: Api, request: Request) -> request_body.Read:
    how = query.write_options(request.query, "CreateOptions").field_validation
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    document = await api.apart(len(body), lambda: request_body.parse(body, media, finds_duplicates=how != "Ignore"))
    value = document.value
    if not isinstance(value, dict) or value.get("kind") not in (None, "", "Binding"):
        raise errors.BadRequest("the body must be a Binding")
    if value.get("apiVersion") not in (None, "", "v1"):
        raise errors.BadRequest(f"the body must be a Binding of v1, not of {str(value['apiVersion'])[:100]}")
    return _typed(document, media, how)


def _typed(document: Document, media: str, field_validation: str) -> request_body.Read:
    read = request_body.command(document, media, catalog.schema("", "v1", "Binding") or Schema(), field_validation)
    return read._replace(object={"metadata": {}, "target": {}, **read.object})


async def _bind(api: Api, request: Request, at: Target, binding: Object, warnings: tuple[str, ...]) -> Answer:
    options = query.write_options(request.query, "CreateOptions")
    if binding["metadata"].get("name") not in {None, "", at.name}:
        raise errors.BadRequest(f"the body must be a Binding of {at.name}")
    path_identity.check_namespace(binding["metadata"], at)
    if wrong := list(_problems(binding["target"])):
        raise api_errors.invalid(at.resource, at.name, wrong)
    act = Act(request.user, options)
    about = {"kind": "Binding", "apiVersion": "v1", "metadata": await _metadata(api, at, binding)}
    admitted = await phases.check_command(api, at, {**binding, **about}, act)
    binding = _typed(Document(admitted, []), negotiation.JSON, "Ignore").object
    if wrong := [*_problems(binding["target"]), *_problems_of_notes(binding["metadata"])]:
        raise api_errors.invalid(at.resource, at.name, wrong)
    for _ in range(MAX_TRIES):
        if await _attempt(api, at, binding, is_dry_run=options.is_dry_run):
            return Answer(201, DONE, warnings=warnings + act.warnings)
    raise api_errors.changed(at.resource, at.name)


async def _metadata(api: Api, at: Target, binding: Object) -> Object:
    """Of the Binding: what the scheduler notes, and where the node is."""
    meta, target = {**binding["metadata"], "name": at.name, "namespace": at.namespace}, binding["target"]
    if target.get("kind") == "Node" and target.get("name") and (found := await pod_topology_labels.labels_of(api, target["name"])):
        meta["labels"] = {**(meta.get("labels") or {}), **found}
    return meta


def _problems(target: Object) -> Iterator[Problem]:
    """What is wrong with the node that is named. A pod with one that no node can have could never be changed again."""
    if target.get("kind") not in {None, "", "Node"}:
        yield field_errors.not_supported(Path("target.kind"), target["kind"], ["Node", "<empty>"])
    if not target.get("name"):
        yield field_errors.required(Path("target.name"))
    elif wrong := names.dns_subdomain(target["name"]):
        yield field_errors.invalid(Path("target.name"), target["name"], wrong[0])


def _problems_of_notes(about: Object) -> Iterator[Problem]:
    """What is wrong with what the pod gets to wear besides."""
    yield from metadata.check_labels(about.get("labels"), _METADATA / "labels")
    yield from metadata.check_annotations(about.get("annotations"), _METADATA / "annotations")


async def _attempt(api: Api, at: Target, binding: Object, *, is_dry_run: bool) -> bool:
    now = await api.store.read(storage_keys.of(at.resource, at.namespace or "", at.name))
    if now is None:
        raise api_errors.not_found(at.resource, at.name)
    pod = object_codec.loaded(now, at.resource)
    _check_is_free(pod, at, binding["metadata"])
    _note(pod["metadata"], binding["metadata"])
    pod["spec"]["nodeName"] = binding["target"]["name"]
    version = {"observedGeneration": pod["metadata"]["generation"]} if "generation" in pod["metadata"] else {}
    condition = {"type": "PodScheduled", **version, "status": "True", "lastProbeTime": None, "lastTransitionTime": api.now()}
    others = [one for one in (pod.get("status") or {}).get("conditions") or [] if one.get("type") != "PodScheduled"]
    status = {name: value for name, value in (pod.get("status") or {}).items() if name != "nominatedNodeName"}
    pod["status"] = {**status, "conditions": [*others, condition]}
    return await write.replace(api, at.resource, now, pod, is_dry_run=is_dry_run) is not None


def _check_is_free(pod: Object, at: Target, expected: Object) -> None:
    """`Conflict` if the pod is not the one that is meant, or has a node, or may have none."""
    for field in ("uid", "resourceVersion"):
        if expected.get(field) and expected[field] != pod["metadata"][field]:
            why = f"the {field} in the Binding ({expected[field]}) does not match the pod's ({pod['metadata'][field]})"
            raise api_errors.conflict(at.resource, at.name, why)
    if pod["metadata"].get("deletionTimestamp"):
        raise api_errors.conflict(at.resource, at.name, f"pod {at.name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise api_errors.conflict(at.resource, at.name, f"pod {at.name} is already assigned to node {pod['spec']['nodeName']!r}")
    if pod["spec"].get("schedulingGates"):
        raise api_errors.conflict(at.resource, at.name, f"pod {at.name} has non-empty .spec.schedulingGates")


def _note(meta: Object, given: Object) -> None:
    """The pod gets what the scheduler notes about it, also in the place of what it has."""
    if given.get("annotations"):
        meta["annotations"] = {**meta.get("annotations", {}), **given["annotations"]}
    if given.get("labels"):
        meta["labels"] = {**meta.get("labels", {}), **given["labels"]}
