"""The objects of one resource in one scope, as quotas count them.

A quota check waits until all changes up to some revision have been applied. So it is harmless to apply a change that the first read
has already seen: changes are applied in order, and end in the same state.
"""

from __future__ import annotations

import asyncio

from probate.kinds.core.quota.usage import ObjectUsage
from probate.server.admission.quotas.quota_scopes import QuotaScopes, ResourceInScope
from probate.store.contract import Event, Store


class CountedObjects:
    """The objects of a resource in a scope. Changes that arrive during the first read are deferred until after it."""

    def __init__(self, counted: ResourceInScope, scopes: QuotaScopes) -> None:
        self.counted = counted
        self.objects: dict[str, ObjectUsage] = {}
        self.is_read = asyncio.Event()
        self._scopes = scopes
        self._deferred: list[Event] = []

    def reset(self) -> None:
        """Marks the objects as unread, because changes may have been missed."""
        self.is_read.clear()
        self._deferred = []

    async def read(self, store: Store) -> None:
        """Reads all objects, and then applies the changes that arrived meanwhile."""
        objects: dict[str, ObjectUsage] = {}
        async for values in self._scopes.values(store, self.counted):
            objects |= {key: self._scopes.usage(self.counted, value) for key, value in values.items()}
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
        after = self.objects[event.key] = self._scopes.usage(self.counted, event.value)
        return before, after
