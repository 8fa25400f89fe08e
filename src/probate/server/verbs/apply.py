"""Server-side apply: a patch with an ApplyConfiguration, which holds exactly the fields that the field manager wants to own.

`api.apply` has the rules. Like other patches, an apply is retried when the object is modified concurrently. Unlike them, it creates
the object if it does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.api import field_errors
from probate.api.apply.field_managers import ApplyResult
from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.serialization.documents import Document
from probate.core import errors
from probate.server import api_errors, query
from probate.server.admission.admission_attributes import UPDATE, ObjectView, WriteRequest
from probate.server.authz import authorization_attributes
from probate.server.codec import field_validation, object_codec, patch_result, request_body
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import managed_fields, path_identity
from probate.server.query import WriteOptions
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.verbs import create
from probate.store.contract import Record

MEDIA_TYPE = "application/apply-patch+yaml"
MAX_TRIES = 20


class AppliedRecord(NamedTuple):
    """The object after an apply, and whether the apply created it."""

    record: Record
    is_new: bool
    warnings: tuple[str, ...]


async def apply(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles a PATCH with an ApplyConfiguration."""
    result = await apply_document(context, request, target, translate=lambda document: document)
    return context.responses.one(result.record, target.resource, form, code=201 if result.is_new else 200, warnings=result.warnings)


async def apply_document(
    context: ServerContext,
    request: Request,
    target: Target,
    *,
    translate: Callable[[Object], Object],
    view: ObjectView | None = None,
) -> AppliedRecord:
    """Applies the ApplyConfiguration in the body after passing it to `translate`, which returns one of the resource's kind."""
    options = _options(request)
    body = await request.read_body()
    document = await context.offloader.offload_if_large(
        len(body), lambda: _parse_document(body, target, options, translate=translate)
    )
    warnings = document.lines if options.field_validation == "Warn" else ()
    act = WriteRequest(request.user, options, view)
    for _ in range(MAX_TRIES):
        current = await context.version_converter.read(target)
        if current is not None:
            record = await _update(context, target, current, document=document.value, act=act, size=len(body))
        elif target.subresource:
            raise api_errors.not_found(target.resource, target.name)
        else:
            record = await _create(context, target, document.value, act=act, size=len(body))
        if record is not None:
            return AppliedRecord(record, current is None, warnings + act.warnings)
    raise api_errors.modified(target.resource, target.name)


def _options(request: Request) -> WriteOptions:
    options = query.write_options(request.query, "PatchOptions")
    if not options.field_manager:
        missing = field_errors.required(FieldPath("fieldManager"), "is required for apply patch")
        raise api_errors.invalid_options("PatchOptions", [missing])
    return options


def _parse_document(body: bytes, target: Target, options: WriteOptions, *, translate: Callable[[Object], Object]) -> Document:
    parsed = request_body.parse(body, "application/yaml", finds_duplicates=options.field_validation != "Ignore")
    if not isinstance(parsed.value, dict):
        raise errors.BadRequest("the applied document must be an object")
    document = translate(parsed.value)
    request_body.check_kind(document, target.resource)
    if not document.get("kind") or not document.get("apiVersion"):
        raise errors.BadRequest("the applied document must have apiVersion and kind")
    meta = document.get("metadata")
    if not isinstance(meta, dict | None):
        raise errors.BadRequest("the metadata of the applied document must be an object")
    if (meta or {}).get("managedFields") is not None:
        raise errors.BadRequest("metadata.managedFields must be nil: the server maintains them")
    document = {**document, "metadata": dict(meta or {})}
    document["metadata"].setdefault("name", target.name)
    path_identity.check_identity(document["metadata"], target)
    if parsed.lines and options.field_validation == "Strict":
        (problem,) = field_validation.in_yaml(parsed.lines)
        raise errors.BadRequest(f"error strict decoding YAML: error converting YAML to JSON: {problem}")
    return parsed._replace(value=document)


async def _update(
    context: ServerContext, target: Target, current: Record, *, document: Object, act: WriteRequest, size: int
) -> Record | None:
    act.is_mutable = context.admission.chain.mutates(UPDATE, target)
    new = await context.offloader.offload_if_large(
        size + len(current.value), lambda: _updated_object(context, target, current, document=document, act=act)
    )
    return await context.writer.admit_and_commit(target, current, new, act=act)


def _updated_object(context: ServerContext, target: Target, current: Record, *, document: Object, act: WriteRequest) -> Object:
    live, old = object_codec.served(current, target.resource), object_codec.loaded(current, target.resource)
    _check_preconditions(document, live, target)
    result = _applied(context, target, live, document=document, options=act.write_options)
    new = patch_result.typed(context.kinds.rules(target.resource), result.object, target, field_validation="Ignore").object
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    context.preparer.prepare_update(target, new, old, update_entries=lambda *_: result.entries, act=act)
    return new


def _applied(
    context: ServerContext, target: Target, live: Object | None, *, document: Object, options: WriteOptions
) -> ApplyResult:
    name, is_forced = options.field_manager, options.is_forced
    result = managed_fields.apply_document(
        context.kinds, target, document, live=live, name=name, now=context.timestamp(), is_forced=is_forced
    )
    problems = context.kinds.rules(target.resource).validate_apply(result.object)
    if problems:
        raise api_errors.invalid(target.resource, target.name, problems)
    return result


def _check_preconditions(document: Object, live: Object, target: Target) -> None:
    """Raises `Conflict` unless the uid and resourceVersion in the document, if any, are those of the live object."""
    desired, meta = document["metadata"], live["metadata"]
    if desired.get("uid") and desired["uid"] != meta["uid"]:
        raise api_errors.conflict(
            target.resource, target.name, f"the object has another uid ({meta['uid']}) than the applied document"
        )
    if desired.get("resourceVersion") and desired["resourceVersion"] != meta["resourceVersion"]:
        raise api_errors.modified(target.resource, target.name)


async def _create(context: ServerContext, target: Target, document: Object, *, act: WriteRequest, size: int) -> Record | None:
    meta = document["metadata"]
    if meta.get("uid") or meta.get("resourceVersion"):
        raise api_errors.conflict(
            target.resource, target.name, "the document has a uid or resourceVersion, but the object does not exist"
        )
    await context.authorizer.check(act.user, authorization_attributes.for_create(target))
    result = await context.offloader.offload_if_large(
        size, lambda: _new_object(context, target, document, options=act.write_options)
    )
    try:
        return await create.try_create(context, target, result.object, create_entries=lambda *_: result.entries, act=act, size=size)
    except errors.AlreadyExists:
        return None


def _new_object(context: ServerContext, target: Target, document: Object, *, options: WriteOptions) -> ApplyResult:
    result = _applied(context, target, None, document=document, options=options)
    named = {**result.object, "metadata": {**result.object["metadata"], "name": target.name}}
    return ApplyResult(
        patch_result.typed(context.kinds.rules(target.resource), named, target, field_validation="Ignore").object, result.entries
    )
