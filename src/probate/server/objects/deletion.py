"""Plans the one guarded transaction of a delete: an object is removed only in a transaction that is refused if the object has
changed since it was read or, for a CRD, if custom objects of its kind exist.

`api.deletion.decide` says what a delete means. This module turns that into a transaction with index entries, guards and a fallback,
and writes nothing. The delete verb plans one object at a time, the collector's store backend thousands, both with `plan_delete`. A
write to an object that is being deleted uses `is_ready_for_removal` and `plan_removal`: the write that removes the last finalizer
removes the object.

Namespaces, CRDs and Tenants are scopes: they contain other objects, so they are deleted in two steps. First they are closed: marked
as being deleted, after which no object can be created in them. Then they are removed in a transaction that finds them empty.
"""

from __future__ import annotations

import msgspec

from probate.api import deletion, object_keys, tenants
from probate.api.catalog import Resource
from probate.api.crds import crd_conditions
from probate.api.deletion import DefaultPropagation, DeletionRequest
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.ownership import ObjectMeta
from probate.api.timestamps import format_time
from probate.server.codec import object_codec
from probate.server.storage import index_entries, service_claims, storage_keys
from probate.store import contract
from probate.store.contract import EmptyRange, Guard, Record, Txn

PODS = GroupResource("", "pods")
_SPECIAL = frozenset({PODS, storage_keys.NAMESPACES, storage_keys.CRDS, tenants.TENANTS})
"""Resources whose deletion depends on more than their metadata."""
NAMESPACE_CONTENT_FINALIZER = "kubernetes"
"""The entry of a namespace's `spec.finalizers` that keeps the namespace until its content is deleted."""


class DeletionPlan(msgspec.Struct, frozen=True, gc=False):
    """The transaction of a delete (None: nothing to write), and the object after it, or as it was last if it is removed.

    removes                the transaction removes the object
    removes_after_marking  the transaction marks the object; a second transaction removes it right afterwards
    is_blocked_by_content  the object would be removed if it did not contain other objects
    fallback               the plan to execute if the transaction is refused because a range is not empty
    """

    txn: Txn | None
    record: Record
    removes: bool = False
    removes_after_marking: bool = False
    is_blocked_by_content: bool = False
    fallback: DeletionPlan | None = None


def plan_delete(
    resource: Resource,
    current: Record,
    meta: ObjectMeta,
    *,
    wish: DeletionRequest,
    now: float,
    guards: tuple[Guard, ...] = (),
    has_content: bool = False,
) -> DeletionPlan:
    """Plans the deletion of one object. `has_content`: it is a namespace that `namespace_content.has_content` found not empty."""
    habit = deletion.default_propagation(resource.group, resource.version, resource.kind)
    if _is_plain(resource) and not deletion.finalizers_after(meta.finalizers, wish.policy, habit):
        return plan_removal(current, meta, guards=guards)
    result = _plan_from_object(resource, current, meta, wish=wish, habit=habit, now=now, guards=guards)
    if not has_content:
        return result
    return plan_blocked_by_content(current) if result.removes else msgspec.structs.replace(result, removes_after_marking=False)


def plan_blocked_by_content(current: Record) -> DeletionPlan:
    """Returns the plan that writes nothing because the object still contains others."""
    return DeletionPlan(None, current, is_blocked_by_content=True)


def plan_removal(
    current: Record, meta: ObjectMeta, *, guards: tuple[Guard, ...] = (), fallback: DeletionPlan | None = None
) -> DeletionPlan:
    """Plans the removal of an object with all its index entries, guarded by its revision."""
    leave = [*index_entries.entries_of(current.key, meta), *service_claims.claims_of(current.key, current.value)]
    if current.key.startswith(storage_keys.NAMESPACES_RANGE):
        leave.append(storage_keys.quota_key(meta.name))
    if current.key.startswith(tenants.TENANTS_RANGE):
        leave.append(storage_keys.tenant_quota_key(meta.name))
    txn = contract.delete(current.key, revision=current.revision, remove_entries=leave, guards=guards)
    return DeletionPlan(txn, current, removes=True, fallback=fallback)


def plan_update(
    current: Record, old: ObjectMeta, new: Object, *, guards: tuple[Guard, ...] = (), other_entries: tuple[str, ...] = ()
) -> DeletionPlan:
    """Plans the replacement of an object and of its index entries. `other_entries` are entries that do not describe the object."""
    value = object_codec.stored(new)
    if value == current.value:
        return DeletionPlan(None, current)
    enter, leave = index_entries.entry_changes(current.key, object_codec.meta(value), old)
    claims = service_claims.claim_changes(current.key, value, current.value)
    txn = contract.update(
        current.key,
        value,
        revision=current.revision,
        add_entries=(*enter, *claims.enter, *other_entries),
        remove_entries=(*leave, *claims.leave),
        guards=(*guards, *claims.guards),
    )
    return DeletionPlan(txn, Record(current.key, value, current.revision))


