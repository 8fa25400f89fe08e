"""Runs both admission phases for each verb: converts stored objects to what plugins see, and takes back what they changed."""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.core import errors
from probate.core.aio.large_work import Offloader
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
from probate.server.admission.chain import AdmissionChain
from probate.server.codec import object_codec, patch_result
from probate.server.kind_registry import KindRegistry
from probate.server.request import Target
from probate.store.contract import Record


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


class AdmissionPhases:
    """Both phases, for one chain of plugins."""

    def __init__(self, chain: AdmissionChain, kinds: KindRegistry, offloader: Offloader) -> None:
        self._chain = chain
        self._kinds = kinds
        self._offloader = offloader

    async def mutate_create(self, at: Target, object_: Object, request: WriteRequest, *, size: int) -> Object:
        """Runs the mutating plugins on a new object. Returns the object to create."""
        view = request.view or self._default_view(at)
        shown = await self._offloader.offload_if_large(size, lambda: view.to_admission(object_))
        write = Attributes(CREATE, at, request, object_=shown, name=_name(object_), convert=_converter(view, object_), size=size)
        return await self._mutate(write, view, object_, size=size)

    async def mutate_update(self, at: Target, new: Object, request: WriteRequest, *, current: Record) -> Object:
        """Runs the mutating plugins on an update. Returns the object to write."""
        view, size = request.view or self._default_view(at), len(current.value)
        shown, old = await self._offloader.offload_if_large(size, lambda: _new_and_old(view, at, new, current=current))
        write = Attributes(UPDATE, at, request, object_=shown, old=old, convert=_converter(view, new), size=2 * size)
        return await self._mutate(write, view, new, size=size)

    async def _mutate(self, write: Attributes, view: ObjectView, object_: Object, *, size: int) -> Object:
        before = write.object
        await self._chain.mutate(write)
        changed = write.object
        if changed is None:
            raise errors.InvariantViolation("a plugin removed the object")
        if changed is before:
            return object_
        return await self._offloader.offload_if_large(size, lambda: view.from_admission(object_, changed))

    async def validate_create(
        self, at: Target, object_: Object, request: WriteRequest, *, name: str, size: int
    ) -> CommitRequirements:
        """Runs the validating plugins on a create. `name` is the requested name: empty for generateName."""
        if not self._chain.validates(CREATE, at):
            return NO_REQUIREMENTS
        view = request.view or self._default_view(at)
        shown = await self._offloader.offload_if_large(size, lambda: view.to_admission(object_))
        return await self._chain.validate(Attributes(CREATE, at, request, object_=shown, name=name, size=size))

    async def validate_update(self, at: Target, new: Object, request: WriteRequest, *, current: Record) -> CommitRequirements:
        """Runs the validating plugins on an update."""
        if not self._chain.validates(UPDATE, at):
            return NO_REQUIREMENTS
        view, size = request.view or self._default_view(at), len(current.value)
        shown, old = await self._offloader.offload_if_large(size, lambda: _new_and_old(view, at, new, current=current))
        return await self._chain.validate(Attributes(UPDATE, at, request, object_=shown, old=old, size=2 * size))

    def handles_delete(self, at: Target) -> bool:
        """Returns whether `admit_delete` would run a plugin."""
        return self._chain.mutates(DELETE, at) or self._chain.validates(DELETE, at)

    async def admit_delete(self, at: Target, current: Record, request: WriteRequest, *, name: str) -> CommitRequirements:
        """Runs both phases on a delete, which has no object to change. `current` is in the version of the request."""
        size, view = len(current.value), self._default_view(at)
        old = await self._offloader.offload_if_large(size, lambda: view.to_admission(object_codec.loaded(current, at.resource)))
        if self._chain.mutates(DELETE, at):
            await self._chain.mutate(Attributes(DELETE, at, request, old=old, name=name, size=size))
        return await self._chain.validate(Attributes(DELETE, at, request, old=old, name=name, size=size))

    async def admit_command(self, at: Target, object_: Object, request: WriteRequest) -> Object:
        """Runs both phases on an object that is executed rather than stored, such as a Binding."""
        if self._chain.mutates(CREATE, at):
            write = Attributes(CREATE, at, request, object_=_copy(object_))
            await self._chain.mutate(write)
            object_ = write.object or object_
        if self._chain.validates(CREATE, at):
            (await self._chain.validate(Attributes(CREATE, at, request, object_=_copy(object_)))).release()
        return object_

    def _default_view(self, at: Target) -> ObjectView:
        """Returns the view of the object itself, in the version of the request."""
        type_meta = {"kind": at.resource.kind, "apiVersion": str(at.resource.group_version)}

        def to_admission(object_: Object) -> Object:
            if at.resource.storage_gvk is not None:
                object_ = conversion.from_stored(at.resource.group_version_kind, object_)
            return _copy({**type_meta, **object_, **type_meta})

        def from_admission(_: Object, changed: Object) -> Object:
            rules = self._kinds.rules(at.resource)
            decoded = patch_result.typed(rules, changed, at, field_validation="Ignore").object
            rules.set_defaults(decoded)
            return decoded

        return ObjectView(to_admission, from_admission)


def _new_and_old(view: ObjectView, at: Target, new: Object, *, current: Record) -> tuple[Object, Object]:
    return view.to_admission(new), view.to_admission(object_codec.loaded(current, at.resource))


def _converter(view: ObjectView, object_: Object) -> Any:
    return lambda changed: view.to_admission(view.from_admission(object_, changed))


def _copy(object_: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(object_))
    return copied


def _name(object_: Object) -> str:
    return str(object_["metadata"].get("name") or "")
