"""`patch`: a change of what is there now, in one of the patch languages.

A patch is meant whatever the object is now (unless it names a resourceVersion), so it is applied again if somebody is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate import errors
from probate.machinery import jsonpatch, mergepatch, problems, strategic
from probate.machinery.catalog import Resource
from probate.machinery.gvk import GroupResource
from probate.machinery.problems import Path
from probate.server import managed, negotiation, patched, query, reading, refusals, shaping, versions, wire, writing
from probate.server.admission.attributes import UPDATE, Act
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target
from probate.server.verbs import apply, update
from probate.store.contract import Record

MAX_TRIES = 20

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
SECRETS, SEALED = GroupResource("", "secrets"), ("data", "stringData")
"""What is secret of a Secret: in no other field would anybody treat it so."""

Change = Callable[[dict[str, Any]], Any]


async def patch(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Apply the patch in the body."""
    options = query.write_options(request.query, "PatchOptions")
    media = negotiation.media_type(request.header("content-type"))
    if media == apply.MEDIA:
        return await apply.apply(api, request, at, form)
    if "force" in request.query:
        why = "may not be specified for non-apply patch"
        raise refusals.invalid_options("PatchOptions", [problems.forbidden(Path("force"), why)])
    body, manager = await request.read_body(), managed.manager(request, options.field_manager)
    change = await api.apart(len(body), lambda: change_of(body, media, at.resource))
    act = Act(request.user, options)
    for _ in range(MAX_TRIES):
        warnings, written = await _attempt(api, at, change, act, manager, size=len(body))
        if written is not None:
            return shaping.one(api, written, at.resource, form, warnings=warnings + act.warnings)
    raise refusals.changed(at.resource, at.name)


def change_of(body: bytes, media: str, resource: Resource) -> Change:
    """What the patch does to an object."""
    supported = [JSON_PATCH, MERGE_PATCH] + ([] if resource.is_custom else [STRATEGIC_MERGE_PATCH]) + [apply.MEDIA]
    if media not in supported:
        listed = ", ".join(supported)
        raise errors.UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )
    value = reading.parse(body, negotiation.JSON).value
    if media == JSON_PATCH:
        sealed = SEALED if resource.group_resource == SECRETS else ()
        return lambda object_: jsonpatch.apply(object_, value, sealed=sealed)
    if not isinstance(value, dict):
        raise errors.BadRequest("the patch must be an object")
    if media == MERGE_PATCH:
        return lambda object_: mergepatch.apply(object_, value)
    return lambda object_: strategic.apply(object_, value, resource.load_schema())


async def _attempt(
    api: Api, at: Target, change: Change, act: Act, manager: str, *, size: int
) -> tuple[tuple[str, ...], Record | None]:
    now = await versions.read(api, at)
    if now is None:
        raise refusals.not_found(at.resource, at.name)
    act.is_mutable = api.admission.mutates(UPDATE, at)
    read = await api.apart(size + len(now.value), lambda: _changed(api, at, now, change, act, manager))
    return read.warnings, await writing.write(api, at, now, read.object, act)


def _changed(api: Api, at: Target, now: Record, change: Change, act: Act, manager: str) -> reading.Read:
    """The patched object, ready to be written. `Conflict` if the patch is meant for another version of it."""
    old = wire.loaded(now, at.resource)
    result = _without_known_owners(change(wire.served(now, at.resource)), old)
    read = patched.typed(api, result, at, act.write_options.field_validation)
    new = read.object
    reading.check_kind(new, at.resource)
    update.check_name(new, at)
    given = new["metadata"].get("resourceVersion") or old["metadata"]["resourceVersion"]
    new["metadata"]["resourceVersion"] = given
    if given != old["metadata"]["resourceVersion"]:
        raise refusals.changed(at.resource, at.name)
    writing.prepare_changed(api, at, new, old, managed.updater(api.kinds, at, new, old, manager, api.now()), act)
    return read


def _without_known_owners(result: Any, old: dict[str, Any]) -> Any:
    """What the patch makes of the object, less its `managedFields` if they are as they were: nobody has to read those."""
    meta = result.get("metadata") if isinstance(result, dict) else None
    if not isinstance(meta, dict) or meta.get("managedFields") != old["metadata"].get("managedFields"):
        return result
    return {**result, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}
