"""`token`: issues a service account token (TokenRequest) with audiences, an expiration and an optional bound object."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api import field_errors
from probate.api.catalog import Resource
from probate.api.field_errors import FieldError, FieldPath
from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.api.timestamps import format_time
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.authn.service_accounts import BINDABLE_KINDS, BoundObject, TokenRequest
from probate.server.codec import negotiation, object_codec, request_body, responses
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import path_identity
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import storage_keys

DEFAULT_SECONDS = 3600
MIN_SECONDS = 600
MAX_SECONDS = 1 << 32
MAX_AUDIENCES = 100
_SPEC = FieldPath("spec")


async def create_token(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles POST to a service account's `token`."""
    options = query.write_options(request.query, "CreateOptions")
    decoded, warnings = await _read(context, request, target, field_validation=options.field_validation)
    record = await context.store.read(storage_keys.object_key(target.resource, target.namespace or "", target.name))
    if record is None:
        raise api_errors.not_found(target.resource, target.name)
    spec = decoded["spec"]
    if problems := list(_problems(spec)):
        raise api_errors.invalid(_REQUESTS, "", problems)
    bound, node = await _bound(context, target, spec.get("boundObjectRef"))
    seconds, audiences = (
        spec.get("expirationSeconds") or DEFAULT_SECONDS,
        tuple(spec.get("audiences") or context.service_accounts.audiences),
    )
    meta = object_codec.meta(record.value)
    request_spec = TokenRequest(target.namespace or "", target.name, meta.uid, audiences, seconds, bound, node)
    await context.service_accounts.check_open(request_spec)
    token, expires_at = context.service_accounts.issue(request_spec, id_=context.new_uid())
    expiration = format_time(expires_at)
    metadata = {"name": target.name, "namespace": target.namespace, "creationTimestamp": context.timestamp()}
    token_request = {
        **_TYPE_META,
        "metadata": metadata,
        "spec": {**spec, "audiences": list(audiences), "expirationSeconds": seconds},
    }
    return responses.one_made(
        {**token_request, "status": {"token": "" if options.is_dry_run else token, "expirationTimestamp": expiration}},
        form,
        code=201,
        warnings=warnings,
    )


async def _read(context: ServerContext, request: Request, target: Target, *, field_validation: str) -> request_body.Read:
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    finds_duplicates = field_validation != "Ignore"
    document = await context.offloader.offload_if_large(
        len(body), lambda: request_body.parse(body, media, finds_duplicates=finds_duplicates)
    )
    if not isinstance(document.value, dict):
        raise errors.BadRequest("the body must be a TokenRequest")
    request_body.check_kind(document.value, _REQUESTS)
    read = request_body.command(document, media, _REQUESTS.load_schema(), field_validation=field_validation)
    meta = read.object.get("metadata", {})
    path_identity.check_namespace(meta, target)
    if meta.get("name") not in {None, "", target.name}:
        problem = field_errors.invalid(FieldPath("metadata.name"), meta["name"], "must match the service account name if specified")
        raise api_errors.invalid(_REQUESTS, target.name, [problem])
    return read._replace(object={"spec": {}, **read.object})


def _problems(spec: Object) -> Iterator[FieldError]:
    seconds = spec.get("expirationSeconds") or DEFAULT_SECONDS
    at = _SPEC / "expirationSeconds"
    if seconds < MIN_SECONDS:
        yield field_errors.invalid(at, seconds, "may not specify a duration less than 10 minutes")
    if seconds > MAX_SECONDS:
        yield field_errors.invalid(at, seconds, f"may not specify a duration larger than {MAX_SECONDS} seconds")
    if len(spec.get("audiences") or ()) > MAX_AUDIENCES:
        yield field_errors.invalid(_SPEC / "audiences", len(spec["audiences"]), f"must have at most {MAX_AUDIENCES} items")


async def _bound(context: ServerContext, target: Target, reference: Object | None) -> tuple[BoundObject | None, BoundObject | None]:
    """Returns the bound object and, for a pod, its node.

    Raises `NotFound` or `Conflict` if the object does not exist or differs.
    """
    if reference is None:
        return None, None
    kind, name, api_version = reference.get("kind") or "", reference.get("name") or "", reference.get("apiVersion") or ""
    if kind not in BINDABLE_KINDS or "/" in api_version:
        raise errors.BadRequest(
            f"cannot bind token to object of type {api_version or 'v1'} {kind}: give one of {', '.join(BINDABLE_KINDS)}"
        )
    resource = context.catalog.find("", "v1", BINDABLE_KINDS[kind])
    if resource is None:
        raise errors.InvariantViolation(f"the built-in catalog lacks {kind}")
    record = (
        await context.store.read(storage_keys.object_key(resource, target.namespace or "" if resource.is_namespaced else "", name))
        if name
        else None
    )
    if record is None:
        raise api_errors.not_found(resource, name)
    bound_object = object_codec.loaded(record, resource)
    uid = bound_object["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        raise api_errors.conflict(
            resource, name, f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record"
        )
    if kind != "Pod":
        return BoundObject(kind, name, uid), None
    if bound_object["spec"].get("serviceAccountName") != target.name:
        message = f"a token of the service account {target.name!r} cannot be bound to a pod that runs as another"
        raise errors.BadRequest(message)
    return BoundObject(kind, name, uid), await _node(context, bound_object["spec"].get("nodeName") or "")


async def _node(context: ServerContext, name: str) -> BoundObject | None:
    nodes = context.catalog.find("", "v1", "nodes")
    record = await context.store.read(storage_keys.object_key(nodes, "", name)) if nodes is not None and name else None
    return None if record is None else BoundObject("Node", name, object_codec.meta(record.value).uid)


_REQUESTS = Resource(
    group="authentication.k8s.io",
    version="v1",
    plural="tokenrequests",
    kind="TokenRequest",
    singular="tokenrequest",
    is_namespaced=True,
    verbs=(),
    load_schema=lambda: catalog.schema("authentication.k8s.io", "v1", "TokenRequest") or Schema(),
)
_TYPE_META = {"kind": _REQUESTS.kind, "apiVersion": str(_REQUESTS.group_version)}
