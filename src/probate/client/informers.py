"""Informers: local caches of all objects of a resource, kept current by list and watch.

Controllers look objects up in them without a request. One informer serves all controllers of a process that use its resource. It
lags behind the server, but never behind what was written through it: a controller that creates a pod finds it in the informer
afterwards, and one that deletes a pod finds it deleting, or gone. Controllers act on the cache, and the server refuses a write that
is based on an outdated object.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias

from probate.api.objects import Object
from probate.client.equal_parts import EqualParts
from probate.client.names import Index, NamespacedName, controller_of, name_of, revision_of, uid_of
from probate.client.objects import (
    MERGE_PATCH,
    Client,
    GroupVersionResource,
    ObjectList,
    WatchEvent,
    is_pending_deletion,
)
from probate.core import errors
from probate.core.clock import Clock
from probate.core.logs import facts

__all__ = ["EventHandler", "Informer", "Informers", "ListDamaged", "NamespacedName", "controller_of", "name_of"]

RETRY_SECONDS = 1.0

ListDamaged: TypeAlias = Callable[[GroupVersionResource], Collection[NamespacedName]]
"""Returns the objects of a resource that cannot be read, since their stored data is damaged. They exist."""


def no_damaged_objects(_resource: GroupVersionResource) -> Collection[NamespacedName]:
    """The `ListDamaged` of a client without access to the store."""
    return ()


EventHandler: TypeAlias = Callable[[Object | None, Object | None], None]
"""Called with an object before and after a change. None means that it did not, or does not, exist."""

log = logging.getLogger(__name__)


class WatchProgress:
    """The revision up to which the server has sent all events."""

    revision = 0


class Informer:
    """A cache of the objects of one resource, or of those that a field selector selects. Copy an object before you change it."""

    def __init__(
        self,
        client: Client,
        resource: GroupVersionResource,
        clock: Clock,
        *,
        field_selector: str = "",
        damaged: ListDamaged = no_damaged_objects,
    ) -> None:
        self.resource = resource
        self._damaged = damaged
        self._query = {"fieldSelector": field_selector} if field_selector else {}
        self.is_synced = asyncio.Event()
        self._client = client
        self._clock = clock
        self._objects: dict[NamespacedName, Object] = {}
        self._by_namespace = Index()
        self._by_controller = Index()  # by the uid of the controller; by the namespace if there is none
        self._deleted_uids: set[str] = set()  # of objects deleted through this informer, until the server sends the event
        self._handlers: list[EventHandler] = []
        self._progress = WatchProgress()
        self._equal_parts = EqualParts()

    def with_client(self, client: Client) -> Informer:
        """Returns the same informer with another client for writes."""
        other = copy.copy(self)  # shares all mutable state
        other._client = client  # noqa: SLF001
        return other

    def share_equal_parts(self, *fields: str) -> None:
        """Makes objects whose values of these top-level fields are equal share them. To be called before the informer runs."""
        self._equal_parts.fields.update(fields)

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self._objects.values()))

    def get(self, name: NamespacedName) -> Object | None:
        return self._objects.get(name)

    def may_exist(self, name: NamespacedName) -> bool:
        """Whether the object may exist: an object whose stored data is damaged is in no list, and exists nevertheless."""
        return name in self._objects or name in self._damaged(self.resource)

    def in_namespace(self, namespace: str) -> list[Object]:
        """Returns the objects of a namespace."""
        return [self._objects[name] for name in self._by_namespace.get(namespace)]

    def controlled_by(self, uid: str) -> list[Object]:
        """Returns the objects whose controller has this uid."""
        return [self._objects[name] for name in self._by_controller.get(f"uid {uid}")]

    def without_controller(self, namespace: str) -> list[Object]:
        """Returns the objects of a namespace that have no controller."""
        return [self._objects[name] for name in self._by_controller.get(f"in {namespace}")]

    def add_event_handler(self, handler: EventHandler) -> None:
        """Calls the handler for every object in the cache, and for every change from now on."""
        self._handlers.append(handler)
        for object_ in self:
            self._call(handler, None, object_)

    async def create(self, namespace: str, object_: Object) -> Object:
        """Creates an object and adds it to the cache."""
        return self._store_written(await self._client.create(self.resource, namespace, object_))

    async def update(self, object_: Object, subresource: str = "") -> Object:
        """Replaces an object, or its subresource. Raises `Conflict` if it has changed since it was read."""
        return self._store_written(await self._client.update(self.resource, object_, subresource))

    async def patch(self, name: NamespacedName, change: Object, subresource: str = "", *, media: str = MERGE_PATCH) -> Object:
        """Merges a change into an object, whatever its current version."""
        return self._store_written(
            await self._client.patch(self.resource, name.namespace, name.name, change=change, subresource=subresource, media=media)
        )

    async def delete(self, object_: Object, **options: Any) -> None:
        """Deletes this object, and not another one of the same name. It is not an error if it is gone already."""
        meta = object_["metadata"]
        deleted = await self._client.delete(self.resource, meta.get("namespace", ""), meta["name"], uid=meta["uid"], **options)
        if deleted is None:
            self._remove(name_of(object_), meta["uid"])
        else:
            self._store_written(deleted)

    async def run(self) -> None:
        """Keeps the cache current. Never returns."""
        while True:
            try:
                await self._list_and_watch()
            except (errors.ApiError, errors.TooSlow) as error:
                log.info("informer watch ended, listing again", extra=facts(resource=self.resource.plural, error=str(error)))
                await self._clock.sleep(RETRY_SECONDS)

    async def _list_and_watch(self) -> None:
        revision = await self._load()
        while True:
            async with self._client.watch(self.resource, resourceVersion=revision, **self._query) as events:
                async for event in events:
                    revision = event.object["metadata"]["resourceVersion"]
                    self._progress.revision = int(revision)
                    self._apply(event)

    async def _load(self) -> str:
        """Makes the cache equal to a list of all objects. Returns the revision of the list."""
        listed = await self._list()
        self._deleted_uids &= {uid_of(object_) for object_ in listed.items}
        current = {name_of(object_): object_ for object_ in listed.items if uid_of(object_) not in self._deleted_uids}
        self._progress.revision = int(listed.revision)
        damaged = self._damaged(self.resource)
        for name in [name for name in self._objects if name not in current and name not in damaged]:
            self._replace(name, None)
        for name, object_ in current.items():
            if not _is_same_version(self._objects.get(name), object_):
                self._replace(name, object_)
        self.is_synced.set()
        return listed.revision

    async def _list(self) -> ObjectList:
        """Lists all objects. Each page shares what it can before the next one is read: all of them would need much more memory."""
        items: list[Object] = []
        revision = ""
        async for page in self._client.pages(self.resource, **self._query):
            self._equal_parts.share(page.items)
            items += page.items
            revision = page.revision
        return ObjectList(items, revision)

    def _store_written(self, written: Object) -> Object:
        """Adds an object that was just written, unless the server has sent a newer event already. Returns the object."""
        name, revision = name_of(written), revision_of(written)
        if "deletionTimestamp" in written["metadata"] and not is_pending_deletion(written):
            self._remove(name, uid_of(written))
            return written
        known = self._objects.get(name)
        is_newer = revision > self._progress.revision and (known is None or revision_of(known) < revision)
        if is_newer and uid_of(written) not in self._deleted_uids:
            self._replace(name, written)
        return written

    def _remove(self, name: NamespacedName, uid: str) -> None:
        """Removes an object that the server has deleted. Ignores older events of it, which may still arrive."""
        known = self._objects.get(name)
        if known is not None and uid_of(known) == uid:
            self._deleted_uids.add(uid)
            self._replace(name, None)

    def _apply(self, event: WatchEvent) -> None:
        if event.type == "BOOKMARK":
            return
        uid = uid_of(event.object)
        if uid in self._deleted_uids:
            if event.type == "DELETED":
                self._deleted_uids.remove(uid)
            return
        known = self._objects.get(name_of(event.object))
        if known is None or revision_of(known) < revision_of(event.object):
            self._replace(name_of(event.object), None if event.type == "DELETED" else event.object)

    def _replace(self, name: NamespacedName, new: Object | None) -> None:
        old = self._objects.pop(name, None)
        if old is not None:
            self._by_namespace.remove(name.namespace, name)
            self._by_controller.remove(_controller_key(old), name)
        if new is not None:
            self._equal_parts.share((new,))
            self._objects[name] = new
            self._by_namespace.add(name.namespace, name)
            self._by_controller.add(_controller_key(new), name)
        if old is not None or new is not None:
            for handler in self._handlers:
                self._call(handler, old, new)

    def _call(self, handler: EventHandler, old: Object | None, new: Object | None) -> None:
        """Calls a handler. If it fails, only it misses the change: one object must not stop all controllers for everybody."""
        try:
            handler(old, new)
        except Exception:
            namespace, name = name_of(new or old or {})
            log.exception("event handler failed", extra=facts(resource=self.resource.plural, namespace=namespace, name=name))


class Informers:
    """One informer for each resource that controllers use, and for each field selector."""

    def __init__(self, client: Client, clock: Clock, damaged: ListDamaged = no_damaged_objects) -> None:
        self._client = client
        self._clock = clock
        self._damaged = damaged
        self._writer: Client | None = None
        self._informers: dict[tuple[GroupVersionResource, str], Informer] = {}

    def with_client(self, client: Client) -> Informers:
        """Returns the same informers with another client for writes."""
        other = copy.copy(self)
        other._writer = client  # noqa: SLF001
        return other

    def for_resource(self, resource: GroupVersionResource, name: str = "", *, field_selector: str = "") -> Informer:
        """Returns the informer of a resource, or only of the objects with this name or that a field selector selects."""
        selector = f"metadata.name={name}" if name else field_selector
        if (resource, selector) not in self._informers:
            self._informers[resource, selector] = Informer(
                self._client, resource, self._clock, field_selector=selector, damaged=self._damaged
            )
        informer = self._informers[resource, selector]
        return informer if self._writer is None else informer.with_client(self._writer)

    async def run(self) -> None:
        """Runs all informers that exist so far. Never returns."""
        await asyncio.gather(*(informer.run() for informer in self._informers.values()), asyncio.Event().wait())

    async def wait_for_sync(self) -> None:
        """Blocks until every informer has listed its objects once."""
        await asyncio.gather(*(informer.is_synced.wait() for informer in self._informers.values()))


def _controller_key(object_: Object) -> str:
    reference = controller_of(object_)
    return f"uid {reference['uid']}" if reference is not None else f"in {name_of(object_).namespace}"


def _is_same_version(old: Object | None, new: Object) -> bool:
    return old is not None and old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]
