"""`binding`: assigns a pod to a node, irrevocably.

POST to the pod's `binding`, or to `bindings` with the pod's name in the body.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from probate.api import field_errors, metadata, names
from probate.api.field_errors import FieldError, FieldPath
from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.api.serialization.documents import Document
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.admission.admission_attributes import WriteRequest
from probate.server.codec import negotiation, object_codec, request_body
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import path_identity
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import storage_keys

MAX_TRIES = 20
_METADATA = FieldPath("metadata")
SUCCESS_BODY = orjson.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


async def bind_pod(context: ServerContext, request: Request, target: Target, **_: Form) -> Response:
    """Handles POST to a pod's `binding`."""
    binding, warnings = await _read(context, request)
    return await _bind(context, request, target, binding=binding, warnings=warnings)


async def create_binding(context: ServerContext, request: Request, target: Target, **_: Form) -> Response:
    """Handles POST to `bindings`: the body names both pod and node."""
    binding, warnings = await _read(context, request)
    pods, name = context.catalog.find("", "v1", "pods"), binding["metadata"].get("name")
    if pods is None or not name:
        raise errors.BadRequest("the Binding must name the pod in metadata.name")
    return await _bind(context, request, Target(pods, target.namespace, name, "binding"), binding=binding, warnings=warnings)


async def _read(context: ServerContext, request: Request) -> request_body.Read:
    field_validation = query.write_options(request.query, "CreateOptions").field_validation
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    document = await context.offloader.offload_if_large(
        len(body), lambda: request_body.parse(body, media, finds_duplicates=field_validation != "Ignore")
    )
    value = document.value
    if not isinstance(value, dict) or value.get("kind") not in (None, "", "Binding"):
        raise errors.BadRequest("the body must be a Binding")
    if value.get("apiVersion") not in (None, "", "v1"):
        raise errors.BadRequest(f"the body must be a Binding of v1, not of {str(value['apiVersion'])[:100]}")
    return _typed(document, media, field_validation)


def _typed(document: Document, media: str, field_validation: str) -> request_body.Read:
    read = request_body.command(document, media, catalog.schema("", "v1", "Binding") or Schema(), field_validation=field_validation)
    return read._replace(object={"metadata": {}, "target": {}, **read.object})


async def _bind(
    context: ServerContext, request: Request, target: Target, *, binding: Object, warnings: tuple[str, ...]
) -> Response:
    options = query.write_options(request.query, "CreateOptions")
    if binding["metadata"].get("name") not in {None, "", target.name}:
        raise errors.BadRequest(f"the body must be a Binding of {target.name}")
    path_identity.check_namespace(binding["metadata"], target)
    if problems := list(_problems(binding["target"])):
        raise api_errors.invalid(target.resource, target.name, problems)
    act = WriteRequest(request.user, options)
    type_meta = {"kind": "Binding", "apiVersion": "v1", "metadata": await _metadata(context, target, binding)}
    admitted = await context.admission.phases.admit_command(target, {**binding, **type_meta}, act)
    binding = _typed(Document(admitted, []), negotiation.JSON, "Ignore").object
    if problems := [*_problems(binding["target"]), *_metadata_problems(binding["metadata"])]:
        raise api_errors.invalid(target.resource, target.name, problems)
    for _ in range(MAX_TRIES):
        if await _attempt(context, target, binding, is_dry_run=options.is_dry_run):
            return Response(201, SUCCESS_BODY, warnings=warnings + act.warnings)
    raise api_errors.modified(target.resource, target.name)


async def _metadata(context: ServerContext, target: Target, binding: Object) -> Object:
    """Returns the Binding's metadata with the pod's name, the pod's namespace and the topology labels of the node."""
    meta, node = {**binding["metadata"], "name": target.name, "namespace": target.namespace}, binding["target"]
    if (
        node.get("kind") == "Node"
        and node.get("name")
        and (labels := await context.admission.topology_labels.of_node(node["name"]))
    ):
        meta["labels"] = {**(meta.get("labels") or {}), **labels}
    return meta


def _problems(target: Object) -> Iterator[FieldError]:
    """Yields field errors of the target. A pod with an invalid node name could never be updated again."""
    if target.get("kind") not in {None, "", "Node"}:
        yield field_errors.not_supported(FieldPath("target.kind"), target["kind"], ["Node", "<empty>"])
    if not target.get("name"):
        yield field_errors.required(FieldPath("target.name"))
    elif problems := names.validate_dns_subdomain(target["name"]):
        yield field_errors.invalid(FieldPath("target.name"), target["name"], problems[0])


def _metadata_problems(type_meta: Object) -> Iterator[FieldError]:
    """Yields field errors of the labels and annotations that the Binding adds to the pod."""
    yield from metadata.validate_labels(type_meta.get("labels"), _METADATA / "labels")
    yield from metadata.validate_annotations(type_meta.get("annotations"), _METADATA / "annotations")


async def _attempt(context: ServerContext, target: Target, binding: Object, *, is_dry_run: bool) -> bool:
    record = await context.store.read(storage_keys.object_key(target.resource, target.namespace or "", target.name))
    if record is None:
        raise api_errors.not_found(target.resource, target.name)
    pod = object_codec.loaded(record, target.resource)
    _check_assignable(pod, target, binding["metadata"])
    _add_metadata(pod["metadata"], binding["metadata"])
    pod["spec"]["nodeName"] = binding["target"]["name"]
    observed = {"observedGeneration": pod["metadata"]["generation"]} if "generation" in pod["metadata"] else {}
    condition = {
        "type": "PodScheduled",
        **observed,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": context.timestamp(),
    }
    other_conditions = [item for item in (pod.get("status") or {}).get("conditions") or [] if item.get("type") != "PodScheduled"]
    status = {name: value for name, value in (pod.get("status") or {}).items() if name != "nominatedNodeName"}
    pod["status"] = {**status, "conditions": [*other_conditions, condition]}
    return await context.writer.commit_update(target.resource, record, pod, is_dry_run=is_dry_run) is not None


def _check_assignable(pod: Object, target: Target, expected: Object) -> None:
    """Raises `Conflict` if the preconditions fail, or if the pod is deleting, already assigned, or has scheduling gates."""
    for field in ("uid", "resourceVersion"):
        if expected.get(field) and expected[field] != pod["metadata"][field]:
            why = f"the {field} in the Binding ({expected[field]}) does not match the pod's ({pod['metadata'][field]})"
            raise api_errors.conflict(target.resource, target.name, why)
    if pod["metadata"].get("deletionTimestamp"):
        raise api_errors.conflict(target.resource, target.name, f"pod {target.name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise api_errors.conflict(
            target.resource, target.name, f"pod {target.name} is already assigned to node {pod['spec']['nodeName']!r}"
        )
    if pod["spec"].get("schedulingGates"):
        raise api_errors.conflict(target.resource, target.name, f"pod {target.name} has non-empty .spec.schedulingGates")


def _add_metadata(meta: Object, given: Object) -> None:
    """Merges the Binding's annotations and labels into the pod's metadata. The Binding's values win."""
    if given.get("annotations"):
        meta["annotations"] = {**meta.get("annotations", {}), **given["annotations"]}
    if given.get("labels"):
        meta["labels"] = {**meta.get("labels", {}), **given["labels"]}
