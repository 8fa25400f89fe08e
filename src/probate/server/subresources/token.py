"""`token`: a token for a service account, for some audiences, for a while, bound to a pod, a secret or a node if that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate import errors
from probate.machinery import builtin, problems
from probate.machinery.catalog import Resource
from probate.machinery.moments import timestamp
from probate.machinery.problems import Path, Problem
from probate.machinery.schema import Schema
from probate.server import identity, negotiation, places, query, reading, refusals, shaping, wire
from probate.server.api import Answer, Api
from probate.server.authentication.accounts import BOUND, Bound, Wanted
from probate.server.negotiation import Form
from probate.server.request import Request, Target

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
    record = await api.store.read(places.of(at.resource, at.namespace or "", at.name))
    if record is None:
        raise refusals.not_found(at.resource, at.name)
    spec = asked["spec"]
    if wrong := list(_problems(spec)):
        raise refusals.invalid(_REQUESTS, "", wrong)
    bound, node = await _bound(api, at, spec.get("boundObjectRef"))
    seconds, audiences = spec.get("expirationSeconds") or USUAL_SECONDS, tuple(spec.get("audiences") or api.accounts.audiences)
    meta = wire.meta(record.value)
    wanted = Wanted(at.namespace or "", at.name, meta.uid, audiences, seconds, bound, node)
    token, ends = api.accounts.issue(wanted, id_=api.new_uid())
    until = timestamp(ends)
    made = {"metadata": {"name": at.name, "namespace": at.namespace, "creationTimestamp": api.now()}}
    whole = {**_ABOUT, **made, "spec": {**spec, "audiences": list(audiences), "expirationSeconds": seconds}}
    return shaping.one_made(
        {**whole, "status": {"token": "" if options.is_dry_run else token, "expirationTimestamp": until}}, form, 201, warnings
    )


async def _read(api: Api, request: Request, at: Target, field_validation: str) -> reading.Read:
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    finds = field_validation != "Ignore"
    document = await api.apart(len(body), lambda: reading.parse(body, media, finds_duplicates=finds))
    if not isinstance(document.value, dict):
        raise errors.BadRequest("the body must be a TokenRequest")
    reading.check_kind(document.value, _REQUESTS)
    read = reading.command(document, media, _REQUESTS.load_schema(), field_validation)
    meta = read.object.get("metadata", {})
    identity.check_namespace(meta, at)
    if meta.get("name") not in {None, "", at.name}:
        wrong = problems.invalid(Path("metadata.name"), meta["name"], "must match the service account name if specified")
        raise refusals.invalid(_REQUESTS, at.name, [wrong])
    return read._replace(object={"spec": {}, **read.object})


def _problems(spec: Object) -> Iterator[Problem]:
    seconds = spec.get("expirationSeconds") or USUAL_SECONDS
    at = _SPEC / "expirationSeconds"
    if seconds < LEAST_SECONDS:
        yield problems.invalid(at, seconds, "may not specify a duration less than 10 minutes")
    if seconds > MOST_SECONDS:
        yield problems.invalid(at, seconds, f"may not specify a duration larger than {MOST_SECONDS} seconds")
    if len(spec.get("audiences") or ()) > MAX_AUDIENCES:
        yield problems.invalid(_SPEC / "audiences", len(spec["audiences"]), f"must have at most {MAX_AUDIENCES} items")


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
    record = await api.store.read(places.of(resource, at.namespace or "" if resource.is_namespaced else "", name)) if name else None
    if record is None:
        raise refusals.not_found(resource, name)
    found = wire.loaded(record, resource)
    uid = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        raise refusals.conflict(
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
    record = await api.store.read(places.of(nodes, "", name)) if nodes is not None and name else None
    return None if record is None else Bound("Node", name, wire.meta(record.value).uid)


_REQUESTS = Resource(
    group="authentication.k8s.io",
    version="v1",
    plural="tokenrequests",
    kind="TokenRequest",
    singular="tokenrequest",
    is_namespaced=True,
    verbs=(),
    load_schema=lambda: builtin.schema("authentication.k8s.io", "v1", "TokenRequest") or Schema(),
)
_ABOUT = {"kind": _REQUESTS.kind, "apiVersion": str(_REQUESTS.group_version)}
