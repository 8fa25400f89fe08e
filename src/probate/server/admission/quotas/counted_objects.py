"""The objects of one resource in one namespace, as quotas count them.

A quota check waits until all changes up to some revision have been applied. So it is harmless to apply a change that the first read
has already seen: changes are applied in order, and end in the same state.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import orjson

from probate.api import object_keys
from probate.kinds.core.quota import usage
from probate.kinds.core.quota.usage import ObjectUsage
from probate.store import pagination
from probate.store.contract import Event, Store

_DECODED = frozenset({usage.PODS, usage.SERVICES, usage.CLAIMS})
"""The resources whose objects are decoded. Of all others only the number matters."""


class ResourceInNamespace(NamedTuple):
    """A resource, named as in store keys, and a namespace."""

    resource: str
    namespace: str

    @property
    def prefix(self) -> str:
        return object_keys.namespace_range(self.resource, self.namespace)


class CountedObjects:
    """The objects of a resource in a namespace. Changes that arrive during the first read are deferred until after it."""

    def __init__(self, scope: ResourceInNamespace) -> None:
        self.scope = scope
        self.objects: dict[str, ObjectUsage] = {}
        self.is_read = asyncio.Event()
        self._deferred: list[Event] = []

    def reset(self) -> None:
        """Marks the objects as unread, because changes may have been missed."""
        self.is_read.clear()
        self._deferred = []

    async def read(self, store: Store) -> None:
        """Reads all objects at one revision, and then applies the changes that arrived meanwhile."""
        objects: dict[str, ObjectUsage] = {}
        async for page in pagination.pages(store, self.scope.prefix):
            objects |= {record.key: self._count(record.value) for record in page.records}
            # A damaged object exists, so it counts as one.
            objects |= {damaged.key: usage.object_usage(self.scope.resource, {}) for damaged in page.damaged_records}
        self.objects = objects
        deferred, self._deferred = self._deferred, []
        for event in deferred:
            self.apply(event)
        self.is_read.set()

    def apply_or_defer(self, event: Event) -> tuple[ObjectUsage | None, ObjectUsage | None] | None:
        """Returns the object's usage before and after the change; None if the change is deferred."""
        if not self.is_read.is_set():
            self._deferred.append(event)
            return None
        return self.apply(event)

    def apply(self, event: Event) -> tuple[ObjectUsage | None, ObjectUsage | None]:
        before = self.objects.get(event.key)
        if event.value is None:
            self.objects.pop(event.key, None)
            return before, None
        after = self.objects[event.key] = self._count(event.value)
        return before, after

    def _count(self, value: bytes) -> ObjectUsage:
        resource = self.scope.resource
        return usage.object_usage(resource, orjson.loads(value) if resource in _DECODED else {})
