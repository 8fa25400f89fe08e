"""PlatformObjects: the live knowledge of what tenants share with the platform. One for all tenants of a server.

It follows the shareable resources of the physical store, and keeps what is shared as an immutable `PlatformSnapshot`. Names in
objects (the class of a claim) are converted by the newest snapshot. Lists must be exact: `records` answers only for revisions for
which the snapshot is certainly right, and who asks for another revision reads the objects instead. So lists are right while this is
not running or is behind; they only cost more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource
from probate.core import errors
from probate.core.logs import facts
from probate.core.metrics import Counter, Registry
from probate.kinds.builtin import catalog
from probate.store import pagination
from probate.store.contract import NO_REVISION, Event, Record, Revision, Store, Watch
from probate.tenants.store_view import platform_snapshot, shared_objects
from probate.tenants.store_view.platform_snapshot import BuiltinKinds, PlatformSnapshot, SharedRecords
from probate.tenants.store_view.shared_objects import FOLLOWED
from probate.tenants.view.object_conversion import API_SERVICES

PAGE = 100
METRIC = "probate_tenant_conversion_failures"
CrdListener = Callable[[Collection[GroupResource]], None]
"""Called with the resources whose CRDs were shared, are not shared any more, or have changed."""

log = logging.getLogger(__name__)


class PlatformObjects:
    """The shared kinds and objects, followed by one watch for each shareable resource. `store` is the physical one."""

    def __init__(self, store: Store, registry: Registry | None = None) -> None:
        self._store = store
        self._watches: list[Watch] = []
        self._loaded = NO_REVISION
        self._listeners: dict[CrdListener, None] = {}
        self.snapshot: PlatformSnapshot = platform_snapshot.empty_snapshot(BuiltinKinds(catalog.load()))
        self.conversion_failures: Counter = (registry or Registry()).counter(
            METRIC, "Stored objects and changes that could not be shown to their tenant.", ("resource",)
        )

    @property
    def reached(self) -> Revision:
        """The revision up to which every change is in the snapshot."""
        return min((watch.revision for watch in self._watches), default=self._loaded)

    def records(self, resource: GroupResource, at: Revision) -> Mapping[str, Record] | None:
        """Returns the shared objects of a resource as of a revision, by name; None if this is not known."""
        records = self.snapshot.records(resource)
        return records.by_name if records.since <= at <= self.reached and self._loaded else None

    def add_listener(self, listener: CrdListener) -> None:
        """Calls the listener whenever the kinds of shared CRDs change."""
        self._listeners[listener] = None

    def remove_listener(self, listener: CrdListener) -> None:
        """Stops calling the listener. Idempotent."""
        self._listeners.pop(listener, None)

    async def load(self) -> Revision:
        """Reads what is shared now, and returns the revision of the answer."""
        revision = await self._store.revision()
        objects = {resource: SharedRecords(await self._read(resource, revision), revision) for resource in FOLLOWED}
        self._replace(objects)
        self._loaded = revision
        return revision

    async def follow(self, pause: Callable[[], Awaitable[None]]) -> None:
        """Keeps the snapshot current. Never returns; after a failure waits for `pause`."""
        while True:
            try:
                await self._follow()
            except* (errors.ApiError, errors.TooSlow) as group:
                log.warning("watch of shared objects failed, restarting", extra=facts(error=str(group.exceptions[0])))
            await pause()

    async def _follow(self) -> None:
        revision = await self.load()
        async with AsyncExitStack() as stack:
            ranges = [object_keys.resource_range(resource) for resource in FOLLOWED]
            watches = [await stack.enter_async_context(self._store.watch(range_, after=revision)) for range_ in ranges]
            self._watches = watches
            try:
                async with asyncio.TaskGroup() as tasks:
                    for resource, watch in zip(FOLLOWED, watches, strict=True):
                        tasks.create_task(self._consume(resource, watch))
            finally:
                self._loaded, self._watches = self.reached, []

    async def _consume(self, resource: GroupResource, watch: Watch) -> None:
        watch.set_handler(lambda batch: self._apply(resource, batch))
        async for batch in watch:
            self._apply(resource, batch)

    def _apply(self, resource: GroupResource, events: Collection[Event]) -> bool:
        known = self._known(resource)
        current = dict(known)
        for event in events:
            name = object_keys.name_in(event.key)
            if event.value is not None and _is_kept(resource, name, event.value):
                current[name] = Record(event.key, event.value, event.revision)
            else:
                current.pop(name, None)
        if current != known:
            self._replace({resource: SharedRecords(current, max(event.revision for event in events))})
        return True

    def _known(self, resource: GroupResource) -> Mapping[str, Record]:
        return self.snapshot.objects[resource].by_name

    def _replace(self, changes: Mapping[GroupResource, SharedRecords]) -> None:
        before = self.snapshot
        self.snapshot = before.with_changes(changes)
        old, new = before.crds, self.snapshot.crds
        changed = [resource for resource in {**old, **new} if old.get(resource) != new.get(resource)]
        for listener in tuple(self._listeners) if changed else ():
            listener(changed)

    async def _read(self, resource: GroupResource, at: Revision) -> dict[str, Record]:
        """Returns the objects of a resource to keep. One that has become unreadable stays as it was."""
        found: dict[str, Record] = {}
        async for page in pagination.pages(self._store, object_keys.resource_range(resource), size=PAGE, at=at):
            for record in page.records:
                name = object_keys.name_in(record.key)
                if _is_kept(resource, name, record.value):
                    found[name] = record
            for damaged in page.damaged_records:
                name = object_keys.name_in(damaged.key)
                if name in self._known(resource):
                    found[name] = self._known(resource)[name]
        return found


def _is_kept(resource: GroupResource, name: str, value: bytes) -> bool:
    if resource != API_SERVICES:
        return shared_objects.is_shared(resource, name, value)
    return not tenants.id_in_name(name.partition(".")[2]) and not shared_objects.tenant_of(value)