def is_ready_for_removal(resource: Resource, object_: Object) -> bool:
    """Whether a deleting object has no finalizers and no grace period left. The write that achieves this removes the object."""
    meta = object_["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return resource.group_resource != storage_keys.NAMESPACES or not (object_.get("spec") or {}).get("finalizers")


def removal_guards(resource: Resource, object_: Object) -> tuple[Guard, ...]:
    """Returns the guards for removing the object: for a CRD, that no objects of its kind exist, for a Tenant, that it has none."""
    if resource.group_resource == tenants.TENANTS:
        return (EmptyRange(tenants.content_range(object_["metadata"]["name"])),)
    if resource.group_resource == storage_keys.CRDS:
        return (EmptyRange(object_keys.resource_range(object_["metadata"]["name"])),)
    return ()


def without_content_finalizer(resource: Resource, object_: Object) -> Object:
    """Returns the namespace, CRD or Tenant without the finalizer that keeps it until its content is deleted.

    A Tenant keeps it until it has no other finalizer.
    """
    if resource.group_resource == tenants.TENANTS and object_["metadata"].get("finalizers") != [tenants.FINALIZER]:
        return object_
    if resource.group_resource == storage_keys.NAMESPACES:
        field, finalizer = "spec", NAMESPACE_CONTENT_FINALIZER
    else:
        field = "metadata"
        finalizer = tenants.FINALIZER if resource.group_resource == tenants.TENANTS else crd_conditions.FINALIZER
    part = object_.get(field) or {}
    if finalizer not in (part.get("finalizers") or []):
        return object_
    remaining = [name for name in part["finalizers"] if name != finalizer]
    if field == "spec":
        remaining = sorted(set(remaining))  # as Kubernetes does
    others = {name: value for name, value in part.items() if name != "finalizers"}
    return {**object_, field: {**others, "finalizers": remaining} if remaining else others}


def is_removable_by_metadata(resource: Resource) -> bool:
    """Whether a background delete of an object without finalizers needs only its metadata, not the whole object."""
    return _is_plain(resource) and not service_claims.has_claims(resource)


def _is_plain(resource: Resource) -> bool:
    return (resource.group, resource.plural) not in _SPECIAL


def _plan_from_object(
    resource: Resource,
    current: Record,
    meta: ObjectMeta,
    *,
    wish: DeletionRequest,
    habit: DefaultPropagation,
    now: float,
    guards: tuple[Guard, ...],
) -> DeletionPlan:
    object_ = object_codec.loaded(current, resource)
    closed = _close(resource, object_, wish=wish, now=now)
    if closed is not None:
        return plan_update(current, meta, closed, guards=guards)
    is_pod = resource.group_resource == PODS
    verdict = deletion.decide(object_["metadata"], wish, habit, now=now, pod=object_ if is_pod else None)
    if verdict.metadata is not None:
        result = plan_update(current, meta, {**object_, "metadata": verdict.metadata}, guards=guards)
        return msgspec.structs.replace(result, removes_after_marking=True) if verdict.removes else result
    if not verdict.removes:
        return DeletionPlan(None, current)
    content_guards = removal_guards(resource, object_)
    fallback = (
        plan_update(current, meta, _mark(resource, object_, finalizers=[], now=now), guards=guards) if content_guards else None
    )
    return plan_removal(current, meta, guards=(*guards, *content_guards), fallback=fallback)


def _close(resource: Resource, object_: Object, *, wish: DeletionRequest, now: float) -> Object | None:
    """Returns the scope marked as being deleted (unchanged if it already is); None for objects that are not closed."""
    meta = object_["metadata"]
    if resource.group_resource == tenants.TENANTS:
        if "deletionTimestamp" in meta:
            return object_ if tenants.FINALIZER in (meta.get("finalizers") or []) else None
        others = [name for name in meta.get("finalizers") or [] if name != tenants.FINALIZER]
        finalizers = deletion.finalizers_after(others, wish.policy, DefaultPropagation.BACKGROUND)
        return _mark(resource, object_, finalizers=[*finalizers, tenants.FINALIZER], now=now)
    if resource.group_resource == storage_keys.NAMESPACES:
        if "deletionTimestamp" in meta:
            return object_ if (object_.get("spec") or {}).get("finalizers") else None
        finalizers = deletion.finalizers_after(meta.get("finalizers") or [], wish.policy, DefaultPropagation.BACKGROUND)
        return _mark(resource, object_, finalizers=finalizers, now=now)
    if resource.group_resource == storage_keys.CRDS and "deletionTimestamp" not in meta:
        stamp = format_time(now)
        others = [name for name in meta.get("finalizers") or [] if name != crd_conditions.FINALIZER]
        marked = {**meta, "deletionTimestamp": stamp, "finalizers": [*others, crd_conditions.FINALIZER]}
        message = "the CustomResourceDefinition is being deleted: its objects are deleted first"
        status = crd_conditions.mark_terminating(
            object_.get("status") or {}, reason=crd_conditions.DELETION_PENDING, message=message, now=stamp
        )
        return {**object_, "metadata": marked, "status": status}
    return None


def _mark(resource: Resource, object_: Object, *, finalizers: list[str], now: float) -> Object:
    """Returns the scope with a deletionTimestamp and these finalizers; a namespace or Tenant also with phase Terminating, and a
    Tenant with the condition Ready False."""
    meta = {"deletionTimestamp": format_time(now), **object_["metadata"], "finalizers": finalizers}
    if not finalizers:
        del meta["finalizers"]
    if resource.group_resource == storage_keys.CRDS:
        return {**object_, "metadata": meta}
    status = {**(object_.get("status") or {}), "phase": "Terminating"}
    if resource.group_resource == tenants.TENANTS:
        status["conditions"] = tenants.terminating_conditions(status.get("conditions") or [], meta["deletionTimestamp"])
    return {**object_, "metadata": meta, "status": status}
