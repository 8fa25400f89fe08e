"""Audit events of bulk actions: one event for each object, created many at a time on the log's thread.

Fast path: most objects of a batch share owners, namespace and reason, so the part of the event that they share is created once.
Actions that had no effect because the object had changed are not recorded: the controller checks the object again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import orjson

from probate.api.audit import audit_event, policy
from probate.api.audit.policy import Level
from probate.api.audit.request_info import RequestInfo
from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.api.ownership import (
    Action,
    ClearBlockOwnerDeletion,
    Delete,
    Finalize,
    Outcome,
    RemoveFinalizer,
    RemoveOwnerReferences,
    UpdateStatus,
)
from probate.api.rbac import forbidden_message
from probate.server.audit import deletion_causes
from probate.server.audit.audit_log import BulkContext
from probate.server.audit.deletion_causes import CauseRef, DeletionRecord
from probate.server.authz.actors import Actor, CompletedActions, DeletionTrigger, Permission

USER_AGENT = "probate"
MAX_REASON_LENGTH = 1_000
EVENT_BYTES = 500
"""The approximate size of one event."""
_RECORDED = {Outcome.DONE, Outcome.FAILED, Outcome.DENIED}


class BulkEvents(NamedTuple):
    """A batch of actions as an entry of the log. Of the denied actions only those in `new_denials` are recorded."""

    context: BulkContext
    actor: Actor
    completed: CompletedActions
    new_denials: set[int]
    timestamp: float

    @property
    def events(self) -> int:
        return len(self.completed.actions)

    @property
    def size(self) -> int:
        return EVENT_BYTES * len(self.completed.actions)

    def lines(self) -> Iterator[bytes]:
        results, previous, shared, position, what = self.completed.results, None, None, deletion_causes.CHAIN_START, ""
        for index, (action, permission) in enumerate(zip(self.completed.actions, self.completed.permissions, strict=True)):
            outcome, item = results.outcomes[index], action.item
            if outcome not in _RECORDED or (outcome is Outcome.DENIED and index not in self.new_denials):
                continue
            name = item.meta.name if self.context.policy.uses_resource_names or not _is_typical_of_group(action) else ""
            group = (permission, type(action), outcome, results.removed[index], action.because, item.meta.owner_references, name)
            if group != previous:
                previous, cause_refs = group, causes_of(action, self.actor.trigger)
                position, what = self.context.causes.position_below(cause_refs), str(permission.resource.group_resource)
                shared = self._shared_part(action, permission, outcome, cause_refs=cause_refs, is_removed=results.removed[index])
            if outcome is Outcome.DONE and type(action) is Delete:
                self.context.causes.record(item.meta.uid, DeletionRecord(what, item.meta.namespace, item.meta.name, *position))
            if shared is not None:
                yield orjson.dumps(_event_of(shared, self.context.new_id(), action))

    def _shared_part(
        self, action: Action, permission: Permission, outcome: Outcome, *, cause_refs: tuple[CauseRef, ...], is_removed: bool
    ) -> Object | None:
        """Returns what the events of a group share; None if the policy excludes them."""
        ask, resource = permission.ask, permission.resource
        names = {"name": action.item.meta.name} if self.context.policy.uses_resource_names else {}
        asked = RequestInfo(
            ask.verb, "", ask.group, resource.version, ask.resource, ask.namespace, subresource=ask.subresource, **names
        )
        verdict = self.context.policy.evaluate(self.actor.user, asked)
        if verdict.level is Level.NONE or policy.COMPLETE in verdict.omitted_stages:
            return None
        request = audit_event.Request(
            "", verdict, asked, _url_prefix(resource, ask.namespace), self.actor.user, self.timestamp, user_agent=USER_AGENT
        )
        annotations = {
            audit_event.DECISION: "forbid" if outcome is Outcome.DENIED else "allow",
            audit_event.REASON: permission.reason,
            audit_event.BECAUSE: action.because[:MAX_REASON_LENGTH],
            audit_event.CAUSE: self.context.causes.chain(cause_refs),
        }
        if outcome is Outcome.DONE:
            annotations[audit_event.EFFECT] = _effect(action, is_removed=is_removed)
        status = audit_event.response_status(*_response(outcome, self.actor, permission))
        return {
            **audit_event.build_event(request, policy.COMPLETE, self.timestamp),
            "responseStatus": status,
            "annotations": annotations,
        }


def causes_of(action: Action, trigger: DeletionTrigger) -> tuple[CauseRef, ...]:
    """Returns the objects whose deletion caused an action; the object itself, if it is already being deleted."""
    if isinstance(action, RemoveOwnerReferences | ClearBlockOwnerDeletion):
        return tuple(deletion_causes.of_owner(owner) for owner in action.item.meta.owner_references if owner.uid in action.uids)
    if isinstance(action, RemoveFinalizer | Finalize | UpdateStatus):
        return (_own_ref(action),)
    if trigger is DeletionTrigger.SCOPE:
        return tuple(CauseRef(scope.meta.uid, "", scope.meta.name) for scope in action.preconditions)
    is_owned = trigger is DeletionTrigger.OWNERS
    return tuple(deletion_causes.of_owner(owner) for owner in action.item.meta.owner_references) if is_owned else ()


def _own_ref(action: Action) -> CauseRef:
    meta = action.item.meta
    return CauseRef(meta.uid, "", meta.name, meta.namespace)


def _is_typical_of_group(action: Action) -> bool:
    """Returns whether similar objects are acted on for the same reason; if not, the object has a reason of its own."""
    return isinstance(action, Delete | RemoveOwnerReferences | ClearBlockOwnerDeletion)


def _event_of(shared: Object, id_: str, action: Action) -> Object:
    item = action.item
    reference = {**shared["objectRef"], "name": item.meta.name, "uid": item.meta.uid, "resourceVersion": str(item.revision)}
    subresource = f"/{reference['subresource']}" if "subresource" in reference else ""
    return {**shared, "auditID": id_, "requestURI": f"{shared['requestURI']}{item.meta.name}{subresource}", "objectRef": reference}


def _effect(action: Action, *, is_removed: bool) -> str:
    if is_removed:
        return "removed"
    return "marked" if isinstance(action, Delete) else "changed"


def _response(outcome: Outcome, actor: Actor, permission: Permission) -> tuple[int, Object | None]:
    if outcome is Outcome.DONE:
        return 200, {"status": "Success"}
    if outcome is Outcome.FAILED:
        return 500, {"status": "Failure", "message": "the store refused the action; it will be retried", "reason": "InternalError"}
    return 403, {
        "status": "Failure",
        "message": str(forbidden_message.forbidden_error(actor.user, permission.ask)),
        "reason": "Forbidden",
    }


def _url_prefix(resource: Resource, namespace: str) -> str:
    group = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    return f"{group}/namespaces/{namespace}/{resource.plural}/" if namespace else f"{group}/{resource.plural}/"
