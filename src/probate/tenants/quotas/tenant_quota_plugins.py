"""The admission plugins that charge writes to the quotas of tenants: one of the physical view, and one of each tenant's view."""

from __future__ import annotations

from probate.server.admission.admission_attributes import NO_REQUIREMENTS, Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.request import Target
from probate.tenants.admission import object_tenants
from probate.tenants.quotas.tenant_quotas import TenantQuotas


class PhysicalTenantQuotaPlugin:
    """Charges what others create in tenants, such as controllers. Disabled while no tenant has a quota."""

    def __init__(self, chain: AdmissionChain, quotas: TenantQuotas) -> None:
        self._chain = chain
        self._quotas = quotas

    def follow(self) -> None:
        """Is enabled while there are quotas."""
        self._quotas.subscribe(self._update)
        self._update()

    def _update(self) -> None:
        if len(self._quotas):
            self._chain.enable(PluginOrder.TENANT_QUOTA, self)
        else:
            self._chain.disable(PluginOrder.TENANT_QUOTA)

    def handles(self, operation: str, at: Target) -> bool:
        possible = object_tenants.of_target(at)
        return possible is None or any(self._can_exceed(tenant, operation, at) for tenant in possible)

    def _can_exceed(self, tenant: str, operation: str, at: Target) -> bool:
        return self._quotas.can_exceed(tenant, operation, resource=at.resource, subresource=at.subresource)

    async def validate(self, write: Attributes) -> CommitRequirements:
        for tenant in object_tenants.of_write(write):
            if self._can_exceed(tenant, write.operation, write.at):
                return await self._quotas.charge(write, tenant, is_own_view=False)
        return NO_REQUIREMENTS


class OwnTenantQuotaPlugin:
    """Charges what the users of one tenant create."""

    def __init__(self, quotas: TenantQuotas, tenant: str) -> None:
        self._quotas = quotas
        self._tenant = tenant

    def handles(self, operation: str, at: Target) -> bool:
        return self._quotas.can_exceed(self._tenant, operation, resource=at.resource, subresource=at.subresource)

    async def validate(self, write: Attributes) -> CommitRequirements:
        return await self._quotas.charge(write, self._tenant, is_own_view=True)
