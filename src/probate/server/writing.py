"""What create, update and patch share: preparing an object, checking it, and committing it under what it was based on."""

from __future__ import annotations

from typing import Any

from probate import errors
from probate.errors import Details
from probate.machinery import metadata
from probate.machinery.catalog import Resource
from probate.machinery.problems import Problem
from probate.server import places, refusals, wire
from probate.server.api import Api
from probate.server.request import Target
from probate.server.subresources import parts
from probate.store.contract import Guard, Record, Refused, Revision, Txn, Unchanged, delete, update

Object = dict[str, Any]


async def open_namespace(api: Api, name: str) -> Guard:
    """A guard that the namespace is still as it was found: there, and not on its way out."""
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


def prepare_new(api: Api, resource: Resource, object_: Object, namespace: str) -> None:
    """Fill in what a new object has that its author does not give."""
    meta = object_["metadata"]
    for server_side in ("resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        meta.pop(server_side, None)
    uid, now = api.new_uid(), api.now()
    meta |= {"uid": uid, "creationTimestamp": now, **({"namespace": namespace} if namespace else {})}
    api.kinds.rules(resource).prepare_new(object_, uid=uid, now=now)


def may_update_blindly(resource: Resource) -> bool:
    """Whether an update may leave open which version of the object it is based on."""
    return not resource.is_custom and metadata.allows_unconditional_update(resource.group, resource.kind)


def prepare_changed(api: Api, at: Target, new: Object, old: Object) -> None:
    """Keep what this way of writing cannot change. `Invalid` if what it does change is wrong."""
    meta = new["metadata"]
    for fixed in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "namespace"):
        meta.pop(fixed, None)
        if fixed in old["metadata"]:
            meta[fixed] = old["metadata"][fixed]
    meta.setdefault("uid", old["metadata"]["uid"])
    meta.pop("selfLink", None)
    rules = api.kinds.rules(at.resource)
    if at.subresource in parts.PARTS:
        new |= parts.limited(at.subresource, new, old)
    else:
        rules.prepare_changed(new, old, at.subresource, now=api.now())
    problems = rules.problems_of_changed(new, old, at.subresource)
    if problems:
        raise refusals.invalid(at.resource, at.name, problems)


def is_released(object_: Object) -> bool:
    """Whether nothing holds a deleting object any more, so that it goes with this very write."""
    meta = object_["metadata"]
    return "deletionTimestamp" in meta and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds")


async def replace(api: Api, now: Record, new: Object, *, is_dry_run: bool) -> Record | None:
    """Write the new version over the one that was read; None if somebody was faster. Nothing is written if nothing changed."""
    value = wire.stored(new)
    if value == now.value:
        return now
    if is_dry_run:
        return Record(now.key, value, now.revision)
    txn: Txn = delete(now.key, revision=now.revision) if is_released(new) else update(now.key, value, revision=now.revision)
    outcome = await api.store.commit(txn)
    return None if isinstance(outcome, Refused) else Record(now.key, value, Revision(outcome))
