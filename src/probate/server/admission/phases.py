"""Runs both admission phases for each verb: converts stored objects to what plugins see, and takes back what they changed."""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.core import errors
from probate.kinds import conversion
from probate.server.admission.admission_attributes import (
    CREATE,
    DELETE,
    NO_REQUIREMENTS,
    UPDATE,
    Attributes,
    CommitRequirements,
    ObjectView,
    WriteRequest,
)
from probate.server.codec import object_codec, patch_result, version_conversion
from probate.server.context import ServerContext
from probate.server.request import Target
from probate.store.contract import Record


def default_view(api: ServerContext, at: Target) -> ObjectView:
    """Returns the view of the object itself, in the version of the request."""
    type_meta = {"kind": at.resource.kind, "apiVersion": str(at.resource.group_version)}

    def to_admission(object_: Object) -> Object:
        if at.resource.storage_gvk is not None:
            object_ = conversion.from_stored(at.resource.group_version_kind, object_)
        served: Object = orjson.loads(orjson.dumps({**type_meta, **object_, **type_meta}))
        return served

    def from_admission(_: Object, changed: Object) -> Object:
        decoded = patch_result.typed(api, changed, at, "Ignore").object
        api.kinds.rules(at.resource).set_defaults(decoded)
        return decoded

    return ObjectView(to_admission, from_admission)


def convert_version(object_: Object, source: Resource, target: Resource) -> Object:
    """Converts an object between versions of its kind. Not for CRDs with a conversion webhook (see `version_conversion`)."""
    if source.is_converted:
        message = (
            f"objects of {source.group_version} are converted by a webhook, and cannot be matched as {target.group_version} here"
        )
        raise errors.ApiError(f"Internal error occurred: {message}: match the version {source.version} too")
    if source.storage_gvk is not None:
        object_ = conversion.to_stored(source.group_version_kind, object_)
    if target.storage_gvk is not None:
        object_ = conversion.from_stored(target.group_version_kind, object_)
    return {**object_, "kind": target.kind, "apiVersion": str(target.group_version)}


async def mutate_create(api: ServerContext, at: Target, object_: Object, request: WriteRequest, *, size: int) -> Object:
    """Runs the mutating plugins on a new object. Returns the object to create."""
    view = request.view or default_view(api, at)
    shown = await api.offload_if_large(size, lambda: view.to_admission(object_))
    write = Attributes(CREATE, at, request, object_=shown, name=_name(object_), convert=_converter(view, object_), size=size)
    return await _mutate(api, write, view, object_, size)


async def mutate_update(api: ServerContext, at: Target, new: Object, current: Record, request: WriteRequest) -> Object:
    """Runs the mutating plugins on an update. Returns the object to write."""
    view = request.view or default_view(api, at)
    shown, old = await api.offload_if_large(len(current.value), lambda: _new_and_old(view, at, new, current))
    write = Attributes(UPDATE, at, request, object_=shown, old=old, convert=_converter(view, new), size=2 * len(current.value))
    return await _mutate(api, write, view, new, len(current.value))


def _new_and_old(view: ObjectView, at: Target, new: Object, current: Record) -> tuple[Object, Object]:
    return view.to_admission(new), view.to_admission(object_codec.loaded(current, at.resource))


async def _mutate(api: ServerContext, write: Attributes, view: ObjectView, object_: Object, size: int) -> Object:
    before = write.object
    await api.admission.chain.mutate(write)
    changed = write.object
    if changed is None:
        raise errors.InvariantViolation("a plugin took the object away")
    return object_ if changed is before else await api.offload_if_large(size, lambda: view.from_admission(object_, changed))


def _converter(view: ObjectView, object_: Object) -> Any:
    return lambda changed: view.to_admission(view.from_admission(object_, changed))


async def validate_create(
    api: ServerContext, at: Target, object_: Object, request: WriteRequest, *, name: str, size: int
) -> CommitRequirements:
    """Runs the validating plugins on a create. `name` is the requested name: empty for generateName."""
    if not api.admission.chain.validates(CREATE, at):
        return NO_REQUIREMENTS
    view = request.view or default_view(api, at)
    shown = await api.offload_if_large(size, lambda: view.to_admission(object_))
    return await api.admission.chain.validate(Attributes(CREATE, at, request, object_=shown, name=name, size=size))


async def validate_update(
    api: ServerContext, at: Target, new: Object, current: Record, request: WriteRequest
) -> CommitRequirements:
    """Runs the validating plugins on an update."""
    if not api.admission.chain.validates(UPDATE, at):
        return NO_REQUIREMENTS
    view = request.view or default_view(api, at)
    shown, old = await api.offload_if_large(len(current.value), lambda: _new_and_old(view, at, new, current))
    return await api.admission.chain.validate(Attributes(UPDATE, at, request, object_=shown, old=old, size=2 * len(current.value)))


async def admit_delete(api: ServerContext, at: Target, current: Record, request: WriteRequest, *, name: str) -> CommitRequirements:
    """Runs both phases on a delete, which has no object to change."""
    mutates = api.admission.chain.mutates(DELETE, at)
    if not mutates and not api.admission.chain.validates(DELETE, at):
        return NO_REQUIREMENTS
    [current] = await version_conversion.served(api, at.resource, [current])
    old = await api.offload_if_large(
        len(current.value), lambda: default_view(api, at).to_admission(object_codec.loaded(current, at.resource))
    )
    if mutates:
        await api.admission.chain.mutate(Attributes(DELETE, at, request, old=old, name=name, size=len(current.value)))
    return await api.admission.chain.validate(Attributes(DELETE, at, request, old=old, name=name, size=len(current.value)))


async def admit_command(api: ServerContext, at: Target, object_: Object, request: WriteRequest) -> Object:
    """Runs both phases on an object that is executed rather than stored, such as a Binding."""
    if api.admission.chain.mutates(CREATE, at):
        write = Attributes(CREATE, at, request, object_=orjson.loads(orjson.dumps(object_)))
        await api.admission.chain.mutate(write)
        object_ = write.object or object_
    if api.admission.chain.validates(CREATE, at):
        (await api.admission.chain.validate(Attributes(CREATE, at, request, object_=orjson.loads(orjson.dumps(object_))))).release()
    return object_


def _name(object_: Object) -> str:
    return str(object_["metadata"].get("name") or "")
