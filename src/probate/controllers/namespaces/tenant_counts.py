"""Counts the objects of tenants that are not being deleted, and writes the number to `status.objects`.

A change of an object only marks its tenant. A marked tenant is counted `FIRST_SECONDS` later, when what comes together has been
created, but at most every `COUNT_SECONDS`. So a tenant in which much happens costs one count of its index entries in that time, and
nothing is done about a tenant in which nothing happens. The number is that of a recent moment: it is for people to read.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api import tenants
from probate.api.ownership import ChangedKeys, Outcome, UpdateStatus
from probate.controllers.namespaces.scope_deletion import ScopeDeletion
from probate.controllers.runtime.workqueue import DONE, Result
from probate.core.clock import Clock
from probate.gc.backend import Backend

COUNT_SECONDS = 30.0
FIRST_SECONDS = 2.0
APART_SECONDS = 0.1
"""The time between the counts of two tenants after a start: a deletion must not wait for the counts of a thousand others."""
PAGE = 1_000
_TENANTS = str(tenants.TENANTS)


class TenantCounts:
    """The counts of all tenants. Its keys are the ids of tenants."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._known: set[str] = set()  # tenants that exist, and perhaps some that did
        self._due: dict[str, float] = {}  # when to count the marked tenants
        self._counted: dict[str, float] = {}  # when tenants were counted last, in the last `COUNT_SECONDS`

    async def begin(self) -> list[str]:
        self._known, self._due, self._counted = set(), {}, {}
        continue_token = ""
        while True:
            page = await self._backend.list_resource(_TENANTS, continue_token, limit=PAGE)
            self._known.update(key.rpartition("/")[2] for key in page.keys)
            continue_token = page.continue_token
            if not continue_token:
                break
        start = self._clock.monotonic() + FIRST_SECONDS
        self._due = {tenant: start + number * APART_SECONDS for number, tenant in enumerate(sorted(self._known))}
        return list(self._due)

    def keys_of(self, changed: ChangedKeys) -> list[str]:
        """Returns the tenants in which something has changed for the first time since they were counted."""
        if changed.resource == _TENANTS:
            new = set(changed.names) - self._known
            self._known |= new
            return self._marked(new)
        if not self._known:
            return []
        keys = changed.keys[:1] if changed.namespace else changed.keys  # those of one namespace all belong to the same tenants
        return self._marked({tenant for key in keys for tenant in tenants.ids_in_key(key) if tenant in self._known})

    def _marked(self, ids: Iterable[str]) -> list[str]:
        new = sorted(tenant for tenant in ids if tenant not in self._due)
        now = self._clock.monotonic()
        for tenant in new:
            self._due[tenant] = max(now + FIRST_SECONDS, self._counted.get(tenant, -COUNT_SECONDS) + COUNT_SECONDS)
        return new

    async def reconcile(self, key: str) -> Result:
        if key not in self._due:
            return DONE
        now = self._clock.monotonic()
        if now < self._due[key]:
            return self._due[key] - now
        del self._due[key]  # what changes from now on marks it again
        self._counted = {tenant: at for tenant, at in self._counted.items() if now - at < COUNT_SECONDS} | {key: now}
        is_done = False
        try:
            is_done = await self._count(key)
        finally:
            if not is_done:
                del self._counted[key]
                self._marked([key])
        return self._due[key] - now if key in self._due else DONE

    async def _count(self, tenant: str) -> bool:
        """Writes how many objects a tenant has, if that has changed. Returns False if the Tenant changes at the same time."""
        found = await self._backend.get_object(_TENANTS, "", tenant)
        if found is None or found.item.is_deleting:  # then the deletion counts what remains
            self._known.discard(tenant)
            return True
        status, number = found.object.get("status") or {}, (await self._backend.count_tenant(tenant)).total()
        if status.get("objects") == number:
            return True
        action = UpdateStatus(found.item, {**status, "objects": number}, "the number of its objects has changed")
        [outcome] = await self._backend.execute([action])
        return outcome is not Outcome.CHANGED


class CountedTenants:
    """The reconciler of Tenants: deletes those that are being deleted, and counts the objects of the others."""

    def __init__(self, deletion: ScopeDeletion, counts: TenantCounts) -> None:
        self._deletion = deletion
        self._counts = counts

    async def begin(self) -> list[str]:
        return [*await self._deletion.begin(), *await self._counts.begin()]

    def keys_of(self, changed: ChangedKeys) -> list[str]:
        return [*self._deletion.keys_of(changed), *self._counts.keys_of(changed)]

    async def reconcile(self, key: str) -> Result:
        results = (await self._deletion.reconcile(key), await self._counts.reconcile(key))
        return min((seconds for seconds in results if seconds is not DONE), default=DONE)
