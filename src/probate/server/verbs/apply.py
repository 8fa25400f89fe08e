"""`apply`: a patch that says what its author wants of the object, and nothing else. (`api.apply` has the rules.)

Like other patches it is meant whatever the object is now. Unlike them it creates an object that is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api import field_errors
from probate.api.apply.field_managers import Applied
from probate.api.documents import Document
from probate.api.field_errors import Path
from probate.core import errors
from probate.server import api_errors, query
from probate.server.admission.attributes import UPDATE, Act, View
from probate.server.authz import attributes
from probate.server.codec import field_validation, object_codec, patch_result, request_body, responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import managed_fields, path_identity, write
from probate.server.query import WriteOptions
from probate.server.request import Request, Target
from probate.server.verbs import create
from probate.store.contract import Record

MEDIA = "application/apply-patch+yaml"
MAX_TRIES = 20

Object = dict[str, Any]


class Outcome(NamedTuple):
    """What became of an apply."""

    record: Record
    is_new: bool
    warnings: tuple[str, ...]


async def apply(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Apply the document in the body."""
    done = await carry_out(api, request, at, lambda document: document)
    return responses.one(api, done.record, at.resource, form, code=201 if done.is_new else 200, warnings=done.warnings)


async def carry_out(
    api: Api, request: Request, at: Target, translate: Callable[[Object], Object], view: View | None = None
) -> Outcome:
    """Apply what `translate` makes of the document in the body: it is to be of the resource's kind."""
    options = _options(request)
    body = await request.read_body()
    document = await api.apart(len(body), lambda: _document(body, at, options, translate))
    warnings = document.lines if options.field_validation == "Warn" else ()
    act = Act(request.user, options, view)
    for _ in range(MAX_TRIES):
        now = await version_conversion.read(api, at)
        if now is not None:
            written = await _change(api, at, now, document.value, act, size=len(body))
        elif at.subresource:
            raise api_errors.not_found(at.resource, at.name)
        else:
            written = await _create(api, at, document.value, act, size=len(body))
        if written is not None:
            return Outcome(written, now is None, warnings + act.warnings)
    raise api_errors.changed(at.resource, at.name)


def _options(request: Request) -> WriteOptions:
    options = query.write_options(request.query, "PatchOptions")
    if not options.field_manager:
        missing = field_errors.required(Path("fieldManager"), "is required for apply patch")
        raise api_errors.invalid_options("PatchOptions", [missing])
    return options


def _document(body: bytes, at: Target, options: WriteOptions, translate: Callable[[Object], Object]) -> Document:
    read = request_body.parse(body, "application/yaml", finds_duplicates=options.field_validation != "Ignore")
    if not isinstance(read.value, dict):
        raise errors.BadRequest("the applied document must be an object")
    document = translate(read.value)
    request_body.check_kind(document, at.resource)
    if not document.get("kind") or not document.get("apiVersion"):
        raise errors.BadRequest("the applied document must say its apiVersion and kind")
    meta = document.get("metadata")
    if not isinstance(meta, dict | None):
        raise errors.BadRequest("the metadata of the applied document must be an object")
    if (meta or {}).get("managedFields") is not None:
        raise errors.BadRequest("metadata.managedFields must be nil: the server writes them, nobody applies them")
    document = {**document, "metadata": dict(meta or {})}
    document["metadata"].setdefault("name", at.name)
    path_identity.check(document["metadata"], at)
    if read.lines and options.field_validation == "Strict":
        (told,) = field_validation.in_yaml(read.lines)
        raise errors.BadRequest(f"error strict decoding YAML: error converting YAML to JSON: {told}")
    return read._replace(value=document)


async def _change(api: Api, at: Target, now: Record, document: Object, act: Act, *, size: int) -> Record | None:
    act.is_mutable = api.admission.mutates(UPDATE, at)
    new = await api.apart(size + len(now.value), lambda: _changed(api, at, now, document, act))
    return await write.write(api, at, now, new, act)


def _changed(api: Api, at: Target, now: Record, document: Object, act: Act) -> Object:
    live, old = object_codec.served(now, at.resource), object_codec.loaded(now, at.resource)
    _check_is_meant(document, live, at)
    done = _applied(api, at, live, document, act.write_options)
    new = patch_result.typed(api, done.object, at, "Ignore").object
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    write.prepare_changed(api, at, new, old, lambda *_: done.entries, act)
    return new


def _applied(api: Api, at: Target, live: Object | None, document: Object, options: WriteOptions) -> Applied:
    name, is_forced = options.field_manager, options.is_forced
    done = managed_fields.apply(api.kinds, at, live, document, name=name, now=api.now(), is_forced=is_forced)
    wrong = api.kinds.rules(at.resource).problems_of_applied(done.object)
    if wrong:
        raise api_errors.invalid(at.resource, at.name, wrong)
    return done


def _check_is_meant(document: Object, live: Object, at: Target) -> None:
    """`Conflict` if the document is meant for another object of this name, or for another version of it."""
    given, meta = document["metadata"], live["metadata"]
    if given.get("uid") and given["uid"] != meta["uid"]:
        raise api_errors.conflict(at.resource, at.name, f"the object has another uid ({meta['uid']}) than the applied document")
    if given.get("resourceVersion") and given["resourceVersion"] != meta["resourceVersion"]:
        raise api_errors.changed(at.resource, at.name)


async def _create(api: Api, at: Target, document: Object, act: Act, *, size: int) -> Record | None:
    meta = document["metadata"]
    if meta.get("uid") or meta.get("resourceVersion"):
        raise api_errors.conflict(at.resource, at.name, "the document is meant for an object that is there, and there is none")
    await api.access.check(act.user, attributes.about_new(at))
    done = await api.apart(size, lambda: _made(api, at, document, act.write_options))
    try:
        return await create.attempt(api, at, done.object, lambda *_: done.entries, act, size=size)
    except errors.AlreadyExists:
        return None


def _made(api: Api, at: Target, document: Object, options: WriteOptions) -> Applied:
    done = _applied(api, at, None, document, options)
    named = {**done.object, "metadata": {**done.object["metadata"], "name": at.name}}
    return Applied(patch_result.typed(api, named, at, "Ignore").object, done.entries)
