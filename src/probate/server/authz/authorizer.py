"""Authorizes requests by RBAC. `Forbidden` says who cannot do what, and which rule is missing."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import NonResourceAttributes, ResourceAttributes
from probate.api.rbac.rule_resolver import RuleResolver
from probate.api.rbac.user_rules import UserRules
from probate.api.rbac.users import User
from probate.server.authz.cel_authorizer import CelAuthorizer
from probate.server.authz.rbac_cache import RbacCache
from probate.store.contract import Store

MAX_CACHED_USERS = 2_000
"""Limits the users whose rights are cached."""
MAX_CACHED_REQUESTS = 4_000
"""Limits the requests that are cached as allowed."""


class _AllowedRequest(NamedTuple):
    user: User
    target: object
    generation: int


class Authorizer:
    """The rights of all users, by the roles and bindings in one store."""

    def __init__(self, store: Store) -> None:
        self.grants = RuleResolver()
        self.cache = RbacCache(store, self.grants)
        self._rights: dict[tuple[str, tuple[str, ...]], UserRules] = {}
        self._allowed: dict[tuple[int, int, str], _AllowedRequest] = {}

    async def rights(self, user: User) -> UserRules:
        """Returns the user's rights. Waits until the cached roles and bindings are current."""
        if not self.cache.is_current():
            await self.cache.wait_until_current()
        return self._cached_rights(user)

    def cel_authorizer(self, user: User) -> CelAuthorizer:
        """Returns an authorizer for CEL expressions, which cannot wait: it answers from the cache, or with an error."""
        return CelAuthorizer(user, lambda any_user: self._cached_rights(any_user) if self.cache.is_current() else None)

    def _cached_rights(self, user: User) -> UserRules:
        key = user.name, user.groups
        rights = self._rights.get(key)
        if rights is None or rights.generation != self.grants.generation:
            if len(self._rights) >= MAX_CACHED_USERS:
                self._rights.clear()
            rights = self._rights[key] = UserRules(self.grants, user)
        return rights

    async def allows(self, user: User, ask: ResourceAttributes | NonResourceAttributes) -> bool:
        """Returns whether the user may do this."""
        if user.is_superuser:
            return True
        rights = await self.rights(user)
        return rights.allow(ask) if isinstance(ask, ResourceAttributes) else rights.allow_path(ask)

    def is_cached_as_allowed(self, user: User, verb: str, target: object) -> bool:
        """Returns whether the user was recently allowed to do this to `target`, and no role or binding has changed since.

        Fast path: a client that repeats a request has the same user object and the same target object (both are cached), so
        identity is compared instead of values. Equals `allows` for a request that was allowed.
        """
        cached = self._allowed.get((id(user), id(target), verb))
        if cached is None or cached.user is not user or cached.target is not target or cached.generation != self.grants.generation:
            return False
        return self.cache.is_current()

    def cache_allowed(self, user: User, verb: str, target: object) -> None:
        """Caches that the user may do this by the current roles and bindings."""
        if len(self._allowed) >= MAX_CACHED_REQUESTS:
            self._allowed.clear()
        self._allowed[id(user), id(target), verb] = _AllowedRequest(user, target, self.grants.generation)

    def allows_from_cache(self, user: User, ask: ResourceAttributes) -> bool:
        """Returns whether the cached rights allow this. Never waits; False means that `check_request` has to decide."""
        return self.cache.is_current() and self._cached_rights(user).allow(ask)

    async def check(self, user: User, ask: ResourceAttributes) -> None:
        """Raises `Forbidden` if the user may not do this."""
        if not user.is_superuser:
            rights = await self.rights(user)
            if not rights.allow(ask):
                raise forbidden_message.forbidden_error(user, ask, missing_roles=rights.bindings_without_role(ask.namespace))

    async def check_request(self, user: User, ask: ResourceAttributes | NonResourceAttributes) -> None:
        """Raises `Forbidden` if the user may not do this, to a resource or to a path."""
        if isinstance(ask, ResourceAttributes):
            await self.check(user, ask)
        elif not await self.allows(user, ask):
            raise forbidden_message.forbidden_path_error(user, ask)

    async def reason(self, user: User, ask: ResourceAttributes | NonResourceAttributes) -> str:
        """Returns which binding and role allow this, or an empty string if the user needs none."""
        return "" if user.is_superuser else (await self.rights(user)).reason(ask)
