"""TenantQuotas: charges what is created in tenants, in either view, to the quotas of their Tenants.

`spec.quota.hard` of a Tenant limits what all of its objects use together, under the names of ResourceQuotas: `pods`,
`requests.cpu`, `count/deployments.apps`, and for cluster-scoped objects `count/namespaces` or `count/<plural>.<group>`. It is
checked like a ResourceQuota, in the transaction that creates an object, so it is never exceeded. Lowering a limit below what is
used removes nothing.

The index entry that each charged write rewrites is `quota/<id>-*`, which no namespace is named like.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import orjson

from probate.api import object_keys, tenants
from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.core import errors
from probate.core.aio import tasks
from probate.core.aio.large_work import Offloader
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.kinds.core.quota import usage
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import Amounts
from probate.server.admission.admission_attributes import Attributes, CommitRequirements
from probate.server.admission.quotas import quota_charges
from probate.server.admission.quotas.quota_charges import ChargedScope, QuotaCharges
from probate.server.admission.quotas.quota_status import QuotaStatusWriter
from probate.server.admission.quotas.usage_ledger import UsageLedger
from probate.server.storage import storage_keys
from probate.store import pagination
from probate.store.contract import Batch, Revision, Store
from probate.tenants.quotas import tenant_scopes
from probate.tenants.quotas.tenant_scopes import TenantScopes

RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


class TenantQuotas:
    """The quotas of all tenants. `store` is the physical one."""

    def __init__(self, store: Store, clock: Clock, offloader: Offloader) -> None:
        self._store = store
        self._clock = clock
        self._quotas: dict[str, tuple[Quota]] = {}
        self._listeners: list[Callable[[], None]] = []
        self._statuses = QuotaStatusWriter(store, clock, self._used, objects=TenantObjects())
        self._ledger = UsageLedger(store, clock, self._statuses.schedule, scopes=TenantScopes())
        self._charges = QuotaCharges(store, self._ledger, offloader)

    def __len__(self) -> int:
        return len(self._quotas)

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Calls the listener whenever a quota is added, changed or removed."""
        self._listeners.append(listener)

    def can_exceed(self, tenant: str, operation: str, *, resource: Resource, subresource: str) -> bool:
        """Returns whether a write of an object of the tenant may use more of a quota. `resource` is physical or the tenant's."""
        quotas = self._quotas.get(tenant)
        if quotas is None:
            return False
        name = tenant_scopes.own_resource(quota_charges.resource_name(resource), tenant)
        return name in quotas[0].resources and quota_charges.can_use_more(operation, subresource, name)

    async def charge(self, write: Attributes, tenant: str, *, is_own_view: bool) -> CommitRequirements:
        """Returns what the transaction of a write of the tenant needs, as the view of the write names it. Raises `Forbidden`."""
        resource = tenant_scopes.own_resource(quota_charges.resource_name(write.at.resource), tenant)
        entry = storage_keys.tenant_quota_key(tenant)
        named = storage_keys.quota_key(storage_keys.WHOLE_TENANT) if is_own_view else entry
        return await self._charges.charge(write, ChargedScope(tenant, self._quotas.get(tenant, ()), resource, entry, named))

    async def _used(self, quota: Quota, revision: int) -> Amounts:
        return await self._ledger.used(object_keys.name_in(quota.key), quota, revision=revision)

    @asynccontextmanager
    async def following(self) -> AsyncGenerator[None, None]:
        """Follows the quotas of Tenants until the context ends."""
        revision = await self._read()
        message = "quotas of tenants are no longer followed"
        task = tasks.start_supervised(
            self._follow(revision), name="tenant quotas", on_failure=lambda error: log.error(message, exc_info=error)
        )
        try:
            yield
        finally:
            await tasks.stop(task)
            await self._statuses.close()
            await self._ledger.close()

    async def _follow(self, revision: Revision) -> None:
        while True:
            try:
                async with self._store.watch(tenants.TENANTS_RANGE, after=revision) as changes:
                    changes.set_handler(self._apply)
                    async for batch in changes:
                        self._apply(batch)
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("watch of the quotas of tenants failed, restarting", extra=facts(error=str(error)))
            revision = await self._read_again()

    async def _read_again(self) -> Revision:
        while True:
            await self._clock.sleep(RETRY_SECONDS)
            try:
                return await self._read()
            except errors.ApiError as error:
                log.warning("cannot read the quotas of tenants, retrying", extra=facts(error=str(error)))

    async def _read(self) -> Revision:
        revision = await self._store.revision()
        quotas: dict[str, Quota | None] = dict.fromkeys(self._quotas)
        async for page in pagination.pages(self._store, tenants.TENANTS_RANGE, at=revision):
            quotas |= {object_keys.name_in(record.key): _stored_quota(record.key, record.value) for record in page.records}
            for damaged in page.damaged_records:  # it keeps the quota that was last read
                quotas.pop(object_keys.name_in(damaged.key), None)
        self._update(quotas)
        return revision

    def _apply(self, batch: Batch) -> bool:
        self._update({object_keys.name_in(event.key): _stored_quota(event.key, event.value) for event in batch})
        return True

    def _update(self, read: Mapping[str, Quota | None]) -> None:
        """Sets the quotas of these tenants. Fast path: most changes of Tenants do not change their quotas."""
        changed = {tenant: quota for tenant, quota in read.items() if self._quota(tenant) != quota}
        if not changed:
            return
        kept = {tenant: quotas for tenant, quotas in self._quotas.items() if tenant not in changed}
        self._quotas = kept | {tenant: (quota,) for tenant, quota in changed.items() if quota is not None}
        self._charges.keep([*self._quotas])
        self._ledger.track(self._quotas)
        for tenant in changed:
            self._statuses.schedule(tenants.tenant_key(tenant))
        for listener in self._listeners:
            listener()

    def _quota(self, tenant: str) -> Quota | None:
        return self._quotas[tenant][0] if tenant in self._quotas else None


class TenantObjects:
    """Tenants: their status says among other things how much of their quota is used."""

    def quota(self, key: str, object_: Object) -> Quota | None:
        return _compiled_quota(key, object_)

    def with_status(self, object_: Object, status: Object | None) -> Object:
        """Changes nothing if the Tenant is being deleted: its status would change with each of its objects that is deleted."""
        if "deletionTimestamp" in object_["metadata"]:
            return object_
        others = {name: value for name, value in (object_.get("status") or {}).items() if name != "quota"}
        return {**object_, "status": others if status is None else {**others, "quota": status}}


def _stored_quota(key: str, value: bytes | None) -> Quota | None:
    """Returns the quota of a stored Tenant; None if it has none, or is gone."""
    return None if value is None else _compiled_quota(key, orjson.loads(value))


def _compiled_quota(key: str, tenant: Object) -> Quota | None:
    hard = quantity_sums.read(((tenant.get("spec") or {}).get("quota") or {}).get("hard"))
    name = f"tenant {object_keys.name_in(key)}"
    return Quota(key, name, hard, (), frozenset(usage.counted_resources(hard))) if hard else None
