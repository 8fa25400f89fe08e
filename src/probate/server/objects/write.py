"""What create, update and patch share: prepare an object, validate it, admit it, and commit it in one guarded transaction.

An update is guarded by the revision that it is based on. A create is guarded by its scope: the namespace, and for custom resources
the CRD, must exist and must not be terminating.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from probate.api import metadata
from probate.api.apply import managed_fields
from probate.api.apply.managed_fields import Entry
from probate.api.catalog import Resource
from probate.api.field_errors import FieldError
from probate.api.objects import Object
from probate.core import errors
from probate.core.errors import Details
from probate.server import api_errors
from probate.server.admission import volume_expansion
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, CommitRequirements, WriteRequest
from probate.server.authz import block_owner_deletion, owner_reference_permissions
from probate.server.codec import object_codec, version_conversion
from probate.server.context import ServerContext
from probate.server.kind_rules.contract import KindRules
from probate.server.objects import deletion, owner_reference_warnings, service_allocation, write_checks
from probate.server.ownership import namespace_content
from probate.server.request import Target
from probate.server.storage import service_claims, storage_keys
from probate.store.contract import FailedGuards, Guard, Record, Revision, Txn, Unchanged

EntriesOnCreate = Callable[[Object, str], list[Entry]]
"""Returns the managed fields entries of a new object after defaulting, given the current time."""
EntriesOnUpdate = Callable[[Any], list[Entry]]
"""Returns the managed fields entries of an updated object, given the entries that the client sent."""

MAX_OPEN_NAMESPACES = 4_000
"""Namespaces whose guards are cached. The cache is valid while no namespace changes."""


def cached_scope_guards(api: ServerContext, target: Target) -> tuple[Guard, ...]:
    """Fast path: returns what `scope_guards` would return if it is cached, else an empty tuple."""
    if not target.namespace or target.resource.is_custom:
        return ()
    guard = _cached_namespace_guard(api, target.namespace)
    return () if guard is None else (guard,)


async def scope_guards(api: ServerContext, target: Target) -> tuple[Guard, ...]:
    """Returns guards that the namespace, and the CRD of a custom resource, still are as read: existing and not terminating."""
    guards = (await namespace_guard(api, target.namespace),) if target.namespace else ()
    return (*guards, await _crd_guard(api, target)) if target.resource.is_custom else guards


async def _crd_guard(api: ServerContext, target: Target) -> Guard:
    """Returns the guard that the CRD is unchanged. Raises `Forbidden` if it is being deleted."""
    key = storage_keys.crd_key(target.resource)
    record = await api.store.read(key)
    if record is None:
        raise api_errors.resource_not_found()
    if object_codec.meta(record.value).deletion_timestamp is not None:
        reason = f"objects of this kind cannot be created: the CustomResourceDefinition {key.rpartition('/')[2]} is being deleted"
        raise api_errors.forbidden(target.resource, target.name, reason)
    return Unchanged(key, record.revision)


def _cached_namespace_guard(api: ServerContext, name: str) -> Guard | None:
    """Returns the cached guard of a namespace, or None if a namespace has changed since it was cached."""
    guard = api.open_namespaces.get(name)
    if guard is None:
        return None
    unchanged = api.store.unchanged_since(storage_keys.NAMESPACES_RANGE)
    return guard[0] if unchanged is not None and unchanged.since <= guard[1] else None


async def namespace_guard(api: ServerContext, name: str) -> Guard:
    """Returns the guard that the namespace is unchanged. Raises `NotFound` or, if it is terminating, `Forbidden`."""
    guard, unchanged = _cached_namespace_guard(api, name), api.store.unchanged_since(storage_keys.NAMESPACES_RANGE)
    if guard is not None:
        return guard
    guard = await _read_namespace(api, name)
    if unchanged is not None:
        if len(api.open_namespaces) >= MAX_OPEN_NAMESPACES:
            api.open_namespaces.clear()
        api.open_namespaces[name] = guard, unchanged.now
    return guard


async def _read_namespace(api: ServerContext, name: str) -> Guard:
    record = await api.store.read(storage_keys.namespace_key(name))
    namespaces = api.catalog.find("", "v1", "namespaces")
    if record is None:
        if namespaces is None:
            raise errors.InvariantViolation("the built-in catalog lacks Namespace")
        raise api_errors.not_found(namespaces, name)
    if object_codec.meta(record.value).deletion_timestamp is not None:
        cause = FieldError("NamespaceTerminating", "metadata.namespace", f"namespace {name} is being terminated")
        details = Details(name=name, kind="namespaces", causes=(cause,))
        raise errors.Forbidden(f"nothing can be created in namespace {name} because it is being terminated", details)
    return Unchanged(record.key, record.revision)


_SERVER_FIELDS = frozenset({"resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"})
"""Metadata that clients cannot set on create.

