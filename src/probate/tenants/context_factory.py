"""Makes the contexts of tenants: what handles requests in the view of one tenant, with the services that all contexts share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from probate.api import tenants
from probate.api.catalog import Catalog
from probate.server.admission.chain import PluginOrder
from probate.server.authz.owner_checks import OwnerChecks
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.server.objects.list_cache import ListCache
from probate.tenants import identity, tenant_catalog
from probate.tenants.admission.platform_admission import PlatformAdmission
from probate.tenants.quotas.tenant_quota_plugins import OwnTenantQuotaPlugin
from probate.tenants.quotas.tenant_quotas import TenantQuotas
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.tenant_store import TenantStore
from probate.tenants.tenant_tokens import TenantTokenIssuer
from probate.tenants.view_tenancy import ViewTenancy

LIST_CACHE_BYTES = 24 * 1024 * 1024
"""The size of the lists that are cached for all tenants together."""

Install: TypeAlias = Callable[[ServerContext], Awaitable[None]]
"""Installs the admission plugins of a context."""


class ContextFactory:
    """Makes contexts beside that of the physical view."""

    def __init__(
        self, physical: ServerContext, platform: PlatformObjects, builtin: Catalog, *, install: Install, quotas: TenantQuotas
    ) -> None:
        self.physical = physical
        self.quotas = quotas
        self.platform = platform
        self.install = install
        self._catalog = tenant_catalog.tenant_catalog(builtin)
        self._lists = ListCache(LIST_CACHE_BYTES)

    def make(self, tenant: str) -> tuple[ServerContext, TenantStore]:
        """Returns a new context of a tenant, and its store. The caller lets it follow changes, and ends the store."""
        registries: list[KindRegistry] = []  # the store and the registry of its kinds need each other
        served = lambda: registries[0].catalog if registries else self._catalog  # noqa: E731 the registry comes later
        store = TenantStore(self.physical.store, tenant, self.platform, kinds=served)
        registries.append(KindRegistry(store, self._catalog, self.physical.shared.offload))
        context = self._context(tenant, store, registries[0])
        self._add_plugins(context, store)
        return context, store

    def _add_plugins(self, context: ServerContext, store: TenantStore) -> None:
        """Adds the plugins by which the platform has a say in the tenant."""
        physical = self.physical
        plugin = PlatformAdmission(physical.admission.chain, physical.kinds, lambda: store.converter, offloader=physical.offloader)
        context.admission.chain.enable(PluginOrder.PLATFORM, plugin)
        context.admission.chain.enable(PluginOrder.TENANT_QUOTA, OwnTenantQuotaPlugin(self.quotas, store.tenant))

    def _context(self, tenant: str, store: TenantStore, kinds: KindRegistry) -> ServerContext:
        physical = self.physical
        return ServerContext(
            store,
            kinds,
            physical.clock,
            new_uid=physical.new_uid,
            random=physical.random,
            service_pools=physical.service_pools,
            shared=physical.shared,
            list_cache=self._lists.new_part(),
            webhook_services=own_services(physical.webhook_services, tenant),
            service_accounts=TenantTokenIssuer(physical.service_accounts, tenant),
            authenticate_token=identity.authenticate_in_view(physical.authenticate_token, tenant),
            owner_permissions=owner_checks(physical.owner_permissions),
            owner_warnings=physical.owner_warnings,
            tenancy=ViewTenancy(self.platform),
        )


def owner_checks(physical: OwnerChecks) -> OwnerChecks:
    """Returns how references to owners are checked: at least those that block, since an owner can be the platform's."""
    return OwnerChecks.BLOCKING if physical is OwnerChecks.NONE else physical


def new_factory(physical: ServerContext, builtin: Catalog, *, install: Install, quotas: TenantQuotas) -> ContextFactory:
    """Returns a factory that shares the platform's objects of this store with tenants."""
    platform = PlatformObjects(physical.store, physical.metrics.registry)
    return ContextFactory(physical, platform, builtin, install=install, quotas=quotas)


def own_services(services: Mapping[str, str], tenant: str) -> dict[str, str]:
    """Returns the addresses of a tenant's services, named as the tenant names them."""
    prefix = tenants.prefix_of(tenant)
    return {name.removeprefix(prefix): url for name, url in services.items() if name.startswith(prefix)}
