"""TenantStates: whether tenants exist, and whether objects can be created in them.

States are cached, also that there is no such tenant: a server without tenants reads each id that could be one once. A state is
never trusted by itself. Each transaction that is based on one has a guard that fails if it is not true any more
(`ownership_store`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api import tenants
from probate.store.contract import NO_REVISION, Absent, Guard, Revision, Store, Unchanged

MAX_STATES = 10_000
"""States that are cached."""


class TenantState(NamedTuple):
    """The state of a tenant. `opened` is the revision of its `tenant-open` entry; NO_REVISION if nothing can be created in it."""

    exists: bool
    opened: Revision = NO_REVISION

    @property
    def is_open(self) -> bool:
        return self.opened != NO_REVISION


ABSENT = TenantState(exists=False)
CLOSED = TenantState(exists=True)


def open_guard(tenant: str, state: TenantState) -> Guard:
    """Returns the guard that the tenant is open, as it was when the state was read. It always fails if the tenant was not open."""
    return Unchanged(tenants.open_entry(tenant), state.opened)


def absence_guard(tenant: str) -> Guard:
    """Returns the guard that there is no such tenant."""
    return Absent(tenants.tenant_key(tenant))


class TenantStates:
    """The states of tenants in one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cached: dict[str, TenantState] = {}

    def cached(self, tenant: str) -> TenantState | None:
        """Returns the cached state of a tenant, which may be outdated."""
        return self._cached.get(tenant)

    async def states(self, ids: Iterable[str]) -> dict[str, TenantState]:
        """Returns the states of tenants. Those that are being deleted are read each time: that state ends soon."""
        wanted = dict.fromkeys(ids)
        found = {tenant: self._cached[tenant] for tenant in wanted if tenant in self._cached}
        missing = [tenant for tenant in wanted if tenant not in found]
        size = self._store.limits.page_size // 2
        for start in range(0, len(missing), size):
            found |= await self._read(missing[start : start + size])
        return found

    def drop(self, ids: Iterable[str]) -> None:
        """Drops cached states that have turned out to be outdated."""
        for tenant in ids:
            self._cached.pop(tenant, None)

    async def _read(self, ids: list[str]) -> dict[str, TenantState]:
        keys = [key for tenant in ids for key in (tenants.tenant_key(tenant), tenants.open_entry(tenant))]
        results = await self._store.read_many(keys)
        found = {}
        for tenant, object_, entry in zip(ids, results[::2], results[1::2], strict=True):
            if object_ is None:
                found[tenant] = ABSENT
            else:  # damaged or not, the Tenant exists
                found[tenant] = CLOSED if entry is None else TenantState(exists=True, opened=entry.revision)
        self._cache({tenant: state for tenant, state in found.items() if state != CLOSED})
        return found

    def _cache(self, states: dict[str, TenantState]) -> None:
        if len(self._cached) + len(states) > MAX_STATES:
            self._cached.clear()
        self._cached |= states
