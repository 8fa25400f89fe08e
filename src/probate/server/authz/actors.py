"""Authorizes actors: the internal identities that act on the store in bulk (garbage collector, scope deletion, expiry of Events).

Each actor is a service account with its own role, and does only what that role grants. Rights are checked once for all objects of a
resource in a namespace, and again when roles change, so the check costs next to nothing. An action that is not granted is not
performed and leaves the object unchanged (`Outcome.DENIED`); the log names the missing rule, and the controller retries when roles
change (docs/adr/0008).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from probate.api.catalog import Resource
from probate.api.ownership import (
    Action,
    ClearBlockOwnerDeletion,
    Delete,
    Finalize,
    Outcome,
    RemoveFinalizer,
    RemoveFinalizers,
    RemoveOwnerReferences,
)
from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.api.rbac.user_rules import NO_NAMES, AllowedNames, UserRules
from probate.api.rbac.users import User
from probate.core.logs import facts
from probate.core.metrics import Counter
from probate.server.authz.authorizer import Authorizer
from probate.server.storage import storage_keys

log = logging.getLogger(__name__)


class DeletionTrigger(Enum):
    """What makes an actor delete objects."""

    OWNERS = "owners"  # their owners are gone, or wait for them
    SCOPE = "scope"  # their namespace, CRD or tenant is being deleted
    EXPIRY = "time"  # their time to live is over


class Actor(NamedTuple):
    """An internal identity that acts in bulk. `is_checked` is False if the server runs without RBAC: then it may do anything."""

    user: User
    trigger: DeletionTrigger
    is_checked: bool = True


class Permission(NamedTuple):
    """What an actor does to objects of one resource in one namespace, and to which of them it may."""

    resource: Resource
    ask: ResourceAttributes
    names: AllowedNames = None
    reason: str = ""

    def allows(self, name: str) -> bool:
        return self.names is None or name in self.names


class Results(NamedTuple):
    """The outcome of each action and, if auditing needs it, whether it removed its object."""

    outcomes: list[Outcome]
    removed: list[bool]


class CompletedActions(NamedTuple):
    """Actions with their permissions and results."""

    actions: Sequence[Action]
    permissions: Sequence[Permission]
    results: Results


class ActorAuthorizer:
    """Authorizes the actions of one actor."""

    def __init__(
        self,
        authorizer: Authorizer,
        actor: Actor,
        resource_of: Callable[[str], Resource],
        *,
        denied: Counter,
        is_audited: Callable[[], bool],
    ) -> None:
        self.actor = actor
        self._authorizer = authorizer
        self._is_audited = is_audited
        self._resource_of = resource_of
        self._logged: set[ResourceAttributes] = set()  # the denials logged since roles or bindings changed
        self._generation = -1
        self._denied = denied  # counts the actions that were denied

    async def permissions(self, actions: Sequence[Action]) -> list[Permission]:
        """Returns a permission for each action. Raises `StoreUnavailable` if rights cannot be determined now.

        Fast path: successive actions of one type on objects with one key prefix share a permission.
        """
        rights = await self._authorizer.rights(self.actor.user) if self.actor.is_checked else None
        result: list[Permission] = []
        action_type, prefix, permission = None, "\0", None
        for action in actions:
            key = action.item.key
            if permission is None or type(action) is not action_type or not key.startswith(prefix) or "/" in key[len(prefix) :]:
                action_type, prefix = type(action), key[: key.rindex("/") + 1]
                permission = self._permission(action, rights)
            result.append(permission)
        return result

    async def is_allowed(self, ask: ResourceAttributes) -> bool:
        """Returns whether the actor may do this."""
        return not self.actor.is_checked or await self._authorizer.allows(self.actor.user, ask)

    def _permission(self, action: Action, rights: UserRules | None) -> Permission:
        resource, namespace = self._resource_of(action.item.key), action.item.meta.namespace
        verb, subresource = _verb(action, resource)
        ask = ResourceAttributes(verb, resource.group, resource.plural, subresource, namespace)
        if rights is None:
            return Permission(resource, ask)
        names = rights.allowed_names(ask)
        return Permission(resource, ask, names, rights.reason(ask) if self._is_audited() and names != NO_NAMES else "")

    def record_denial(self, permission: Permission, name: str) -> bool:
        """Counts a denied action. Logs it and returns True if it is the first such denial since roles or bindings changed."""
        generation = self._authorizer.grants.generation
        if generation != self._generation:
            self._generation = generation
            self._logged.clear()
        ask, user = permission.ask, self.actor.user
        self._denied[user.name.rpartition(":")[2], ask.verb, f"{permission.resource.group_resource}"] += 1
        if ask in self._logged:
            return False
        self._logged.add(ask)
        error = forbidden_message.forbidden_error(user, ask._replace(name=name))
        log.warning(
            "controller action forbidden by RBAC, will retry when RBAC changes",
            extra=facts(user=user.name, verb=ask.verb, error=str(error)),
        )
        return True


def _verb(action: Action, resource: Resource) -> tuple[str, str]:
    """Returns the verb that an action needs, and the subresource."""
    if isinstance(action, Delete):
        return "delete", ""
    if isinstance(action, RemoveOwnerReferences | ClearBlockOwnerDeletion | RemoveFinalizer | RemoveFinalizers):
        return "patch", ""
    is_namespace = isinstance(action, Finalize) and resource.group_resource == storage_keys.NAMESPACES
    return "update", "finalize" if is_namespace else "status"
