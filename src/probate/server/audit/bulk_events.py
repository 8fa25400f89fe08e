"""What was done in bulk, as events: one for each object, made on the thread of the log, many at a time.

Most objects of a batch have the same owners, lie in the same namespace and go for the same reason: what they have in common is made
once. What was tried in vain because something had changed is not told: nothing came of it, and it is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from probate.api.audit import audit_event, policy
from probate.api.audit.policy import Level
from probate.api.audit.request_info import Asked
from probate.api.catalog import Resource
from probate.api.ownership import Action, Conclude, Delete, Describe, Drop, Outcome, Release, Unblock
from probate.api.rbac import forbidden_message
from probate.server.audit import deletion_causes
from probate.server.audit.audit_log import Books
from probate.server.audit.deletion_causes import Fall, Lead
from probate.server.authz.actors import Doer, Done, Leads, Permit

AGENT = "probate"
MAX_BECAUSE = 1_000
SIZE = 500
"""Bytes, roughly, of one event."""
_TOLD = {Outcome.DONE, Outcome.FAILED, Outcome.DENIED}

Object = dict[str, Any]


class Doings(NamedTuple):
    """A batch of actions as an entry of the log. Of those that were denied only the `new` ones are told."""

    books: Books
    doer: Doer
    done: Done
    new: set[int]
    moment: float

    @property
    def events(self) -> int:
        return len(self.done.actions)

    @property
    def size(self) -> int:
        return SIZE * len(self.done.actions)

    def lines(self) -> Iterator[bytes]:
        results, last, common, below, what = self.done.results, None, None, deletion_causes.TOP, ""
        for at, (action, permit) in enumerate(zip(self.done.actions, self.done.permits, strict=True)):
            outcome, item = results.outcomes[at], action.item
            if outcome not in _TOLD or (outcome is Outcome.DENIED and at not in self.new):
                continue
            name = item.meta.name if self.books.policy.asks_names or not _is_of_many(action) else ""
            kin = (permit, type(action), outcome, results.removed[at], action.because, item.meta.owner_references, name)
            if kin != last:
                last, leads = kin, led_to(action, self.doer.leads)
                below, what = self.books.falls.below(leads), str(permit.resource.group_resource)
                common = self._common(action, permit, outcome, leads, is_removed=results.removed[at])
            if outcome is Outcome.DONE and type(action) is Delete:
                self.books.falls.note(item.meta.uid, Fall(what, item.meta.namespace, item.meta.name, *below))
            if common is not None:
                yield orjson.dumps(_of_one(common, self.books.new_id(), action))

    def _common(
        self, action: Action, permit: Permit, outcome: Outcome, leads: tuple[Lead, ...], *, is_removed: bool
    ) -> Object | None:
        """What all such events say; None if nobody wants them."""
        ask, resource = permit.ask, permit.resource
        names = {"name": action.item.meta.name} if self.books.policy.asks_names else {}
        asked = Asked(ask.verb, "", ask.group, resource.version, ask.resource, ask.namespace, subresource=ask.subresource, **names)
        verdict = self.books.policy.verdict(self.doer.user, asked)
        if verdict.level is Level.NONE or policy.COMPLETE in verdict.omitted:
            return None
        request = audit_event.Request(
            "", verdict, asked, _folder(resource, ask.namespace), self.doer.user, self.moment, agent=AGENT
        )
        annotations = {
            audit_event.DECISION: "forbid" if outcome is Outcome.DENIED else "allow",
            audit_event.REASON: permit.reason,
            audit_event.BECAUSE: action.because[:MAX_BECAUSE],
            audit_event.CAUSE: self.books.falls.chain(leads),
        }
        if outcome is Outcome.DONE:
            annotations[audit_event.EFFECT] = _effect(action, is_removed=is_removed)
        status = audit_event.response_status(*_said(outcome, self.doer, permit))
        return {**audit_event.event(request, policy.COMPLETE, self.moment), "responseStatus": status, "annotations": annotations}


def led_to(action: Action, leads: Leads) -> tuple[Lead, ...]:
    """The objects whose deletion an action follows from; the object itself, if it is on its way out already."""
    if isinstance(action, Drop | Unblock):
        return tuple(deletion_causes.of_owner(one) for one in action.item.meta.owner_references if one.uid in action.uids)
    if isinstance(action, Release | Conclude | Describe):
        return (_itself(action),)
    if leads is Leads.SCOPE:
        return tuple(Lead(one.meta.uid, "", one.meta.name) for one in action.given)
    return tuple(deletion_causes.of_owner(one) for one in action.item.meta.owner_references) if leads is Leads.OWNERS else ()


def _itself(action: Action) -> Lead:
    meta = action.item.meta
    return Lead(meta.uid, "", meta.name, meta.namespace)


def _is_of_many(action: Action) -> bool:
    """Whether others like it go for the very same reason; if not, it goes for one of its own."""
    return isinstance(action, Delete | Drop | Unblock)


def _of_one(common: Object, id_: str, action: Action) -> Object:
    item = action.item
    about = {**common["objectRef"], "name": item.meta.name, "uid": item.meta.uid, "resourceVersion": str(item.revision)}
    part = f"/{about['subresource']}" if "subresource" in about else ""
    return {**common, "auditID": id_, "requestURI": f"{common['requestURI']}{item.meta.name}{part}", "objectRef": about}


def _effect(action: Action, *, is_removed: bool) -> str:
    if is_removed:
        return "removed"
    return "marked" if isinstance(action, Delete) else "changed"


def _said(outcome: Outcome, doer: Doer, permit: Permit) -> tuple[int, Object | None]:
    if outcome is Outcome.DONE:
        return 200, {"status": "Success"}
    if outcome is Outcome.FAILED:
        return 500, {"status": "Failure", "message": "the store refused it, and it is tried again", "reason": "InternalError"}
    return 403, {"status": "Failure", "message": str(forbidden_message.refusal(doer.user, permit.ask)), "reason": "Forbidden"}


def _folder(resource: Resource, namespace: str) -> str:
    group = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    return f"{group}/namespaces/{namespace}/{resource.plural}/" if namespace else f"{group}/{resource.plural}/"
