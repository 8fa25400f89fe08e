"""Makes the contexts of tenants: what handles requests in the view of one tenant, with the services that all contexts share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from probate.api import tenants
from probate.api.catalog import Catalog
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.contract import Store
from probate.tenants import identity, tenant_catalog
from probate.tenants.endable_store import EndableStore
from probate.tenants.tenant_tokens import TenantTokenIssuer

LIST_CACHE_BYTES = 256 * 1024
"""The size of the lists that are cached for one tenant."""

Install: TypeAlias = Callable[[ServerContext], Awaitable[None]]
"""Installs the admission plugins of a context."""
ViewOf: TypeAlias = Callable[[str], Store]
"""Returns the store in the view of a tenant."""


class ContextFactory:
    """Makes contexts beside that of the physical view."""

    def __init__(self, physical: ServerContext, builtin: Catalog, *, view_of: ViewOf, install: Install) -> None:
        self.physical = physical
        self.install = install
        self._catalog = tenant_catalog.tenant_catalog(builtin)
        self._view_of = view_of

    def make(self, tenant: str) -> tuple[ServerContext, EndableStore]:
        """Returns a new context of a tenant, which nothing follows the changes for yet, and its store."""
        physical, store = self.physical, EndableStore(self._view_of(tenant))
        context = ServerContext(
            store,
            KindRegistry(store, self._catalog, physical.shared.offload),
            physical.clock,
            new_uid=physical.new_uid,
            random=physical.random,
            service_pools=physical.service_pools,
            shared=physical.shared,
            list_cache_bytes=LIST_CACHE_BYTES,
            webhook_services=own_services(physical.webhook_services, tenant),
            service_accounts=TenantTokenIssuer(physical.service_accounts, tenant),
            authenticate_token=identity.authenticate_in_view(physical.authenticate_token, tenant),
            owner_permissions=physical.owner_permissions,
            owner_warnings=physical.owner_warnings,
        )
        return context, store


def own_services(services: Mapping[str, str], tenant: str) -> dict[str, str]:
    """Returns the addresses of a tenant's services, named as the tenant names them."""
    prefix = tenants.prefix_of(tenant)
    return {name.removeprefix(prefix): url for name, url in services.items() if name.startswith(prefix)}
