"""Those who act on the store in bulk, and what they may do: the collector, the sweeps of scopes, the end of Events.

Each is somebody, a service account with a role of its own, and does nothing that its role does not grant. That is asked once for
all objects of a kind in a namespace, and again when roles have changed: so it costs next to nothing. What is not granted is not
done and stays as it is (`Outcome.DENIED`), the log says which rule is missing, and whoever wanted it tries again when rights have
changed (docs/adr/0008).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from probate.api.catalog import Resource
from probate.api.ownership import Action, Conclude, Delete, Drop, Outcome, Release, Unblock
from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import Ask
from probate.api.rbac.user_rules import NOBODY, Names, Rights
from probate.api.rbac.users import User
from probate.server.context import Api
from probate.server.storage import storage_keys

log = logging.getLogger(__name__)


class Leads(Enum):
    """What leads to a deletion by somebody."""

    OWNERS = "owners"  # that are gone, or wait
    SCOPE = "scope"  # that is being deleted
    TIME = "time"  # that is over


class Doer(NamedTuple):
    """Somebody who acts in bulk. Not `is_checked`: whoever asks this server may do anything, and so may they."""

    user: User
    leads: Leads
    is_checked: bool = True


class Permit(NamedTuple):
    """What somebody does to objects of one kind in one namespace, and to which of them they may."""

    resource: Resource
    ask: Ask
    names: Names = None
    reason: str = ""

    def allows(self, name: str) -> bool:
        return self.names is None or name in self.names


class Results(NamedTuple):
    """What became of actions, and, where that is told, which of them removed their object."""

    outcomes: list[Outcome]
    removed: list[bool]


class Done(NamedTuple):
    """Actions, the rights to them, and what became of them."""

    actions: Sequence[Action]
    permits: Sequence[Permit]
    results: Results


class Office:
    """One who acts, on one API."""

    def __init__(self, api: Api, doer: Doer, kind_at: Callable[[str], Resource]) -> None:
        self.doer = doer
        self._api = api
        self._kind_at = kind_at
        self._told: set[Ask] = set()  # what was said not to be granted, by the grants of this generation
        self._generation = -1
        self._denied = api.denied

    async def permits(self, actions: Sequence[Action]) -> list[Permit]:
        """A permit for each action. `StoreUnavailable` if nobody knows at the moment who may do what."""
        rights = await self._api.access.rights(self.doer.user) if self.doer.is_checked else None
        found: list[Permit] = []
        kind, folder, permit = None, "\0", None
        for action in actions:
            where = action.item.where
            if permit is None or type(action) is not kind or not where.startswith(folder) or "/" in where[len(folder) :]:
                kind, folder = type(action), where[: where.rindex("/") + 1]
                permit = self._permit(action, rights)
            found.append(permit)
        return found

    async def may(self, ask: Ask) -> bool:
        """Whether they may do this."""
        return not self.doer.is_checked or await self._api.access.allows(self.doer.user, ask)

    def _permit(self, action: Action, rights: Rights | None) -> Permit:
        resource, where = self._kind_at(action.item.where), action.item.meta.namespace
        verb, part = _wanted(action, resource)
        ask = Ask(verb, resource.group, resource.plural, part, where)
        if rights is None:
            return Permit(resource, ask)
        names = rights.names(ask)
        return Permit(resource, ask, names, rights.reason(ask) if self._api.audit is not None and names != NOBODY else "")

    def note_denied(self, permit: Permit, name: str) -> bool:
        """Something was not granted. Returns whether it is told for the first time since roles or bindings were changed."""
        generation = self._api.access.grants.generation
        if generation != self._generation:
            self._generation = generation
            self._told.clear()
        ask, user = permit.ask, self.doer.user
        self._denied[user.name.rpartition(":")[2], ask.verb, f"{permit.resource.group_resource}"] += 1
        if ask in self._told:
            return False
        self._told.add(ask)
        refusal = forbidden_message.refusal(user, ask._replace(name=name))
        log.warning("what one of our own wants to do is not granted to them, and waits until it is: %s", refusal)
        return True


def _wanted(action: Action, resource: Resource) -> tuple[str, str]:
    """The verb of an action, and of which part of the object."""
    if isinstance(action, Delete):
        return "delete", ""
    if isinstance(action, Drop | Unblock | Release):
        return "patch", ""
    is_namespace = isinstance(action, Conclude) and resource.group_resource == storage_keys.NAMESPACES
    return "update", "finalize" if is_namespace else "status"
