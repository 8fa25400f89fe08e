"""What create, update and patch share: preparing an object, checking it, and committing it under what it was based on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate import errors
from probate.errors import Details
from probate.machinery import metadata
from probate.machinery.apply import entries
from probate.machinery.apply.entries import Entry
from probate.machinery.catalog import Resource
from probate.machinery.problems import Problem
from probate.server import allocation, claims, content, deletions, places, refusals, wire
from probate.server.api import Api
from probate.server.request import Target
from probate.store.contract import Guard, Record, Refused, Revision, Txn, Unchanged

Object = dict[str, Any]

Owners = Callable[[Object], list[Entry]]
"""Says who owns what of a new object whose defaults are set."""
NewOwners = Callable[[Any], list[Entry]]
"""Says who owns what of a changed object, given what its author said about that."""

MAX_KNOWN = 4_000
"""Namespaces that are remembered to be open, for as long as none changes."""


async def open_scopes(api: Api, at: Target) -> list[Guard]:
    """Guards that what the new object is to lie in is still as it was found: there, and not on its way out."""
    guards = [await open_namespace(api, at.namespace)] if at.namespace else []
    if at.resource.is_custom:
        guards.append(await _open_definition(api, at))
    return guards


async def _open_definition(api: Api, at: Target) -> Guard:
    """A custom kind takes no new objects once it is to go."""
    key = places.of_definition(at.resource)
    found = await api.store.read(key)
    if found is None:
        raise refusals.no_such_resource()
    if wire.meta(found.value).deletion_timestamp is not None:
        why = f"nothing of this kind can be created: its definition {key.rpartition('/')[2]} is being deleted"
        raise refusals.forbidden(at.resource, at.name, why)
    return Unchanged(key, found.revision)


async def open_namespace(api: Api, name: str) -> Guard:
    """The guard that the namespace is still as it was found: there, and not on its way out."""
    calm = api.store.calm(places.ALL_NAMESPACES)
    known = api.open_namespaces.get(name)
    if known is not None and calm is not None and calm.since <= known[1]:
        return known[0]
    guard = await _read_namespace(api, name)
    if calm is not None:
        if len(api.open_namespaces) >= MAX_KNOWN:
            api.open_namespaces.clear()
        api.open_namespaces[name] = guard, calm.now
    return guard


async def _read_namespace(api: Api, name: str) -> Guard:
    found = await api.store.read(places.of_namespace(name))
    namespaces = api.catalog.find("", "v1", "namespaces")
    if found is None:
        if namespaces is None:
            raise errors.InvariantViolation("there is no kind Namespace")
        raise refusals.not_found(namespaces, name)
    if wire.meta(found.value).deletion_timestamp is not None:
        cause = Problem("NamespaceTerminating", "metadata.namespace", f"namespace {name} is being terminated")
        details = Details(name=name, kind="namespaces", causes=(cause,))
        raise errors.Forbidden(f"nothing can be created in namespace {name} because it is being terminated", details)
    return Unchanged(found.key, found.revision)


_SERVERS = ("resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields")


def prepare_new(api: Api, resource: Resource, object_: Object, namespace: str, owners: Owners) -> None:
    """Fill in what a new object has that its author does not give."""
    meta = object_["metadata"]
    for server_side in _SERVERS:
        meta.pop(server_side, None)
    rules = api.kinds.rules(resource)
    rules.set_defaults(object_)
    owned = owners(object_)
    meta = object_["metadata"]
    uid, now = api.new_uid(), api.now()
    meta |= {"uid": uid, "creationTimestamp": now, **({"namespace": namespace} if namespace else {})}
    rules.prepare_new(object_, uid=uid, now=now)
    if owned:
        object_["metadata"]["managedFields"] = owned


def may_update_blindly(resource: Resource) -> bool:
    """Whether an update may leave open which version of the object it is based on."""
    return not resource.is_custom and metadata.allows_unconditional_update(resource.group, resource.kind)


def prepare_changed(api: Api, at: Target, new: Object, old: Object, owners: NewOwners) -> None:
    """Keep what this way of writing cannot change. `Invalid` if what it does change is wrong."""
    meta = new["metadata"]
    given = meta.pop("managedFields", None)
    for fixed in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "namespace"):
        meta.pop(fixed, None)
        if fixed in old["metadata"]:
            meta[fixed] = old["metadata"][fixed]
    meta.setdefault("uid", old["metadata"]["uid"])
    meta.pop("selfLink", None)
    rules = api.kinds.rules(at.resource)
    rules.prepare_changed(new, old, at.subresource, now=api.now())
    problems = rules.problems_of_changed(new, old, at.subresource)
    if problems:
        raise refusals.invalid(at.resource, at.name, problems)
    _note_owners(new, old, owners(given))


def _note_owners(new: Object, old: Object, owned: list[Entry]) -> None:
    """Who owns what. A change that says nothing new is none, whenever it was made and in whatever order it says it."""
    before = old["metadata"].get("managedFields") or []
    meta = new["metadata"] = {name: value for name, value in new["metadata"].items() if name != "managedFields"}
    if before:
        meta["managedFields"] = before
    if _is_same(new, old) and (owned is before or entries.are_same(owned, before)):
        new.clear()
        new.update(old)
    elif owned:
        meta["managedFields"] = owned
    else:
        meta.pop("managedFields", None)


def _is_same(new: Object, old: Object) -> bool:
    """Whether they say the same. (Some do not say of which kind they are.)"""
    return new.keys() >= old.keys() - {"kind", "apiVersion"} and all(name in old and old[name] == new[name] for name in new)


async def replace(api: Api, resource: Resource, now: Record, new: Object, *, is_dry_run: bool) -> Record | None:
    """Write the new version over the one that was read; None if somebody was faster. Nothing is written if nothing changed."""
    old = wire.meta(now.value)
    await allocation.settle(api, resource, new, claims.entries(now.key, now.value))
    if deletions.is_released(resource, new) and not await content.is_held(api.store, resource, now):
        plan = deletions.removal(now, old, deletions.guards_of_removal(resource, new))
        outcome = now.revision if is_dry_run else await api.store.commit(sure(plan.txn))
        if not isinstance(outcome, Refused):
            return Record(now.key, wire.stored(new), now.revision)
        if isinstance(outcome.failed[0], Unchanged):
            return None
        # It still holds others: it leaves with the last of them.
    plan = await api.apart(len(now.value), lambda: deletions.change(now, old, new))
    if plan.txn is None or is_dry_run:
        return plan.left
    outcome = await api.store.commit(plan.txn)
    return None if isinstance(outcome, Refused) else Record(now.key, plan.left.value, Revision(outcome))


def sure(txn: Txn | None) -> Txn:
    """A transaction that a plan must have."""
    if txn is None:
        raise errors.InvariantViolation("the plan writes nothing")
    return txn
