"""`token`: a token for a service account, for some audiences, for a while, bound to a pod, a secret or a node if that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api import field_errors
from probate.api.catalog import Resource
from probate.api.field_errors import Path, Problem
from probate.api.schema.node import Schema
from probate.api.timestamps import timestamp
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.authn.service_accounts import BOUND, Bound, Wanted
from probate.server.codec import negotiation, object_codec, request_body, responses
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import path_identity
from probate.server.request import Request, Target
from probate.server.storage import storage_keys

Object = dict[str, Any]

USUAL_SECONDS = 3600
LEAST_SECONDS = 600
MOST_SECONDS = 1 << 32
MAX_AUDIENCES = 100
_SPEC = Path("spec")


async def answer(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Make a token for the service account."""
    options = query.write_options(request.query, "CreateOptions")
    asked, warnings = await _read(api, request, at, options.field_validation)
    record = await api.store.read(storage_keys.of(at.resource, at.namespace or "", at.name))
    if record is None:
        raise api_errors.not_found(at.resource, at.name)
    spec = asked["spec"]
    if wrong := list(_problems(spec)):
        raise api_errors.invalid(_REQUESTS, "", wrong)
    bound, node = await _bound(api, at, spec.get("boundObjectRef"))
    seconds, audiences = spec.get("expirationSeconds") or USUAL_SECONDS, tuple(spec.get("audiences") or api.accounts.audiences)
    meta = object_codec.meta(record.value)
    wanted = Wanted(at.namespace or "", at.name, meta.uid, audiences, seconds, bound, node)
    token, ends = api.accounts.issue(wanted, id_=api.new_uid())
    until = timestamp(ends)
    made = {"metadata": {"name": at.name, "namespace": at.namespace, "creationTimestamp": api.now()}}
    whole = {**_ABOUT, **made, "spec": {**spec, "audiences": list(audiences), "expirationSeconds": seconds}}
    return responses.one_made(
        {**whole, "status": {"token": "" if options.is_dry_run else token, "expirationTimestamp": until}}, form, 201, warnings
    )


async def _read(api: Api, request: Request, at: Target, field_validation: str) -> request_body.Read:
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    finds = field_validation != "Ignore"
    document = await api.apart(len(body), lambda: request_body.parse(body, media, finds_duplicates=finds))
    if not isinstance(document.value, dict):
        raise errors.BadRequest("the body must be a TokenRequest")
    request_body.check_kind(document.value, _REQUESTS)
    read = request_body.command(document, media, _REQUESTS.load_schema(), field_validation)
    meta = read.object.get("metadata", {})
    path_identity.check_namespace(meta, at)
    if meta.get("name") not in {None, "", at.name}:
        wrong = field_errors.invalid(Path("metadata.name"), meta["name"], "must match the service account name if specified")
        raise api_errors.invalid(_REQUESTS, at.name, [wrong])
    return read._replace(object={"spec": {}, **read.object})


def _problems(spec: Object) -> Iterator[Problem]:
    seconds = spec.get("expirationSeconds") or USUAL_SECONDS
    at = _SPEC / "expirationSeconds"
    if seconds < LEAST_SECONDS:
        yield field_errors.invalid(at, seconds, "may not specify a duration less than 10 minutes")
    if seconds > MOST_SECONDS:
        yield field_errors.invalid(at, seconds, f"may not specify a duration larger than {MOST_SECONDS} seconds")
    if len(spec.get("audiences") or ()) > MAX_AUDIENCES:
        yield field_errors.invalid(_SPEC / "audiences", len(spec["audiences"]), f"must have at most {MAX_AUDIENCES} items")


async def _bound(api: Api, at: Target, reference: Object | None) -> tuple[Bound | None, Bound | None]:
    """What the token is bound to, and the node of that if it is a pod. `NotFound` or `Conflict` if there is none, or another."""
    if reference is None:
        return None, None
    kind, name, of = reference.get("kind") or "", reference.get("name") or "", reference.get("apiVersion") or ""
    if kind not in BOUND or "/" in of:
        raise errors.BadRequest(f"cannot bind token to object of type {of or 'v1'} {kind}: give one of {', '.join(BOUND)}")
    resource = api.catalog.find("", "v1", BOUND[kind])
    if resource is None:
        raise errors.InvariantViolation(f"there is no kind {kind}")
    record = (
        await api.store.read(storage_keys.of(resource, at.namespace or "" if resource.is_namespaced else "", name))
        if name
        else None
    )
    if record is None:
        raise api_errors.not_found(resource, name)
    found = object_codec.loaded(record, resource)
    uid = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        raise api_errors.conflict(
            resource, name, f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record"
        )
    if kind != "Pod":
        return Bound(kind, name, uid), None
    if found["spec"].get("serviceAccountName") != at.name:
        told = f"a token of the service account {at.name!r} cannot be bound to a pod that runs as another"
        raise errors.BadRequest(told)
    return Bound(kind, name, uid), await _node(api, found["spec"].get("nodeName") or "")


async def _node(api: Api, name: str) -> Bound | None:
    nodes = api.catalog.find("", "v1", "nodes")
    record = await api.store.read(storage_keys.of(nodes, "", name)) if nodes is not None and name else None
    return None if record is None else Bound("Node", name, object_codec.meta(record.value).uid)


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
_ABOUT = {"kind": _REQUESTS.kind, "apiVersion": str(_REQUESTS.group_version)}
