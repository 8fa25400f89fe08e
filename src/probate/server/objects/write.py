"""What create, update and patch share: preparing an object, checking it, and committing it under what it was based on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from probate.api import metadata
from probate.api.apply import managed_fields
from probate.api.apply.managed_fields import Entry
from probate.api.catalog import Resource
from probate.api.field_errors import Problem
from probate.core import errors
from probate.core.errors import Details
from probate.server import api_errors
from probate.server.admission import phases, priority, runtime_class, volume_expansion
from probate.server.admission.attributes import NO_TERMS, Act, Terms
from probate.server.authz import block_owner_deletion, owner_reference_permissions, write_checks
from probate.server.codec import object_codec, version_conversion
from probate.server.context import Api
from probate.server.kind_rules.contract import Rules
from probate.server.objects import deletion, owner_reference_warnings, service_allocation
from probate.server.ownership import namespace_content
from probate.server.request import Target
from probate.server.storage import service_claims, storage_keys
from probate.store.contract import Guard, Record, Refused, Revision, Txn, Unchanged

Object = dict[str, Any]

Owners = Callable[[Object, str], list[Entry]]
"""Says who owns what of a new object whose defaults are set, since when: now."""
NewOwners = Callable[[Any], list[Entry]]
"""Says who owns what of a changed object, given what its author said about that."""

MAX_KNOWN = 4_000
"""Namespaces that are remembered to be open, for as long as none changes."""


def known_scopes(api: Api, at: Target) -> tuple[Guard, ...]:
    """What `open_scopes` would find, if that is known; else nothing."""
    if not at.namespace or at.resource.is_custom:
        return ()
    known = _known_open(api, at.namespace)
    return () if known is None else (known,)


async def open_scopes(api: Api, at: Target) -> tuple[Guard, ...]:
    """Guards that what the new object is to lie in is still as it was found: there, and not on its way out."""
    guards = (await open_namespace(api, at.namespace),) if at.namespace else ()
    return (*guards, await _open_definition(api, at)) if at.resource.is_custom else guards


async def _open_definition(api: Api, at: Target) -> Guard:
    """A custom kind takes no new objects once it is to go."""
    key = storage_keys.of_definition(at.resource)
    found = await api.store.read(key)
    if found is None:
        raise api_errors.no_such_resource()
    if object_codec.meta(found.value).deletion_timestamp is not None:
        why = f"nothing of this kind can be created: its definition {key.rpartition('/')[2]} is being deleted"
        raise api_errors.forbidden(at.resource, at.name, why)
    return Unchanged(key, found.revision)


def _known_open(api: Api, name: str) -> Guard | None:
    """The guard that the namespace is still as it was found, if no namespace has changed since: as most often."""
    known = api.open_namespaces.get(name)
    if known is None:
        return None
    calm = api.store.calm(storage_keys.ALL_NAMESPACES)
    return known[0] if calm is not None and calm.since <= known[1] else None


async def open_namespace(api: Api, name: str) -> Guard:
    """The guard that the namespace is still as it was found: there, and not on its way out."""
    known, calm = _known_open(api, name), api.store.calm(storage_keys.ALL_NAMESPACES)
    if known is not None:
        return known
    guard = await _read_namespace(api, name)
    if calm is not None:
        if len(api.open_namespaces) >= MAX_KNOWN:
            api.open_namespaces.clear()
        api.open_namespaces[name] = guard, calm.now
    return guard


async def _read_namespace(api: Api, name: str) -> Guard:
    found = await api.store.read(storage_keys.of_namespace(name))
    namespaces = api.catalog.find("", "v1", "namespaces")
    if found is None:
        if namespaces is None:
            raise errors.InvariantViolation("there is no kind Namespace")
        raise api_errors.not_found(namespaces, name)
    if object_codec.meta(found.value).deletion_timestamp is not None:
        cause = Problem("NamespaceTerminating", "metadata.namespace", f"namespace {name} is being terminated")
        details = Details(name=name, kind="namespaces", causes=(cause,))
        raise errors.Forbidden(f"nothing can be created in namespace {name} because it is being terminated", details)
    return Unchanged(found.key, found.revision)


_SERVERS = frozenset({"resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"})
"""Not for an author to say. (A generation is, of kinds that do not count: it stays what it was where the object came from.)"""


def prepare_new(api: Api, resource: Resource, object_: Object, namespace: str, owners: Owners) -> None:
    """Fill in what a new object has that its author does not give."""
    rules, now = api.kinds.rules(resource), api.now()
    owned = begin_new(rules, object_, namespace, owners, now)
    uid, meta = api.new_uid(), object_["metadata"]
    meta["uid"], meta["creationTimestamp"] = uid, now
    if resource.plural == "pods" and not resource.group:
        priority.admit(api, resource, object_)
        runtime_class.admit(api, resource, object_)
    rules.prepare_new(object_, uid=uid, now=now)
    if owned:
        object_["metadata"]["managedFields"] = owned


def begin_new(rules: Rules, object_: Object, namespace: str, owners: Owners, now: str) -> list[Entry]:
    """Defaults, less what is not the author's to say. Returns who owns what of it."""
    meta = object_["metadata"]
    if not _SERVERS.isdisjoint(meta):
        for server_side in _SERVERS:
            meta.pop(server_side, None)
    rules.set_defaults(object_)
    owned = owners(object_, now)
    if namespace:
        object_["metadata"]["namespace"] = namespace
    return owned


