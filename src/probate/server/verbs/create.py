"""`create`: a new object, under the name that was given or one made from `generateName`."""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.core import errors
from probate.server import api_errors, query
from probate.server.admission import phases, pod_topology_labels
from probate.server.admission.attributes import CREATE, NO_TERMS, Act, Terms
from probate.server.authz import block_owner_deletion, csr_signers, write_checks
from probate.server.codec import negotiation, object_codec, request_body, responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import LARGE_BYTES, Answer, Api
from probate.server.objects import managed_fields, owner_reference_warnings, path_identity, service_allocation, write
from probate.server.request import Request, Target
from probate.server.storage import index_entries, service_claims, storage_keys
from probate.store.contract import NOTHING, Absent, Guard, Record, Refused, Revision
from probate.store.contract import create as new

MAX_REVISION_DIGITS = 18
MAX_TRIES = 8
"""Of a generated name or a chosen address that is taken, and of a namespace that changes meanwhile."""


async def create(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Create the object in the body."""
    options = query.write_options(request.query, "CreateOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body = request.body if isinstance(request.body, bytes) else await request.body()
    asked = body, media, at.resource, api.kinds.rules(at.resource), options.field_validation
    if at.resource.is_custom or len(body) > LARGE_BYTES:
        read = await api.apart(len(body), lambda: request_body.read_object(*asked))
    else:  # how long it takes, its size alone tells
        read = request_body.read_object(*asked)
    _check_place(read.object, at)
    if not options.is_dry_run:
        _check_is_new(read.object)
    owners = managed_fields.creator(api.kinds, at, managed_fields.manager(request, options.field_manager))
    act = Act(request.user, options)
    for _ in range(MAX_TRIES):
        made = await attempt(api, at, read.object, owners, act, size=len(body))
        if made is not None:
            return responses.one(api, made, at.resource, form, code=201, warnings=read.warnings + act.warnings)
    raise errors.Conflict(
        "the object could not be created: its namespace keeps changing, or its generated names are taken. Try again"
    )


async def attempt(api: Api, at: Target, given: dict[str, Any], owners: write.Owners, act: Act, *, size: int) -> Record | None:
    """The new object; None if another try may work."""
    guards = write.known_scopes(api, at) or await write.open_scopes(api, at)
    if at.resource.group == csr_signers.GROUP:
        given = csr_signers.without_author(at, given)
    if api.admission.mutates(CREATE, at):
        object_ = await _mutated(api, at, given, owners, act, size=size)
    else:
        object_ = await api.apart(size, lambda: _made(api, at, given, owners, act))
    if at.resource.group == csr_signers.GROUP:
        object_ = csr_signers.with_author(act.user, at, object_)
    if at.resource.plural == "pods" and not at.resource.group and object_["spec"].get("nodeName"):
        await pod_topology_labels.note_new(api, object_)
    if at.resource.group in write_checks.CHECKS:
        await write_checks.CHECKS[at.resource.group](api, act.user, at, object_, None)
    if "ownerReferences" in object_["metadata"]:
        await block_owner_deletion.check(api, act.user, at, object_, None)
        await owner_reference_warnings.check(api, act, at, object_, None)
    if service_claims.may_have(at.resource):
        await service_allocation.settle(api, at.resource, object_)
    if not api.admission.validators:
        return await _enter(api, at, object_, guards, NO_TERMS, given, is_dry_run=act.is_dry_run)
    terms = await phases.validate_new(api, at, object_, act, name=given["metadata"].get("name") or "", size=size)
    try:
        return await _enter(api, at, object_, guards, terms, given, is_dry_run=act.is_dry_run)
    finally:
        terms.release()


async def _enter(
    api: Api,
    at: Target,
    object_: dict[str, Any],
    guards: tuple[Guard, ...],
    terms: Terms,
    given: dict[str, Any],
    *,
    is_dry_run: bool,
) -> Record | None:
    meta, value, enter = object_["metadata"], object_codec.stored(object_), terms.enter
    name = meta["name"]
    key = storage_keys.of(at.resource, at.namespace or "", name)
    if is_dry_run:
        return await _rehearse(api, at, Record(key, value, Revision(_given_revision(given["metadata"]))))
    guards += terms.guards
    if service_claims.may_have(at.resource):
        claimed = service_claims.changes(key, value, None)
        enter, guards = claimed.enter + enter, guards + claimed.guards
    if "ownerReferences" in meta:  # (a new one is not deleted yet, so it has no other entries)
        enter = (*index_entries.entries(key, object_codec.meta(value)), *enter)
    kept = await version_conversion.stored(api, at.resource, value) if at.resource.is_converted else value
    outcome = await api.store.commit(new(key, kept, enter=enter, guards=guards))
    if not isinstance(outcome, Refused):
        return Record(key, value, Revision(outcome))
    if Absent(key) in outcome.failed and given["metadata"].get("name"):
        raise api_errors.already_exists(at.resource, name)
    return None


async def _mutated(api: Api, at: Target, given: dict[str, Any], owners: write.Owners, act: Act, *, size: int) -> dict[str, Any]:
    """The new object as those make it who may change it. What they add belongs to nobody."""
    object_ = {**given, "metadata": dict(given["metadata"])}
    rules, now = api.kinds.rules(at.resource), api.now()
    owned = await api.apart(size, lambda: write.begin_new(rules, object_, at.namespace or "", owners, now))
    changed = await phases.mutate_new(api, at, object_, act, size=size)
    changed = {**changed, "metadata": dict(changed["metadata"])}
    _check_place(changed, at)
    if not act.is_dry_run:
        _check_is_new(changed)
    return await api.apart(size, lambda: _made(api, at, changed, lambda *_: owned, act))


def _made(api: Api, at: Target, given: dict[str, Any], owners: write.Owners, act: Act) -> dict[str, Any]:
    """The new object. `Invalid` if it is not as its kind has to be."""
    meta = dict(given["metadata"])
    object_ = {**given, "metadata": meta}
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = names.generate(meta["generateName"], api.random)
    write.prepare_new(api, at.resource, object_, at.namespace or "", owners)
    rules = api.kinds.rules(at.resource)
    problems = rules.problems_of_new(object_)
    if problems:
        raise api_errors.invalid(at.resource, meta.get("name", ""), problems)
    if told := rules.warnings_of_new(object_):
        act.warn(*told)
    return object_


async def _rehearse(api: Api, at: Target, made: Record) -> Record:
    if await api.store.read(made.key) is not None:
        raise api_errors.already_exists(at.resource, made.key.rpartition("/")[2])
    return made


def _check_is_new(object_: dict[str, Any]) -> None:
    """`BadRequest` for an object that has a revision. A dry run stores nothing, so it does not ask this, as in Kubernetes."""
    if _given_revision(object_["metadata"]):
        raise errors.BadRequest("resourceVersion should not be set on objects to be created")


def _given_revision(meta: dict[str, Any]) -> int:
    """The revision that a new object says it has. What is not a revision is ignored, as in Kubernetes."""
    text = meta.get("resourceVersion") or ""
    return int(text) if len(text) <= MAX_REVISION_DIGITS and text.isascii() and text.isdigit() else NOTHING


def _check_place(object_: dict[str, Any], at: Target) -> None:
    meta = object_["metadata"]
    if at.name and meta.get("name") != at.name:
        raise errors.BadRequest(f"the name of the object ({meta.get('name')}) does not match the name on the URL ({at.name})")
    if "namespace" in meta:
        path_identity.check_namespace(meta, at)
