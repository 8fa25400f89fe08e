"""The two phases, as those who write go through them: what is stored becomes what is shown, and what was changed is taken back."""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.core import errors
from probate.kinds import conversion
from probate.server.admission.attributes import CREATE, DELETE, NO_TERMS, UPDATE, Act, Attributes, Terms, View
from probate.server.codec import object_codec, patch_result, version_conversion
from probate.server.context import Api
from probate.server.request import Target
from probate.store.contract import Record

Object = dict[str, Any]


def plain(api: Api, at: Target) -> View:
    """The object itself, in the version that was asked for."""
    about = {"kind": at.resource.kind, "apiVersion": str(at.resource.group_version)}

    def show(object_: Object) -> Object:
        if at.resource.stored_as is not None:
            object_ = conversion.served(at.resource.group_version_kind, object_)
        shown: Object = orjson.loads(orjson.dumps({**about, **object_, **about}))
        return shown

    def take(_: Object, changed: Object) -> Object:
        read = patch_result.typed(api, changed, at, "Ignore").object
        api.kinds.rules(at.resource).set_defaults(read)
        return read

    return View(show, take)


def in_version(object_: Object, mine: Resource, wanted: Resource) -> Object:
    """An object of one version as another version of the same kind has it. Not for kinds that a webhook converts (`versions`)."""
    if mine.is_converted:
        told = f"objects of {mine.group_version} are converted by a webhook, and cannot be looked at as {wanted.group_version} here"
        raise errors.ApiError(f"Internal error occurred: {told}: name the version {mine.version} too")
    if mine.stored_as is not None:
        object_ = conversion.stored(mine.group_version_kind, object_)
    if wanted.stored_as is not None:
        object_ = conversion.served(wanted.group_version_kind, object_)
    return {**object_, "kind": wanted.kind, "apiVersion": str(wanted.group_version)}


async def mutate_new(api: Api, at: Target, object_: Object, act: Act, *, size: int) -> Object:
    """The new object after all who may change it have had their say."""
    view = act.view or plain(api, at)
    shown = await api.apart(size, lambda: view.show(object_))
    write = Attributes(CREATE, at, act, object_=shown, name=_name(object_), retype=_retyper(view, object_), size=size)
    return await _mutated(api, write, view, object_, size)


async def mutate_changed(api: Api, at: Target, new: Object, now: Record, act: Act) -> Object:
    """The same for an object that is changed."""
    view = act.view or plain(api, at)
    shown, old = await api.apart(len(now.value), lambda: _both(view, at, new, now))
    write = Attributes(UPDATE, at, act, object_=shown, old=old, retype=_retyper(view, new), size=2 * len(now.value))
    return await _mutated(api, write, view, new, len(now.value))


def _both(view: View, at: Target, new: Object, now: Record) -> tuple[Object, Object]:
    return view.show(new), view.show(object_codec.loaded(now, at.resource))


async def _mutated(api: Api, write: Attributes, view: View, object_: Object, size: int) -> Object:
    before = write.object
    await api.admission.mutate(write)
    changed = write.object
    if changed is None:
        raise errors.InvariantViolation("a plugin took the object away")
    return object_ if changed is before else await api.apart(size, lambda: view.take(object_, changed))


def _retyper(view: View, object_: Object) -> Any:
    return lambda changed: view.show(view.take(object_, changed))


async def validate_new(api: Api, at: Target, object_: Object, act: Act, *, name: str, size: int) -> Terms:
    """The terms of a create that is complete. `name` is what the request called it: empty if it left that to us."""
    if not api.admission.validates(CREATE, at):
        return NO_TERMS
    view = act.view or plain(api, at)
    shown = await api.apart(size, lambda: view.show(object_))
    return await api.admission.validate(Attributes(CREATE, at, act, object_=shown, name=name, size=size))


async def validate_changed(api: Api, at: Target, new: Object, now: Record, act: Act) -> Terms:
    """The terms of an update that is complete."""
    if not api.admission.validates(UPDATE, at):
        return NO_TERMS
    view = act.view or plain(api, at)
    shown, old = await api.apart(len(now.value), lambda: _both(view, at, new, now))
    return await api.admission.validate(Attributes(UPDATE, at, act, object_=shown, old=old, size=2 * len(now.value)))


async def check_delete(api: Api, at: Target, now: Record, act: Act, *, name: str) -> Terms:
    """The terms of a delete: both phases have their say, and there is nothing to change."""
    mutates = api.admission.mutates(DELETE, at)
    if not mutates and not api.admission.validates(DELETE, at):
        return NO_TERMS
    [now] = await version_conversion.served(api, at.resource, [now])
    old = await api.apart(len(now.value), lambda: plain(api, at).show(object_codec.loaded(now, at.resource)))
    if mutates:
        await api.admission.mutate(Attributes(DELETE, at, act, old=old, name=name, size=len(now.value)))
    return await api.admission.validate(Attributes(DELETE, at, act, old=old, name=name, size=len(now.value)))


async def check_command(api: Api, at: Target, object_: Object, act: Act) -> Object:
    """What was sent to be done and not to be stored, such as a Binding: both phases, one after the other."""
    if api.admission.mutates(CREATE, at):
        write = Attributes(CREATE, at, act, object_=orjson.loads(orjson.dumps(object_)))
        await api.admission.mutate(write)
        object_ = write.object or object_
    if api.admission.validates(CREATE, at):
        (await api.admission.validate(Attributes(CREATE, at, act, object_=orjson.loads(orjson.dumps(object_))))).release()
    return object_


def _name(object_: Object) -> str:
    return str(object_["metadata"].get("name") or "")
