"""The objects that configure admission plugins: webhooks, policies, quotas, limit ranges and classes.

When this server writes such an object, it reads the configuration again before it answers the write. So the new configuration
applies to the next request. Writes by other servers arrive through a watch.

**Tenants.** Cluster-scoped objects of tenants (label `kubezoo.io/tenant`) are left out, because they configure the tenant's own
view only, where they do not have the label: a webhook of a tenant must not see objects of others. Plugins that look up classes
which objects name do get them (`includes_tenants`): controllers write objects of tenants in the physical view. Such a plugin must
not let a class apply to objects of others that do not name it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from probate.api import object_keys, tenants
from probate.api.catalog import Catalog, Resource
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core import errors
from probate.core.logs import facts
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import pagination
from probate.store.contract import Record, Revision, Store

Listener = Callable[[dict[str, Object]], None]
"""Called with all objects of a resource, by key, in the order of the keys."""

log = logging.getLogger(__name__)


class _Subscription(NamedTuple):
    listener: Listener
    includes_tenants: bool


class _CachedObject(NamedTuple):
    revision: Revision
    object: Object


class PluginConfiguration:
    """Passes the objects of some resources to the plugins that subscribe to them, now and whenever they change."""

    def __init__(self, store: Store, catalog: Callable[[], Catalog]) -> None:
        self._store = store
        self._catalog = catalog
        self._listeners: dict[GroupResource, list[_Subscription]] = {}
        self._cached: dict[GroupResource, dict[str, _CachedObject]] = {}
        self._reading = asyncio.Lock()

    def subscribe(self, resource: GroupResource, listener: Listener, *, includes_tenants: bool = False) -> None:
        """Subscribes a listener to the objects of a built-in resource, in the version v1. A late one is called at once."""
        subscription = _Subscription(listener, includes_tenants)
        self._listeners.setdefault(resource, []).append(subscription)
        served = self._catalog().find(resource.group, "v1", resource.resource)
        if served is not None and resource in self._cached:
            self._call_listeners([subscription], served, self._cached[resource])

    def includes(self, resource: Resource) -> bool:
        """Returns whether a resource configures a plugin."""
        return (resource.group, resource.plural) in self._listeners

    async def refresh_all(self) -> None:
        """Reads the objects of all resources."""
        for resource in self._listeners:
            await self.refresh(resource)

    async def refresh(self, resource: GroupResource) -> None:
        """Reads the objects of a resource, and calls the listeners if they have changed.

        Runs once at a time, so that an older read never replaces a newer one.
        """
        served = self._catalog().find(resource.group, "v1", resource.resource)
        if served is None:
            return
        async with self._reading:
            previous = self._cached.get(resource, {})
            pages = pagination.pages(self._store, storage_keys.resource_range(served))
            current: dict[str, _CachedObject] = {}
            async for page in pages:
                current |= {record.key: _decode(record, previous, served) for record in page.records}
                # A damaged object keeps the configuration that was last read.
                current |= {damaged.key: previous[damaged.key] for damaged in page.damaged_records if damaged.key in previous}
            self._cached[resource] = current
            if current != previous:
                self._call_listeners(self._listeners[resource], served, current)

    @staticmethod
    def _call_listeners(subscriptions: list[_Subscription], served: Resource, current: dict[str, _CachedObject]) -> None:
        objects = {key: cached.object for key, cached in current.items()}
        of_platform = objects
        if not served.is_namespaced:
            of_platform = {key: object_ for key, object_ in objects.items() if not tenants.tenant_of(object_)}
        for listener, includes_tenants in subscriptions:
            listener(objects if includes_tenants else of_platform)

    async def watch(self, pause: Callable[[], Awaitable[None]]) -> None:
        """Refreshes a resource whenever one of its objects changes. Never returns."""
        await asyncio.gather(asyncio.Event().wait(), *(self._watch(resource, pause) for resource in self._listeners))

    async def _watch(self, resource: GroupResource, pause: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                async with self._store.watch(object_keys.resource_range(resource), after=await self._store.revision()) as changes:
                    await self.refresh(resource)
                    async for _ in changes:
                        await self.refresh(resource)
            except (errors.ApiError, errors.TooSlow) as error:
                about = facts(resource=str(resource), error=str(error))
                log.warning("watch of admission configuration failed, restarting", extra=about)
            await pause()


def _decode(record: Record, cached: dict[str, _CachedObject], resource: Resource) -> _CachedObject:
    previous = cached.get(record.key)
    if previous is not None and previous.revision == record.revision:
        return previous
    return _CachedObject(record.revision, object_codec.loaded(record, resource))