def may_update_blindly(resource: Resource) -> bool:
    """Whether an update may leave open which version of the object it is based on."""
    return not resource.is_custom and metadata.allows_unconditional_update(resource.group, resource.kind)


def prepare_changed(api: Api, at: Target, new: Object, old: Object, owners: NewOwners, act: Act) -> None:
    """Keep what this way of writing cannot change. `Invalid` if what it does change is wrong.

    If somebody may still change the object it is not checked here: what they make of it is (`admitted`).
    """
    given = new["metadata"].pop("managedFields", None)
    _keep(api, at, new, old)
    if not act.is_mutable:
        _check_changed(api, at, new, old, act)
    _note_owners(new, old, owners(given))


def _keep(api: Api, at: Target, new: Object, old: Object) -> None:
    """Put back what this way of writing cannot change."""
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
    api.kinds.rules(at.resource).prepare_changed(new, old, _part(at), now=api.now())


def _check_changed(api: Api, at: Target, new: Object, old: Object, act: Act) -> None:
    rules, part = api.kinds.rules(at.resource), _part(at)
    problems = rules.problems_of_changed(new, old, part)
    if problems:
        raise api_errors.invalid(at.resource, at.name, problems)
    if told := rules.warnings_of_changed(new, old, part):
        act.warn(*told)


def _part(at: Target) -> str:
    """The part of the object that is written. (What is sent to `scale` changes the object itself.)"""
    return "" if at.subresource == "scale" else at.subresource


async def admitted(api: Api, at: Target, now: Record, new: Object, act: Act) -> Object:
    """The changed object after all who may change it have had their say. `Invalid` if it is wrong then."""
    if not act.is_mutable:
        return new
    owned = new["metadata"].get("managedFields") or []  # who was given more by a plugin does not own that
    changed = await phases.mutate_changed(api, at, new, now, act)
    await api.apart(len(now.value), lambda: _prepare_again(api, at, changed, object_codec.loaded(now, at.resource), owned, act))
    return changed


def _prepare_again(api: Api, at: Target, new: Object, old: Object, owned: list[Entry], act: Act) -> None:
    meta = new["metadata"]
    meta.pop("managedFields", None)
    if meta.get("name") != old["metadata"]["name"] or meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
        raise errors.BadRequest("the admission of the object has made another one of it: its name or its uid was changed")
    meta["resourceVersion"] = old["metadata"]["resourceVersion"]
    _keep(api, at, new, old)
    _check_changed(api, at, new, old, act)
    _note_owners(new, old, owned)