(They can set the generation of kinds that do not count it, as a restored copy does.)
"""


def prepare_create(
    api: ServerContext, resource: Resource, object_: Object, namespace: str, create_entries: EntriesOnCreate
) -> None:
    """Sets what the server sets on a new object: defaults, uid, creationTimestamp, managed fields, and what its kind adds."""
    rules, now = api.kinds.rules(resource), api.timestamp()
    entries = set_defaults(rules, object_, namespace, create_entries, now)
    uid, meta = api.new_uid(), object_["metadata"]
    meta["uid"], meta["creationTimestamp"] = uid, now
    if resource.plural == "pods" and not resource.group:
        api.admission.priority.admit(resource, object_)
        api.admission.runtime_class.admit(resource, object_)
    rules.prepare_for_create(object_, uid=uid, now=now)
    if entries:
        object_["metadata"]["managedFields"] = entries


def set_defaults(rules: KindRules, object_: Object, namespace: str, create_entries: EntriesOnCreate, now: str) -> list[Entry]:
    """Removes fields that clients cannot set, sets defaults, and returns the managed fields entries."""
    meta = object_["metadata"]
    if not _SERVER_FIELDS.isdisjoint(meta):
        for server_side in _SERVER_FIELDS:
            meta.pop(server_side, None)
    rules.set_defaults(object_)
    entries = create_entries(object_, now)
    if namespace:
        object_["metadata"]["namespace"] = namespace
    return entries


def allows_unconditional_update(resource: Resource) -> bool:
    """Whether an update without resourceVersion is allowed (Kubernetes' AllowUnconditionalUpdate)."""
    return not resource.is_custom and metadata.allows_unconditional_update(resource.group, resource.kind)


def prepare_update(
    api: ServerContext, target: Target, new: Object, old: Object, update_entries: EntriesOnUpdate, act: WriteRequest
) -> None:
    """Restores what this write cannot change, validates the object, and sets its managed fields. Raises `Invalid`.

    If mutating admission may still change the object, validation runs after it, in `mutate`.
    """
    sent_entries = new["metadata"].pop("managedFields", None)
    _restore_immutable(api, target, new, old)
    if not act.is_mutable:
        _validate_update(api, target, new, old, act)
    _set_managed_fields(new, old, update_entries(sent_entries))


def _restore_immutable(api: ServerContext, target: Target, new: Object, old: Object) -> None:
    """Restores the fields that this write cannot change."""
    meta, before = new["metadata"], old["metadata"]
    for fixed in ("creationTimestamp", "generation", "namespace"):
        meta.pop(fixed, None)
        if fixed in before:
            meta[fixed] = before[fixed]
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before and meta.get("deletionGracePeriodSeconds") is None:
        meta["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
    meta["uid"] = meta.get("uid") or before["uid"]
    meta.pop("selfLink", None)
    api.kinds.rules(target.resource).prepare_for_update(new, old, _written_subresource(target), now=api.timestamp())


def _validate_update(api: ServerContext, target: Target, new: Object, old: Object, act: WriteRequest) -> None:
    rules, part = api.kinds.rules(target.resource), _written_subresource(target)
    problems = rules.validate_update(new, old, part)
    if problems:
        raise api_errors.invalid(target.resource, target.name, problems)
    if warnings := rules.warnings_on_update(new, old, part):
        act.warn(*warnings)


def _written_subresource(target: Target) -> str:
    """Returns the subresource that is written; empty for `scale`, which writes the object itself."""
    return "" if target.subresource == "scale" else target.subresource


async def mutate(api: ServerContext, target: Target, current: Record, new: Object, act: WriteRequest) -> Object:
    """Runs mutating admission and validates its result. Raises `Invalid`."""
    if not act.is_mutable:
        return new
    entries = new["metadata"].get("managedFields") or []  # fields that a plugin adds have no field manager
    mutated = await api.admission.phases.mutate_update(target, new, act, current=current)
    await api.offload_if_large(
        len(current.value),
        lambda: _prepare_mutated(api, target, mutated, object_codec.loaded(current, target.resource), entries, act),
    )
    return mutated


def _prepare_mutated(api: ServerContext, target: Target, new: Object, old: Object, entries: list[Entry], act: WriteRequest) -> None:
    meta = new["metadata"]
    meta.pop("managedFields", None)
    if meta.get("name") != old["metadata"]["name"] or meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
        raise errors.BadRequest("admission changed the name or the uid of the object: a webhook or policy must not change them")
    meta["resourceVersion"] = old["metadata"]["resourceVersion"]
    _restore_immutable(api, target, new, old)
    _validate_update(api, target, new, old, act)
    _set_managed_fields(new, old, entries)


def _set_managed_fields(new: Object, old: Object, entries: list[Entry]) -> None:
    """Sets the managed fields.

    If neither object nor entries changed, apart from times and order, `new` becomes `old`, so nothing is written.
    """
    before = old["metadata"].get("managedFields") or []
    meta = new["metadata"] = {name: value for name, value in new["metadata"].items() if name != "managedFields"}
    if before:
        meta["managedFields"] = before
    if _is_same(new, old) and (entries is before or managed_fields.equal_ignoring_time(entries, before)):
        new.clear()
        new.update(old)
    elif entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)


def _is_same(new: Object, old: Object) -> bool:
    """Whether two objects are equal. Either may lack kind and apiVersion."""
    return new.keys() >= old.keys() - {"kind", "apiVersion"} and all(name in old and old[name] == new[name] for name in new)


async def commit_update(
    api: ServerContext,
    resource: Resource,
    current: Record,
    new: Object,
    *,
    is_dry_run: bool,
    terms: CommitRequirements = NO_REQUIREMENTS,
) -> Record | None:
    """Commits an update, guarded by the revision that was read. Returns None if the object was modified concurrently.

    Removes the object instead if `deletion.is_ready_for_removal`. Writes nothing if nothing changed.
    """
    old = object_codec.meta(current.value)
    if deletion.is_ready_for_removal(resource, new) and not await namespace_content.has_content(api.store, resource, current):
        plan = deletion.plan_removal(current, old, deletion.removal_guards(resource, new))
        outcome = current.revision if is_dry_run else await api.store.commit(require_transaction(plan.txn))
        if not isinstance(outcome, FailedGuards):
            return Record(current.key, object_codec.stored(new), current.revision)
        if isinstance(outcome.guards[0], Unchanged):
            return None
        # It still contains other objects: it is removed together with the last of them.
    plan = await api.offload_if_large(
        len(current.value), lambda: deletion.plan_update(current, old, new, terms.guards, terms.enter)
    )
    if plan.txn is None or is_dry_run:
        return plan.record
    txn = plan.txn
    if resource.is_converted and txn.value is not None:
        txn = msgspec.structs.replace(txn, value=await version_conversion.stored(api, resource, txn.value))
    outcome = await api.store.commit(txn)
    return None if isinstance(outcome, FailedGuards) else Record(current.key, plan.record.value, Revision(outcome))


async def admit_and_commit(api: ServerContext, target: Target, current: Record, new: Object, act: WriteRequest) -> Record | None:
    """Runs mutating admission, the checks that depend on the user or the kind, and validating admission; then `commit_update`."""
    new = await mutate(api, target, current, new, act)
    if target.resource.group in write_checks.CHECKS:
        await write_checks.CHECKS[target.resource.group](api, act.user, target, new, object_codec.loaded(current, target.resource))
    if target.resource.plural == volume_expansion.CLAIMS and not target.subresource:
        api.admission.volume_expansion.check(target, new, object_codec.loaded(current, target.resource))
    if owner_reference_permissions.may_differ(act.user, new, current.value):
        await owner_reference_permissions.check(api, act.user, target, new, object_codec.loaded(current, target.resource))
    if "ownerReferences" in new["metadata"]:
        old = object_codec.loaded(current, target.resource)
        await block_owner_deletion.check(api, act.user, target, new, old)
        await owner_reference_warnings.check(api, act, target, new, old)
    await service_allocation.allocate(api, target.resource, new, service_claims.claims_of(current.key, current.value))
    if not api.admission.chain.validators:
        return await commit_update(api, target.resource, current, new, is_dry_run=act.is_dry_run)
    terms = await api.admission.phases.validate_update(target, new, act, current=current)
    try:
        return await commit_update(api, target.resource, current, new, is_dry_run=act.is_dry_run, terms=terms)
    finally:
        terms.release()


def require_transaction(txn: Txn | None) -> Txn:
    """Returns the transaction. Raises `InvariantViolation` if there is none."""
    if txn is None:
        raise errors.InvariantViolation("the plan writes nothing")
    return txn
