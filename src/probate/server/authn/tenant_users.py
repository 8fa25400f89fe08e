"""Decides whether a user belongs to a tenant: by the Tenant and by the entry of the namespace, as they are stored now.

A certificate names its tenant by id and uid, so it is worth nothing once that tenant is gone, even if another one has the same id.
A service account belongs to the tenant that owns its namespace. Each request is checked. Results are cached, and used as long as
the store says that nothing has changed, so that the check costs next to nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api import object_keys, tenants
from probate.api.rbac import users
from probate.api.rbac.users import User
from probate.api.tenants import TENANTS_RANGE
from probate.core import errors
from probate.http.tls.client_certificates import TenantClaim
from probate.server.codec import object_codec
from probate.store.contract import Revision, Store

MAX_CACHED = 4_000
"""Limits the cached tenants, namespaces and accounts."""
_NAMESPACES_RANGE = object_keys.resource_range("namespaces")


class _Known(NamedTuple):
    """A cached answer, and the revision of the store at which it was read."""

    uid: str
    revision: Revision


class TenantUsers:
    """The tenants of one store, and which users are theirs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._uids: dict[str, _Known] = {}  # by tenant; without a uid there is no such tenant
        self._owners: dict[str, _Known] = {}  # by namespace: the uid of the tenant that owns it
        self._accounts: dict[User, User] = {}  # the user of a tenant by that of the platform, since others cache by its identity

    async def check(self, claim: TenantClaim) -> None:
        """Raises `Unauthorized` unless what a certificate says about tenants is true now."""
        if [await self.uid(tenant) for tenant in claim.tenants] != [claim.uid] * len(claim.tenants):
            raise errors.Unauthorized

    def is_cached(self, claim: TenantClaim) -> bool:
        """Fast path: whether `check` would succeed, by what is cached. Never awaits; False means that `check` has to decide."""
        return all(self._cached(self._uids, tenant, TENANTS_RANGE) == claim.uid for tenant in claim.tenants)

    async def account(self, user: User, namespace: str) -> User:
        """Returns a service account of a namespace as a user: of the tenant that owns the namespace, or of the platform."""
        tenant = tenants.id_in_name(namespace)
        if not tenant or not await self._owner_uid(tenant, namespace):
            return user
        found = self._accounts.get(user)
        if found is None:
            if len(self._accounts) >= MAX_CACHED:
                self._accounts.clear()
            found = self._accounts[user] = users.tenant_user(user, tenant)
        return found

    def is_account_cached(self, user: User, namespace: str) -> bool:
        """Fast path: whether `account` would return this user again, by what is cached. Never awaits."""
        owner = self._cached(self._owners, namespace, TENANTS_RANGE, _NAMESPACES_RANGE)
        return owner is not None and bool(owner) == bool(user.tenant)

    async def uid(self, tenant: str) -> str:
        """Returns the uid of a tenant; empty if it does not exist."""
        cached = self._cached(self._uids, tenant, TENANTS_RANGE)
        if cached is not None:
            return cached
        revision = self._revision(TENANTS_RANGE)
        record = await self._store.read(tenants.tenant_key(tenant))
        uid = "" if record is None else object_codec.meta(record.value).uid
        return self._remember(self._uids, tenant, uid, revision=revision)

    async def _owner_uid(self, tenant: str, namespace: str) -> str:
        """Returns the uid of the tenant if it owns the namespace, else an empty text."""
        cached = self._cached(self._owners, namespace, TENANTS_RANGE, _NAMESPACES_RANGE)
        if cached is not None:
            return cached
        revision = self._revision(TENANTS_RANGE, _NAMESPACES_RANGE)
        entry = tenants.content_entry(tenant, object_keys.object_key("namespaces", "", namespace))
        owner = await self.uid(tenant) if await self._store.read(entry) is not None else ""
        return self._remember(self._owners, namespace, owner, revision=revision)

    async def evict(self, tenant: str) -> None:
        """Removes a tenant from the caches."""
        self._uids.pop(tenant, None)
        for namespace in [name for name in self._owners if tenants.id_in_name(name) == tenant]:
            del self._owners[namespace]
        for user in [user for user, account in self._accounts.items() if account.tenant == tenant]:
            del self._accounts[user]

    def _cached(self, answers: dict[str, _Known], name: str, *ranges: str) -> str | None:
        """Returns the cached answer if nothing in these ranges has changed since it was read, else None."""
        known = answers.get(name)
        if known is None:
            return None
        for range_ in ranges:
            unchanged = self._store.unchanged_since(range_)
            if unchanged is None or unchanged.since > known.revision:
                return None
        return known.uid

    def _revision(self, *ranges: str) -> Revision | None:
        """Returns the revision that a read from now on has at least; None if the store cannot tell, so nothing can be cached."""
        found = [self._store.unchanged_since(range_) for range_ in ranges]
        known = [unchanged.now for unchanged in found if unchanged is not None]
        return min(known) if len(known) == len(ranges) else None

    @staticmethod
    def _remember(answers: dict[str, _Known], name: str, uid: str, *, revision: Revision | None) -> str:
        if revision is not None:
            if len(answers) >= MAX_CACHED:
                answers.clear()
            answers[name] = _Known(uid, revision)
        return uid
