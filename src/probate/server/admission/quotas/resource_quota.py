"""The ResourceQuota admission plugin, the last one of each write: `quota_charges` says how it counts."""

from __future__ import annotations

from probate.api import object_keys
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core.aio.large_work import Offloader
from probate.core.clock import Clock
from probate.kinds.core.quota import quota_rules
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.shared.quantity_sums import Amounts
from probate.server.admission.admission_attributes import Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.admission.quotas import quota_charges
from probate.server.admission.quotas.quota_charges import ChargedScope, QuotaCharges
from probate.server.admission.quotas.quota_status import QuotaStatusWriter
from probate.server.admission.quotas.usage_ledger import UsageLedger
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Store


class ResourceQuotaPlugin:
    """Enforces all ResourceQuotas."""

    def __init__(self, chain: AdmissionChain, store: Store, *, clock: Clock, offloader: Offloader) -> None:
        self._chain = chain
        self._quotas: dict[str, list[Quota]] = {}
        self._statuses = QuotaStatusWriter(store, clock, self._used)
        self._ledger = UsageLedger(store, clock, self._statuses.schedule)
        self._charges = QuotaCharges(store, self._ledger, offloader)

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the ResourceQuota objects."""
        configuration.subscribe(GroupResource("", "resourcequotas"), self._configure)

    def _configure(self, objects: dict[str, Object]) -> None:
        by_namespace: dict[str, list[Quota]] = {}
        for key, object_ in objects.items():
            by_namespace.setdefault(object_["metadata"]["namespace"], []).append(quota_rules.compile_quota(key, object_))
        if by_namespace != self._quotas:
            self._quotas = by_namespace
            self._charges.keep([*by_namespace])
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
        resource = quota_charges.resource_name(at.resource)
        return quota_charges.can_use_more(operation, at.subresource, resource) and any(
            resource in quota.resources for quota in self._quotas[at.namespace]
        )

    async def validate(self, write: Attributes) -> CommitRequirements:
        resource, entry = quota_charges.resource_name(write.at.resource), storage_keys.quota_key(write.namespace)
        quotas = self._quotas.get(write.namespace, ())
        return await self._charges.charge(write, ChargedScope(write.namespace, quotas, resource, entry, entry))

    async def _used(self, quota: Quota, revision: int) -> Amounts:
        return await self._ledger.used(object_keys.parse(quota.key).namespace, quota, revision=revision)
