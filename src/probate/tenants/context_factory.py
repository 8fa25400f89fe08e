"""Makes the contexts of tenants: what handles requests in the view of one tenant, with the services that all contexts share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from probate.api import tenants
from probate.api.catalog import Catalog
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.server.objects.list_cache import ListCache
from probate.tenants import identity, tenant_catalog
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.tenant_store import TenantStore
from probate.tenants.tenant_tokens import TenantTokenIssuer

LIST_CACHE_BYTES = 24 * 1024 * 1024
"""The size of the lists that are cached for all tenants together."""

Install: TypeAlias = Callable[[ServerContext], Awaitable[None]]
"""Installs the admission plugins of a context."""


class ContextFactory:
    """Makes contexts beside that of the physical view."""

    def __init__(self, physical: ServerContext, platform: PlatformObjects, builtin: Catalog, *, install: Install) -> None:
        self.physical = physical
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
        return self._context(tenant, store, registries[0]), store

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
            owner_permissions=physical.owner_permissions,
            owner_warnings=physical.owner_warnings,
        )


def new_factory(physical: ServerContext, builtin: Catalog, *, install: Install) -> ContextFactory:
    """Returns a factory that shares the platform's objects of this store with tenants."""
    return ContextFactory(physical, PlatformObjects(physical.store, physical.metrics.registry), builtin, install=install)


def own_services(services: Mapping[str, str], tenant: str) -> dict[str, str]:
    """Returns the addresses of a tenant's services, named as the tenant names them."""
    prefix = tenants.prefix_of(tenant)
    return {name.removeprefix(prefix): url for name, url in services.items() if name.startswith(prefix)}
