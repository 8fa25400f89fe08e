"""`create`: creates an object under its name, or under a name generated from `generateName`."""

from __future__ import annotations

from typing import Any

from probate.api import names, object_keys, tenants
from probate.core import errors
from probate.core.aio.large_work import LARGE_BYTES
from probate.server import api_errors, query
from probate.server.admission.admission_attributes import CREATE, NO_REQUIREMENTS, CommitRequirements, WriteRequest
from probate.server.authz import csr_signers
from probate.server.codec import negotiation, object_codec, request_body
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import managed_fields, path_identity, write_strategy
from probate.server.objects.write_strategy import EntriesOnCreate
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import index_entries, service_claims, storage_keys, tenancy
from probate.store.contract import NO_REVISION, Absent, EmptyRange, FailedGuards, Guard, Record, Revision
from probate.store.contract import create as new

MAX_REVISION_DIGITS = 18
MAX_TRIES = 8
"""Attempts, when a generated name or an allocated address is taken, or the namespace changes concurrently."""


async def create(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles a POST to a collection."""
    options = query.write_options(request.query, "CreateOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body = request.body if isinstance(request.body, bytes) else await request.body()
    resource, rules, validation = target.resource, context.kinds.rules(target.resource), options.field_validation
    if target.resource.is_custom or len(body) > LARGE_BYTES:
        decoded = await context.offloader.offload_if_large(
            len(body), lambda: request_body.read_object(body, media, resource, rules=rules, field_validation=validation)
        )
    else:  # decoding a built-in kind takes time in proportion to its size only
        decoded = request_body.read_object(body, media, resource, rules=rules, field_validation=validation)
    _check_path(decoded.object, target)
    if not options.is_dry_run:
        _check_no_resource_version(decoded.object)
    create_entries = managed_fields.entries_on_create(
        context.kinds, target, managed_fields.field_manager(request, options.field_manager)
    )
    act = WriteRequest(request.user, options)
    for _ in range(MAX_TRIES):
        record = await try_create(context, target, decoded.object, create_entries=create_entries, act=act, size=len(body))
        if record is not None:
            return context.responses.one(record, target.resource, form, code=201, warnings=decoded.warnings + act.warnings)
    raise errors.Conflict(
        "the object could not be created: its namespace keeps changing, or the generated names are taken. Try again"
    )


async def try_create(
    context: ServerContext,
    target: Target,
    requested: dict[str, Any],
    *,
    create_entries: EntriesOnCreate,
    act: WriteRequest,
    size: int,
) -> Record | None:
    """Creates the object. Returns None if another attempt may succeed."""
    guards = context.scope_guards.cached_guards(target) or await context.scope_guards.guards(target)
    if tenant := await context.tenancy.tenant_of_new(target, requested):
        create_entries = tenancy.labelling(create_entries, tenant)
    if target.resource.group == csr_signers.GROUP:
        requested = csr_signers.without_requester(target, requested)
    if context.admission.chain.mutates(CREATE, target):
        object_ = await _mutate(context, target, requested, create_entries=create_entries, act=act, size=size)
    else:
        object_ = await context.offloader.offload_if_large(
            size, lambda: _prepare(context, target, requested, create_entries=create_entries, act=act)
        )
    if target.resource.group == csr_signers.GROUP:
        object_ = csr_signers.with_requester(act.user, target, object_)
    if target.resource.plural == "pods" and not target.resource.group and object_["spec"].get("nodeName"):
        await context.admission.topology_labels.label_new_pod(object_)
    if target.resource.group in context.write_checks.by_group:
        await context.write_checks.by_group[target.resource.group].check(act.user, target, new=object_, old=None)
    if "ownerReferences" in object_["metadata"]:
        await context.write_checks.check_owner_references(act, target, new=object_, old=None)
    if service_claims.has_claims(target.resource):
        await context.service_allocator.allocate(target.resource, object_)
    if not context.admission.chain.validators:
        return await _commit(
            context, target, object_, guards=guards, terms=NO_REQUIREMENTS, requested=requested, is_dry_run=act.is_dry_run
        )
    terms = await context.admission.phases.validate_create(
        target, object_, act, name=requested["metadata"].get("name") or "", size=size
    )
    try:
        return await _commit(context, target, object_, guards=guards, terms=terms, requested=requested, is_dry_run=act.is_dry_run)
    finally:
        terms.release()


async def _commit(
    context: ServerContext,
    target: Target,
    object_: dict[str, Any],
    *,
    guards: tuple[Guard, ...],
    terms: CommitRequirements,
    requested: dict[str, Any],
    is_dry_run: bool,
) -> Record | None:
    meta, value, enter = object_["metadata"], object_codec.stored(object_), terms.enter
    name = meta["name"]
    key = storage_keys.object_key(target.resource, target.namespace or "", name)
    if is_dry_run:
        return await _dry_run(context, target, Record(key, value, Revision(_requested_revision(requested["metadata"]))))
    guards += terms.guards
    if service_claims.has_claims(target.resource):
        claimed = service_claims.claim_changes(key, value, None)
        enter, guards = claimed.enter + enter, guards + claimed.guards
    if key.startswith(tenants.TENANTS_RANGE):
        guards = (*guards, EmptyRange(tenants.content_range(name)))
    if "ownerReferences" in meta or key.startswith(tenants.TENANTS_RANGE):  # others have no index entries: none is being deleted
        enter = (*index_entries.entries_of(key, object_codec.meta(value)), *enter)
    stored = await context.version_converter.stored(target.resource, value) if target.resource.is_converted else value
    outcome = await context.store.commit(new(key, stored, add_entries=enter, guards=guards))
    if not isinstance(outcome, FailedGuards):
        return Record(key, value, Revision(outcome))
    if Absent(key) in outcome.guards and requested["metadata"].get("name"):
        raise api_errors.already_exists(target.resource, name)
    return None


async def _mutate(
    context: ServerContext,
    target: Target,
    requested: dict[str, Any],
    *,
    create_entries: EntriesOnCreate,
    act: WriteRequest,
    size: int,
) -> dict[str, Any]:
    """Returns the object after mutating admission. Fields that admission adds have no field manager."""
    object_ = {**requested, "metadata": dict(requested["metadata"])}
    rules, now = context.kinds.rules(target.resource), context.timestamp()
    entries = await context.offloader.offload_if_large(
        size,
        lambda: write_strategy.set_defaults(
            rules, object_, namespace=target.namespace or "", create_entries=create_entries, now=now
        ),
    )
    mutated = await context.admission.phases.mutate_create(target, object_, act, size=size)
    mutated = {**mutated, "metadata": dict(mutated["metadata"])}
    _check_path(mutated, target)
    if not act.is_dry_run:
        _check_no_resource_version(mutated)
    return await context.offloader.offload_if_large(
        size, lambda: _prepare(context, target, mutated, create_entries=lambda *_: entries, act=act)
    )


def _prepare(
    context: ServerContext, target: Target, requested: dict[str, Any], *, create_entries: EntriesOnCreate, act: WriteRequest
) -> dict[str, Any]:
    """Returns the object ready to be stored. Raises `Invalid` if its kind's validation fails."""
    meta = dict(requested["metadata"])
    object_ = {**requested, "metadata": meta}
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = names.generate_name(meta["generateName"], context.random)
    context.preparer.prepare_create(target.resource, object_, namespace=target.namespace or "", create_entries=create_entries)
    rules = context.kinds.rules(target.resource)
    problems = rules.validate_create(object_)
    if problems:
        raise api_errors.invalid(target.resource, meta.get("name", ""), problems)
    if warnings := rules.warnings_on_create(object_):
        act.warn(*warnings)
    return object_


async def _dry_run(context: ServerContext, target: Target, record: Record) -> Record:
    """Returns the record without storing it. Raises `AlreadyExists` if the key is taken."""
    if await context.store.read(record.key) is not None:
        raise api_errors.already_exists(target.resource, object_keys.name_in(record.key))
    return record


def _check_no_resource_version(object_: dict[str, Any]) -> None:
    """Raises `BadRequest` if the object has a resourceVersion. As in Kubernetes, dry runs skip this check."""
    if _requested_revision(object_["metadata"]):
        raise errors.BadRequest("resourceVersion should not be set on objects to be created")


def _requested_revision(meta: dict[str, Any]) -> int:
    """Returns the revision in the resourceVersion of a new object. Anything else in it is ignored, as in Kubernetes."""
    text = meta.get("resourceVersion") or ""
    return int(text) if len(text) <= MAX_REVISION_DIGITS and text.isascii() and text.isdigit() else NO_REVISION


def _check_path(object_: dict[str, Any], target: Target) -> None:
    meta = object_["metadata"]
    if target.name and meta.get("name") != target.name:
        raise errors.BadRequest(f"the name of the object ({meta.get('name')}) does not match the name on the URL ({target.name})")
    if "namespace" in meta:
        path_identity.check_namespace(meta, target)
