"""Which objects are counted together: those of one namespace, for a ResourceQuota.

Quotas of another scope, such as all objects of a tenant, bring a `QuotaScopes` of their own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

import orjson

from probate.api import object_keys
from probate.kinds.core.quota import usage
from probate.kinds.core.quota.usage import ObjectUsage
from probate.store import pagination
from probate.store.contract import Event, Store

DECODED = frozenset({usage.PODS, usage.SERVICES, usage.CLAIMS})
"""The resources whose objects are decoded. Of all others only the number matters."""
UNKNOWN = b"{}"
"""The value of a damaged object. It exists, so it counts as one."""


class ResourceInScope(NamedTuple):
    """A resource, as quotas name it, and the name of a scope, such as a namespace."""

    resource: str
    scope: str


class QuotaScopes(Protocol):
    """The scopes of some quotas."""

    def find(self, event: Event) -> ResourceInScope:
        """Returns where the object of a change is counted. Must be fast: it is called for every change of any object."""
        ...

    def values(self, store: Store, counted: ResourceInScope) -> AsyncIterator[dict[str, bytes]]:
        """Yields all objects of a resource in a scope: their keys and values, `UNKNOWN` for damaged ones."""
        ...

    def usage(self, counted: ResourceInScope, value: bytes) -> ObjectUsage:
        """Returns what an object counts as."""
        ...


class NamespaceScopes:
    """Namespaces. Resources are named as in store keys."""

    def find(self, event: Event) -> ResourceInScope:
        resource, namespace, _ = object_keys.parse(event.key)
        return ResourceInScope(resource, namespace)

    async def values(self, store: Store, counted: ResourceInScope) -> AsyncIterator[dict[str, bytes]]:
        async for page in pagination.pages(store, object_keys.namespace_range(*counted)):
            known = {record.key: record.value for record in page.records}
            yield known | {damaged.key: UNKNOWN for damaged in page.damaged_records}

    def usage(self, counted: ResourceInScope, value: bytes) -> ObjectUsage:
        return object_usage(counted.resource, value)


def object_usage(resource: str, value: bytes) -> ObjectUsage:
    """Returns what a stored object counts as."""
    return usage.object_usage(resource, orjson.loads(value) if resource in DECODED else {})
