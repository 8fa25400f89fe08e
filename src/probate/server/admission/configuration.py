"""The objects that configure plugins, as they are now: webhooks, policies, quotas, limits.

They are read again after each write of one by this server, before that write is answered: so what is configured holds for the next
request. What other servers write is followed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.gvk import GroupResource
from probate.core import errors
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import paging
from probate.store.contract import Record, Revision, Store

Object = dict[str, Any]

Listener = Callable[[dict[str, Object]], None]
"""Is given all objects of a resource, by their keys, in the order of these."""

log = logging.getLogger(__name__)


class _Known(NamedTuple):
    revision: Revision
    object: Object


class Configured:
    """Tells who asked for it which objects of some resources there are, now and whenever that changes."""

    def __init__(self, store: Store, catalog: Callable[[], Catalog]) -> None:
        self._store = store
        self._catalog = catalog
        self._listeners: dict[GroupResource, list[Listener]] = {}
        self._versions: dict[GroupResource, str] = {}
        self._known: dict[GroupResource, dict[str, _Known]] = {}
        self._reading = asyncio.Lock()

    def tell(self, group: str, version: str, plural: str, listener: Listener) -> None:
        """Tell this listener about the objects of a built-in resource."""
        self._listeners.setdefault(GroupResource(group, plural), []).append(listener)
        self._versions[GroupResource(group, plural)] = version

    def is_of(self, resource: Resource) -> bool:
        """Whether writes of such objects configure something."""
        return (resource.group, resource.plural) in self._listeners

    async def refresh_all(self) -> None:
        """Read everything."""
        for resource in self._listeners:
            await self.refresh(resource)

    async def refresh(self, resource: GroupResource) -> None:
        """Read the objects of a resource, and tell if there is news. One at a time: none ends with an older view."""
        found = self._catalog().find(resource.group, self._versions[resource], resource.resource)
        if found is None:
            return
        async with self._reading:
            before = self._known.get(resource, {})
            pages = paging.pages(self._store, storage_keys.everywhere(found))
            now: dict[str, _Known] = {}
            async for page in pages:
                now |= {record.key: _look(record, before, found) for record in page.records}
                now |= {one.key: before[one.key] for one in page.damaged if one.key in before}  # it goes on as it was last read
            self._known[resource] = now
            if now != before:
                for listener in self._listeners[resource]:
                    listener({key: known.object for key, known in now.items()})

    async def follow(self, pause: Callable[[], Awaitable[None]]) -> None:
        """Refresh whenever something changes, by whomever. Never returns."""
        await asyncio.gather(asyncio.Event().wait(), *(self._follow(resource, pause) for resource in self._listeners))

    async def _follow(self, resource: GroupResource, pause: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                async with self._store.watch(f"objects/{resource}/", after=await self._store.revision()) as changes:
                    await self.refresh(resource)
                    async for _ in changes:
                        await self.refresh(resource)
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("%s are not followed, trying again: %s", resource, error)
            await pause()


def _look(record: Record, known: dict[str, _Known], resource: Resource) -> _Known:
    before = known.get(record.key)
    if before is not None and before.revision == record.revision:
        return before
    return _Known(record.revision, object_codec.loaded(record, resource))
