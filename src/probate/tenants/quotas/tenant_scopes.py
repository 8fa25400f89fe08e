"""TenantScopes: the objects of a tenant, counted in the physical view under the names that the tenant uses.

The quota `count/foos.a.com` of tenant 111111 counts `foos.111111-a.com`, its own kind, or `foos.a.com`, if that is a kind which the
platform shares: a tenant has only one of them. The index of the tenant says which objects it has, wherever they are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource
from probate.kinds.core.quota.usage import ObjectUsage
from probate.server.admission.quotas import quota_scopes
from probate.server.admission.quotas.quota_scopes import DECODED, UNKNOWN, ResourceInScope
from probate.store import pagination
from probate.store.contract import Event, Record, Store
from probate.tenants.ownership import stored_labels

_VOLUMES = object_keys.resource_range("persistentvolumes")
_NOWHERE = ResourceInScope("", "")


class TenantScopes:
    """Tenants as the scopes of quotas. Implements `quota_scopes.QuotaScopes`."""

    def find(self, event: Event) -> ResourceInScope:
        ids = tenants.ids_in_key(event.key)
        tenant = _owner_of_volume(event) or "" if event.key.startswith(_VOLUMES) else ids[0] if ids else ""
        return ResourceInScope(own_resource(object_keys.resource_in(event.key), tenant), tenant) if tenant else _NOWHERE

    async def values(self, store: Store, counted: ResourceInScope) -> AsyncIterator[dict[str, bytes]]:
        for resource in _physical_resources(counted):
            async for page in pagination.pages(store, tenants.resource_content_range(counted.scope, resource)):
                keys = [entry.key.removeprefix(tenants.content_range(counted.scope)) for entry in page.records]
                yield await _read(store, keys) if counted.resource in DECODED else dict.fromkeys(keys, UNKNOWN)

    def usage(self, counted: ResourceInScope, value: bytes) -> ObjectUsage:
        return in_own_terms(quota_scopes.object_usage(counted.resource, value), counted.scope)


def own_resource(resource: str, tenant: str) -> str:
    """Returns a resource of the physical view as the tenant names it, both as in store keys."""
    plural, dot, group = resource.partition(".")
    return f"{plural}{dot}{group.removeprefix(tenants.prefix_of(tenant))}"


def in_own_terms(used: ObjectUsage, tenant: str) -> ObjectUsage:
    """Returns the usage with the names of storage classes that the tenant uses."""
    prefix = tenants.prefix_of(tenant)
    return used._replace(usage={name.removeprefix(prefix): amount for name, amount in used.usage.items()})


def _owner_of_volume(event: Event) -> str:
    """Returns the tenant of a volume, which its name does not always tell."""
    value = event.value if event.value is not None else event.previous.value if event.previous is not None else b""
    return stored_labels.tenant_of(value)


def _physical_resources(counted: ResourceInScope) -> list[GroupResource]:
    resource = object_keys.parse_resource(counted.resource)
    if not resource.group:
        return [resource]
    return [resource, resource._replace(group=f"{tenants.prefix_of(counted.scope)}{resource.group}")]


async def _read(store: Store, keys: list[str]) -> dict[str, bytes]:
    """Returns the objects of these keys. Those that are gone by now are left out."""
    found: dict[str, bytes] = {}
    size = store.limits.page_size
    for start in range(0, len(keys), size):
        part = keys[start : start + size]
        for key, result in zip(part, await store.read_many(part), strict=True):
            if result is not None:
                found[key] = result.value if isinstance(result, Record) else UNKNOWN
    return found
