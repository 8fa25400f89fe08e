"""The part of the simulated server that handles the requests of tenants' users, each in the context of its tenant."""

from __future__ import annotations

from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from probate.api.rbac.users import AUTHENTICATED, User
from probate.app import admission_plugins
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.authn.tenant_users import TenantUsers
from probate.server.context import ServerContext
from probate.tenants import context_factory
from probate.tenants.per_tenant import PerTenant
from probate.tenants.tenant_contexts import TenantContexts


@asynccontextmanager
async def tenant_app(api: ServerContext) -> AsyncGenerator[App, None]:
    """Runs an app whose users are administrators of tenants: of the one that the request's `tenant` names."""
    users, per_tenant = TenantUsers(api.store), PerTenant()
    per_tenant.register(users.evict)

    async def authenticate(scope: MutableMapping[str, Any]) -> User:
        tenant = str(scope["tenant"])
        if not await users.uid(tenant):
            raise errors.Unauthorized
        return User(f"{tenant}-admin", (AUTHENTICATED,), tenant=tenant)

    quotas = admission_plugins.install_tenant_quotas(api)
    factory = context_factory.new_factory(api, catalog.load(), install=admission_plugins.install, quotas=quotas)
    contexts = TenantContexts(api, lambda: factory, users=users, per_tenant=per_tenant)
    admission_plugins.install_tenant_admission(api, contexts)
    async with quotas.following(), contexts.serving():
        yield App(api, authenticate=authenticate, tenants=contexts)
