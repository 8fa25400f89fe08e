"""`update`: the whole object is replaced, if it is still the one the client read.

Of a few kinds, as in Kubernetes, it makes an object that is not there.
"""

from __future__ import annotations

import functools
from typing import Any

from probate.api import metadata
from probate.api.catalog import Resource
from probate.core import errors
from probate.server import api_errors, query
from probate.server.admission.attributes import UPDATE, Act
from probate.server.authz import attributes
from probate.server.codec import negotiation, object_codec, request_body, responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import managed_fields, path_identity, write
from probate.server.request import Request, Target
from probate.server.verbs import create
from probate.store.contract import Record

MAX_TRIES = 20
"""Of an update that names no resourceVersion, and so is meant whatever the object is now; or that needs what others just took."""


async def update(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Put the object in the body in place of the one there is."""
    options = query.write_options(request.query, "UpdateOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body, rules = await request.read_body(), api.kinds.rules(at.resource)
    read = await api.apart(len(body), lambda: request_body.read_object(body, media, at.resource, rules, options.field_validation))
    path_identity.check(read.object["metadata"], at)
    manager = managed_fields.manager(request, options.field_manager)
    act = Act(request.user, options)
    for _ in range(MAX_TRIES):
        now = await version_conversion.read(api, at)
        attempt = _created if now is None else functools.partial(_replaced, now)
        written = await attempt(api, at, read.object, manager, act, size=len(body))
        if written is not None:
            told = read.warnings + act.warnings
            return responses.one(api, written, at.resource, form, code=201 if now is None else 200, warnings=told)
    raise api_errors.changed(at.resource, at.name)


async def _created(api: Api, at: Target, given: dict[str, Any], manager: str, act: Act, *, size: int) -> Record | None:
    """The new object, if it is of a kind that an update creates; None if somebody else was faster."""
    resource, uid = at.resource, given["metadata"].get("uid")
    if uid:
        raise api_errors.conflict(resource, at.name, f"there is no object of the uid {uid}: it was deleted")
    if at.subresource or resource.is_custom or not metadata.is_created_by_update(resource.group, resource.kind):
        raise api_errors.not_found(resource, at.name)
    await api.access.check(act.user, attributes.about_new(at))
    try:
        return await create.attempt(api, at, given, managed_fields.creator(api.kinds, at, manager), act, size=size)
    except errors.AlreadyExists:
        return None


async def _replaced(
    now: Record, api: Api, at: Target, given: dict[str, Any], manager: str, act: Act, *, size: int
) -> Record | None:
    """The object as it is after the update; None if somebody changed it in between."""
    act.is_mutable = api.admission.mutates(UPDATE, at)
    new = await api.apart(size + len(now.value), lambda: _changed(api, at, now, given, manager, act))
    return await write.write(api, at, now, new, act)


def _changed(api: Api, at: Target, now: Record, given: dict[str, Any], manager: str, act: Act) -> dict[str, Any]:
    old = object_codec.loaded(now, at.resource)
    new = {**given, "metadata": dict(given["metadata"])}
    settle_version(new["metadata"], old["metadata"], at.resource)
    _check_is_the_same(new, old, at)
    write.prepare_changed(api, at, new, old, managed_fields.updater(api.kinds, at, new, old, manager, api.now()), act)
    return new


def settle_version(new: dict[str, Any], old: dict[str, Any], resource: Resource) -> None:
    """The metadata of a change that is meant whatever the object is now get its version, if the kind takes such changes."""
    if path_identity.is_any_version(new.get("resourceVersion")):
        new["resourceVersion"] = old["resourceVersion"] if write.may_update_blindly(resource) else ""


def _check_is_the_same(new: dict[str, Any], old: dict[str, Any], at: Target) -> None:
    uid, expected = new["metadata"].get("uid"), new["metadata"]["resourceVersion"]
    if uid and uid != old["metadata"]["uid"]:
        raise api_errors.conflict(
            at.resource, at.name, f"the object has another uid ({old['metadata']['uid']}): it was deleted and created again"
        )
    if expected and expected != old["metadata"]["resourceVersion"]:
        raise api_errors.changed(at.resource, at.name)
