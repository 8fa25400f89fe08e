"""The ResourceQuota admission plugin, the last one of each write: the usage that the write adds must fit into each quota.

Concurrent writes are counted one after the other. A write that adds usage commits under the guard that no other such write has
committed since its usage was computed: each of them rewrites the namespace's index entry `quota/<namespace>`, which the guard
covers. So no quota is ever exceeded, however many servers there are. A write that reduces usage needs no guard.
"""

from __future__ import annotations

import asyncio

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.core.clock import Clock
from probate.kinds.core.quota import quota_rules, usage
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.core.quota.usage import ObjectUsage
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import Amounts
from probate.server import api_errors
from probate.server.admission.admission_attributes import CREATE, NO_REQUIREMENTS, UPDATE, Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.admission.quotas.quota_status import QuotaStatusWriter
from probate.server.admission.quotas.usage_ledger import UsageLedger
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Absent, Guard, Store, Unchanged

_POD_OPERATIONS = frozenset({(CREATE, ""), (UPDATE, "resize")})
_OPERATIONS = frozenset({(CREATE, ""), (UPDATE, "")})
"""The operations by which an object can use more."""


class ResourceQuotaPlugin:
    """Enforces all ResourceQuotas."""

    def __init__(self, chain: AdmissionChain, store: Store, *, clock: Clock, offloader: Offloader) -> None:
        self._chain = chain
        self._store = store
        self._offloader = offloader
        self._quotas: dict[str, list[Quota]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._statuses = QuotaStatusWriter(store, clock, self._used)
        self._ledger = UsageLedger(store, clock, self._statuses.schedule)

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the ResourceQuota objects."""
        configuration.subscribe(GroupResource("", "resourcequotas"), self._configure)

    def _configure(self, objects: dict[str, Object]) -> None:
        by_namespace: dict[str, list[Quota]] = {}
        for key, object_ in objects.items():
            by_namespace.setdefault(object_["metadata"]["namespace"], []).append(quota_rules.compile_quota(key, object_))
        if by_namespace != self._quotas:
            self._quotas = by_namespace
            self._locks = {namespace: self._locks.get(namespace) or asyncio.Lock() for namespace in by_namespace}
            self._ledger.track(by_namespace)
        self._statuses.repair(objects)
        if by_namespace:
            self._chain.enable(PluginOrder.QUOTA, self)
        else:
            self._chain.disable(PluginOrder.QUOTA)

    async def close(self) -> None:
        """Stops counting."""
        await self._statuses.close()
        await self._ledger.close()

    def handles(self, operation: str, at: Target) -> bool:
        if at.namespace not in self._quotas:
            return False
        resource = _storage_name(at.resource)
        handled = _POD_OPERATIONS if resource == usage.PODS else _OPERATIONS
        return (operation, at.subresource) in handled and any(resource in quota.resources for quota in self._quotas[at.namespace])

    async def validate(self, write: Attributes) -> CommitRequirements:
        resource, namespace = _storage_name(write.at.resource), write.namespace
        new, old = await self._offloader.offload_if_large(write.size, lambda: _usage_counts(resource, write))
        quotas = [
            quota for quota in quota_rules.matching_quotas(self._quotas.get(namespace, ()), new) if _increase(quota, new, old)
        ]
        if not quotas:
            return NO_REQUIREMENTS
        if resource == usage.PODS:
            await self._offloader.offload_if_large(write.size, lambda: self._check_required(write, quotas))
        if write.request.is_dry_run:
            await self._check(write, quotas, new=new, old=old, revision=0)
            return NO_REQUIREMENTS
        lock = self._locks[namespace]
        await lock.acquire()
        try:
            entry = storage_keys.quota_key(namespace)
            entry_record = await self._store.read(entry)
            is_local = self._store.unchanged_since("objects/") is not None  # then everything acknowledged so far is published
            published = self._store.confirmed_revision() if is_local else None
            revision = max(entry_record.revision if entry_record else 0, published or 0)
            await self._check(write, quotas, new=new, old=old, revision=revision)
        except BaseException:
            lock.release()
            raise
        guard: Guard = Absent(entry) if entry_record is None else Unchanged(entry, entry_record.revision)
        return CommitRequirements((entry,), (guard,), (lock.release,))

    def _check_required(self, write: Attributes, quotas: list[Quota]) -> None:
        for quota in quotas:
            missing = quota_rules.missing_amounts_message(quota, write.object or {})
            if missing:
                raise _forbidden(write, f"failed quota: {quota.name}: must specify {missing}")

    async def _check(
        self, write: Attributes, quotas: list[Quota], *, new: ObjectUsage, old: ObjectUsage | None, revision: int
    ) -> None:
        for quota in quotas:
            used = await self._ledger.used(write.namespace, quota, revision=revision)
            if message := quota_rules.exceeded_message(quota, used, _increase(quota, new, old)):
                raise _forbidden(write, message)

    async def _used(self, quota: Quota, revision: int) -> Amounts:
        return await self._ledger.used(object_keys.parse(quota.key).namespace, quota, revision=revision)


def _usage_counts(resource: str, write: Attributes) -> tuple[ObjectUsage, ObjectUsage | None]:
    """Returns the object's usage, and its usage before the write."""
    old = None if write.old is None else usage.object_usage(resource, write.old)
    return usage.object_usage(resource, write.object or {}), old


def _increase(quota: Quota, new: ObjectUsage, old: ObjectUsage | None) -> Amounts:
    """Returns how much more of the quota the write uses; empty if it does not use more of anything."""
    before = old.usage if old is not None and quota_rules.matches_quota(quota, old) else {}
    increase = quantity_sums.subtract(quota_rules.counted_amounts(quota, new.usage), quota_rules.counted_amounts(quota, before))
    return increase if any(amount.size > 0 for amount in increase.values()) else {}


def _forbidden(write: Attributes, why: str) -> errors.ApiError:
    name = write.name or str((write.object or {}).get("metadata", {}).get("name", ""))
    return api_errors.forbidden(write.at.resource, name, why)


def _storage_name(resource: Resource) -> str:
    return object_keys.resource_in(storage_keys.resource_range(resource))
