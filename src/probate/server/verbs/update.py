"""`update`: replaces the whole object if it is still the version that the client read.

For a few kinds, as in Kubernetes, it creates the object if it does not exist.
"""

from __future__ import annotations

from typing import Any

from probate.api import metadata
from probate.api.catalog import Resource
from probate.core import errors
from probate.server import api_errors, query
from probate.server.admission.admission_attributes import UPDATE, WriteRequest
from probate.server.authz import authorization_attributes
from probate.server.codec import negotiation, object_codec, request_body
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import managed_fields, path_identity, write_strategy
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.verbs import create
from probate.store.contract import Record

MAX_TRIES = 20
"""Attempts of an update without resourceVersion after concurrent modifications, or of one whose allocated addresses are taken."""


async def update(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles a PUT."""
    options = query.write_options(request.query, "UpdateOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body, rules = await request.read_body(), context.kinds.rules(target.resource)
    decoded = await context.offloader.offload_if_large(
        len(body),
        lambda: request_body.read_object(body, media, target.resource, rules=rules, field_validation=options.field_validation),
    )
    path_identity.check_identity(decoded.object["metadata"], target)
    manager = managed_fields.field_manager(request, options.field_manager)
    act = WriteRequest(request.user, options)
    for _ in range(MAX_TRIES):
        current = await context.version_converter.read(target)
        if current is None:
            record = await _create(context, target, decoded.object, manager=manager, act=act, size=len(body))
        else:
            record = await _replace(context, target, current, requested=decoded.object, manager=manager, act=act, size=len(body))
        if record is not None:
            warnings = decoded.warnings + act.warnings
            return context.responses.one(record, target.resource, form, code=201 if current is None else 200, warnings=warnings)
    raise api_errors.modified(target.resource, target.name)


async def _create(
    context: ServerContext, target: Target, requested: dict[str, Any], *, manager: str, act: WriteRequest, size: int
) -> Record | None:
    """Creates the object if its kind allows create on update. Returns None if another request has created it concurrently."""
    resource, uid = target.resource, requested["metadata"].get("uid")
    if uid:
        raise api_errors.conflict(resource, target.name, f"no object has the uid {uid}: it was deleted")
    if target.subresource or resource.is_custom or not metadata.is_created_by_update(resource.group, resource.kind):
        raise api_errors.not_found(resource, target.name)
    await context.authorizer.check(act.user, authorization_attributes.for_create(target))
    try:
        return await create.try_create(
            context,
            target,
            requested,
            create_entries=managed_fields.entries_on_create(context.kinds, target, manager),
            act=act,
            size=size,
        )
    except errors.AlreadyExists:
        return None


async def _replace(
    context: ServerContext,
    target: Target,
    current: Record,
    *,
    requested: dict[str, Any],
    manager: str,
    act: WriteRequest,
    size: int,
) -> Record | None:
    """Updates the object. Returns None if it was modified concurrently."""
    act.is_mutable = context.admission.chain.mutates(UPDATE, target)
    new = await context.offloader.offload_if_large(
        size + len(current.value), lambda: _updated_object(context, target, current, requested=requested, manager=manager, act=act)
    )
    return await context.writer.admit_and_commit(target, current, new, act=act)


def _updated_object(
    context: ServerContext, target: Target, current: Record, *, requested: dict[str, Any], manager: str, act: WriteRequest
) -> dict[str, Any]:
    old = object_codec.loaded(current, target.resource)
    new = {**requested, "metadata": dict(requested["metadata"])}
    set_resource_version(new["metadata"], old["metadata"], target.resource)
    _check_preconditions(new, old, target)
    entries = managed_fields.entries_on_update(context.kinds, target, manager, new=new, old=old, now=context.timestamp())
    context.preparer.prepare_update(target, new, old, update_entries=entries, act=act)
    return new


def set_resource_version(new: dict[str, Any], old: dict[str, Any], resource: Resource) -> None:
    """Sets the current resourceVersion on an update that has none, if the kind allows unconditional updates."""
    if path_identity.is_unconditional(new.get("resourceVersion")):
        new["resourceVersion"] = old["resourceVersion"] if write_strategy.allows_unconditional_update(resource) else ""


def _check_preconditions(new: dict[str, Any], old: dict[str, Any], target: Target) -> None:
    """Raises `Conflict` unless uid and resourceVersion, if given, are those of the current object."""
    uid, expected = new["metadata"].get("uid"), new["metadata"]["resourceVersion"]
    if uid and uid != old["metadata"]["uid"]:
        raise api_errors.conflict(
            target.resource, target.name, f"the object has another uid ({old['metadata']['uid']}): it was deleted and created again"
        )
    if expected and expected != old["metadata"]["resourceVersion"]:
        raise api_errors.modified(target.resource, target.name)