def _note_owners(new: Object, old: Object, owned: list[Entry]) -> None:
    """Who owns what. A change that says nothing new is none, whenever it was made and in whatever order it says it."""
    before = old["metadata"].get("managedFields") or []
    meta = new["metadata"] = {name: value for name, value in new["metadata"].items() if name != "managedFields"}
    if before:
        meta["managedFields"] = before
    if _is_same(new, old) and (owned is before or managed_fields.are_same(owned, before)):
        new.clear()
        new.update(old)
    elif owned:
        meta["managedFields"] = owned
    else:
        meta.pop("managedFields", None)


def _is_same(new: Object, old: Object) -> bool:
    """Whether they say the same. (Some do not say of which kind they are.)"""
    return new.keys() >= old.keys() - {"kind", "apiVersion"} and all(name in old and old[name] == new[name] for name in new)


async def replace(
    api: Api, resource: Resource, now: Record, new: Object, *, is_dry_run: bool, terms: Terms = NO_TERMS
) -> Record | None:
    """Write the new version over the one that was read; None if somebody was faster. Nothing is written if nothing changed."""
    old = object_codec.meta(now.value)
    if deletion.is_released(resource, new) and not await namespace_content.is_held(api.store, resource, now):
        plan = deletion.removal(now, old, deletion.guards_of_removal(resource, new))
        outcome = now.revision if is_dry_run else await api.store.commit(sure(plan.txn))
        if not isinstance(outcome, Refused):
            return Record(now.key, object_codec.stored(new), now.revision)
        if isinstance(outcome.failed[0], Unchanged):
            return None
        # It still holds others: it leaves with the last of them.
    plan = await api.apart(len(now.value), lambda: deletion.change(now, old, new, terms.guards, terms.enter))
    if plan.txn is None or is_dry_run:
        return plan.left
    txn = plan.txn
    if resource.is_converted and txn.value is not None:
        txn = msgspec.structs.replace(txn, value=await version_conversion.stored(api, resource, txn.value))
    outcome = await api.store.commit(txn)
    return None if isinstance(outcome, Refused) else Record(now.key, plan.left.value, Revision(outcome))


async def write(api: Api, at: Target, now: Record, new: Object, act: Act) -> Record | None:
    """Both phases of admission, and then `replace`."""
    new = await admitted(api, at, now, new, act)
    if at.resource.group in write_checks.CHECKS:
        await write_checks.CHECKS[at.resource.group](api, act.user, at, new, object_codec.loaded(now, at.resource))
    if at.resource.plural == volume_expansion.CLAIMS and not at.subresource:
        volume_expansion.check(api, at, new, object_codec.loaded(now, at.resource))
    if owner_reference_permissions.may_differ(act.user, new, now.value):
        await owner_reference_permissions.check(api, act.user, at, new, object_codec.loaded(now, at.resource))
    if "ownerReferences" in new["metadata"]:
        old = object_codec.loaded(now, at.resource)
        await block_owner_deletion.check(api, act.user, at, new, old)
        await owner_reference_warnings.check(api, act, at, new, old)
    await service_allocation.settle(api, at.resource, new, service_claims.entries(now.key, now.value))
    if not api.admission.validators:
        return await replace(api, at.resource, now, new, is_dry_run=act.is_dry_run)
    terms = await phases.validate_changed(api, at, new, now, act)
    try:
        return await replace(api, at.resource, now, new, is_dry_run=act.is_dry_run, terms=terms)
    finally:
        terms.release()


def sure(txn: Txn | None) -> Txn:
    """A transaction that a plan must have."""
    if txn is None:
        raise errors.InvariantViolation("the plan writes nothing")
    return txn
