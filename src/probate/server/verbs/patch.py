"""`patch`: changes the current object by a JSON patch, a merge patch, a strategic merge patch, or server-side apply.

A patch applies to any version of the object, unless it names a resourceVersion, so it is retried after a concurrent modification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api import field_errors, strategic
from probate.api.catalog import Resource
from probate.api.field_errors import FieldPath
from probate.api.gvk import GroupResource
from probate.core import errors
from probate.lib import jsonpatch, mergepatch
from probate.server import api_errors, query
from probate.server.admission.admission_attributes import UPDATE, WriteRequest
from probate.server.codec import field_validation as codec_field_validation
from probate.server.codec import negotiation, object_codec, patch_result, request_body
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import managed_fields, path_identity
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.verbs import apply, update
from probate.store.contract import Record

MAX_TRIES = 20

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
SECRETS = GroupResource("", "secrets")
SECRET_FIELDS = ("data", "stringData")
"""The fields of a Secret whose values error messages must not reveal."""
_TYPE_FIELDS = {"kind", "apiVersion"}
"""Fields that a strategic merge patch cannot change: the object determines its kind."""


class Patch(NamedTuple):
    """A function that patches an object, and the field validation problems of the patch document."""

    change: Callable[[dict[str, Any]], Any]
    problems: list[str]


async def patch(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles a PATCH."""
    options = query.write_options(request.query, "PatchOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    if media == apply.MEDIA_TYPE:
        return await apply.apply(context, request, target, form=form)
    if "force" in request.query:
        reason = "may not be specified for non-apply patch"
        raise api_errors.invalid_options("PatchOptions", [field_errors.forbidden(FieldPath("force"), reason)])
    body, manager = await request.read_body(), managed_fields.field_manager(request, options.field_manager)
    parsed = await context.offloader.offload_if_large(
        len(body), lambda: parse_patch(body, media, target.resource, field_validation=options.field_validation)
    )
    act = WriteRequest(request.user, options)
    for _ in range(MAX_TRIES):
        warnings, record = await _attempt(context, target, parsed, act=act, manager=manager, size=len(body))
        if record is not None:
            return context.responses.one(record, target.resource, form, warnings=warnings + act.warnings)
    raise api_errors.modified(target.resource, target.name)


def parse_patch(body: bytes, media: str, resource: Resource, *, field_validation: str) -> Patch:
    """Parses the patch in a body of this media type. Raises `UnsupportedMediaType` or `BadRequest`."""
    supported = [JSON_PATCH, MERGE_PATCH] + ([] if resource.is_custom else [STRATEGIC_MERGE_PATCH]) + [apply.MEDIA_TYPE]
    if media not in supported:
        listed = ", ".join(supported)
        raise errors.UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )
    document = request_body.parse(body, negotiation.JSON, finds_duplicates=field_validation != "Ignore")
    value = document.value
    if media == JSON_PATCH:
        secret_fields = SECRET_FIELDS if resource.group_resource == SECRETS else ()
        return Patch(
            lambda object_: jsonpatch.apply(object_, value, sealed=secret_fields), codec_field_validation.of_json_patch(document)
        )
    if not isinstance(value, dict):
        raise errors.BadRequest("the patch must be an object")
    problems = codec_field_validation.duplicate(document.duplicates)
    if media == MERGE_PATCH:
        return Patch(lambda object_: mergepatch.apply(object_, value), problems)
    fields = {name: part for name, part in value.items() if name not in _TYPE_FIELDS}
    return Patch(lambda object_: strategic.apply(object_, fields, resource.load_schema()), problems)


async def _attempt(
    context: ServerContext, target: Target, patch: Patch, *, act: WriteRequest, manager: str, size: int
) -> tuple[tuple[str, ...], Record | None]:
    current = await context.version_converter.read(target)
    if current is None:
        raise api_errors.not_found(target.resource, target.name)
    act.is_mutable = context.admission.chain.mutates(UPDATE, target)
    parsed = await context.offloader.offload_if_large(
        size + len(current.value), lambda: _patched_object(context, target, current, patch=patch, act=act, manager=manager)
    )
    return parsed.warnings, await context.writer.admit_and_commit(target, current, parsed.object, act=act)


def _patched_object(
    context: ServerContext, target: Target, current: Record, *, patch: Patch, act: WriteRequest, manager: str
) -> request_body.Read:
    """Returns the patched object, ready to be committed. Raises `Conflict` if the patch names another resourceVersion."""
    old = object_codec.loaded(current, target.resource)
    result = _without_unchanged_managed_fields(patch.change(object_codec.served(current, target.resource)), old)
    parsed = patch_result.typed(
        context.kinds.rules(target.resource),
        result,
        target,
        field_validation=act.write_options.field_validation,
        odd=patch.problems,
    )
    patched = parsed.object
    with patch_result.blamed():
        request_body.check_kind(patched, target.resource)
    path_identity.check_identity(patched["metadata"], target)
    update.set_resource_version(patched["metadata"], old["metadata"], target.resource)
    if patched["metadata"]["resourceVersion"] not in {"", old["metadata"]["resourceVersion"]}:
        raise api_errors.modified(target.resource, target.name)
    entries = managed_fields.entries_on_update(context.kinds, target, manager, new=patched, old=old, now=context.timestamp())
    context.preparer.prepare_update(target, patched, old, update_entries=entries, act=act)
    return parsed


def _without_unchanged_managed_fields(result: Any, old: dict[str, Any]) -> Any:
    """Returns the result without `managedFields` if they are unchanged, so that they are not decoded."""
    meta = result.get("metadata") if isinstance(result, dict) else None
    if not isinstance(meta, dict) or meta.get("managedFields") != old["metadata"].get("managedFields"):
        return result
    return {**result, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}
