"""`patch`: a change of what is there now, in one of the patch languages.

A patch is meant whatever the object is now (unless it names a resourceVersion), so it is applied again if somebody is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api import field_errors, strategic
from probate.api.catalog import Resource
from probate.api.field_errors import Path
from probate.api.gvk import GroupResource
from probate.core import errors
from probate.lib import jsonpatch, mergepatch
from probate.server import api_errors, query
from probate.server.admission.attributes import UPDATE, Act
from probate.server.codec import field_validation as codec_field_validation
from probate.server.codec import negotiation, object_codec, patch_result, request_body, responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import managed_fields, path_identity, write
from probate.server.request import Request, Target
from probate.server.verbs import apply, update
from probate.store.contract import Record

MAX_TRIES = 20

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
SECRETS, SEALED = GroupResource("", "secrets"), ("data", "stringData")
"""What is secret of a Secret: in no other field would anybody treat it so."""
_OF_KIND = {"kind", "apiVersion"}
"""What a strategic merge patch says in vain: by what it is merged, it is of the kind of its object."""


class Patch(NamedTuple):
    """What is to be done to an object, and what is odd about the way it was said."""

    change: Callable[[dict[str, Any]], Any]
    odd: list[str]


async def patch(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Apply the patch in the body."""
    options = query.write_options(request.query, "PatchOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    if media == apply.MEDIA:
        return await apply.apply(api, request, at, form)
    if "force" in request.query:
        why = "may not be specified for non-apply patch"
        raise api_errors.invalid_options("PatchOptions", [field_errors.forbidden(Path("force"), why)])
    body, manager = await request.read_body(), managed_fields.manager(request, options.field_manager)
    read = await api.apart(len(body), lambda: patch_in(body, media, at.resource, options.field_validation))
    act = Act(request.user, options)
    for _ in range(MAX_TRIES):
        warnings, written = await _attempt(api, at, read, act, manager, size=len(body))
        if written is not None:
            return responses.one(api, written, at.resource, form, warnings=warnings + act.warnings)
    raise api_errors.changed(at.resource, at.name)


def patch_in(body: bytes, media: str, resource: Resource, field_validation: str) -> Patch:
    """The patch in a body of this media type."""
    supported = [JSON_PATCH, MERGE_PATCH] + ([] if resource.is_custom else [STRATEGIC_MERGE_PATCH]) + [apply.MEDIA]
    if media not in supported:
        listed = ", ".join(supported)
        raise errors.UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )
    document = request_body.parse(body, negotiation.JSON, finds_duplicates=field_validation != "Ignore")
    value = document.value
    if media == JSON_PATCH:
        sealed = SEALED if resource.group_resource == SECRETS else ()
        return Patch(lambda object_: jsonpatch.apply(object_, value, sealed=sealed), codec_field_validation.of_json_patch(document))
    if not isinstance(value, dict):
        raise errors.BadRequest("the patch must be an object")
    odd = codec_field_validation.duplicate(document.duplicates)
    if media == MERGE_PATCH:
        return Patch(lambda object_: mergepatch.apply(object_, value), odd)
    said = {name: part for name, part in value.items() if name not in _OF_KIND}
    return Patch(lambda object_: strategic.apply(object_, said, resource.load_schema()), odd)


async def _attempt(
    api: Api, at: Target, patch: Patch, act: Act, manager: str, *, size: int
) -> tuple[tuple[str, ...], Record | None]:
    now = await version_conversion.read(api, at)
    if now is None:
        raise api_errors.not_found(at.resource, at.name)
    act.is_mutable = api.admission.mutates(UPDATE, at)
    read = await api.apart(size + len(now.value), lambda: _changed(api, at, now, patch, act, manager))
    return read.warnings, await write.write(api, at, now, read.object, act)


def _changed(api: Api, at: Target, now: Record, patch: Patch, act: Act, manager: str) -> request_body.Read:
    """The patched object, ready to be written. `Conflict` if the patch is meant for another version of it."""
    old = object_codec.loaded(now, at.resource)
    result = _without_known_owners(patch.change(object_codec.served(now, at.resource)), old)
    read = patch_result.typed(api, result, at, act.write_options.field_validation, patch.odd)
    new = read.object
    with patch_result.blamed():
        request_body.check_kind(new, at.resource)
    path_identity.check(new["metadata"], at)
    update.settle_version(new["metadata"], old["metadata"], at.resource)
    if new["metadata"]["resourceVersion"] not in {"", old["metadata"]["resourceVersion"]}:
        raise api_errors.changed(at.resource, at.name)
    write.prepare_changed(api, at, new, old, managed_fields.updater(api.kinds, at, new, old, manager, api.now()), act)
    return read


def _without_known_owners(result: Any, old: dict[str, Any]) -> Any:
    """What the patch makes of the object, less its `managedFields` if they are as they were: nobody has to read those."""
    meta = result.get("metadata") if isinstance(result, dict) else None
    if not isinstance(meta, dict) or meta.get("managedFields") != old["metadata"].get("managedFields"):
        return result
    return {**result, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}
