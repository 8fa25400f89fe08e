"""The objects of one resource in one namespace, as quotas count them.

Who asks waits until all changes up to some moment have been taken in. So it does no harm that changes are taken in which were seen
already when all was read: they come in their order, and end where they ended then.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import orjson

from probate.kinds.core.quota import usage
from probate.kinds.core.quota.usage import Counted
from probate.store import paging
from probate.store.contract import Event, Store

_LOOKED_INTO = frozenset({usage.PODS, usage.SERVICES, usage.CLAIMS})
"""Of all others it only matters that they are there."""


class Where(NamedTuple):
    """A resource, named as in the store, in a namespace."""

    resource: str
    namespace: str

    @property
    def prefix(self) -> str:
        return f"objects/{self.resource}/{self.namespace}/"


class Range:
    """What is there. Changes that come while it is read for the first time are kept for later."""

    def __init__(self, where: Where) -> None:
        self.where = where
        self.objects: dict[str, Counted] = {}
        self.is_read = asyncio.Event()
        self._missed: list[Event] = []

    def forget(self) -> None:
        """Nothing is known any more: changes may have been missed."""
        self.is_read.clear()
        self._missed = []

    async def read(self, store: Store) -> None:
        """Read all that is there at one moment, and then what has changed meanwhile."""
        found: dict[str, Counted] = {}
        async for page in paging.pages(store, self.where.prefix):
            found |= {record.key: self._count(record.value) for record in page.records}
            found |= {one.key: usage.count(self.where.resource, {}) for one in page.damaged}  # it is there, whatever it is
        self.objects = found
        missed, self._missed = self._missed, []
        for event in missed:
            self.note(event)
        self.is_read.set()

    def take(self, event: Event) -> tuple[Counted | None, Counted | None] | None:
        """What the object counted for before the change and counts for after it; None if that is for later."""
        if not self.is_read.is_set():
            self._missed.append(event)
            return None
        return self.note(event)

    def note(self, event: Event) -> tuple[Counted | None, Counted | None]:
        before = self.objects.get(event.key)
        if event.value is None:
            self.objects.pop(event.key, None)
            return before, None
        after = self.objects[event.key] = self._count(event.value)
        return before, after

    def _count(self, value: bytes) -> Counted:
        resource = self.where.resource
        return usage.count(resource, orjson.loads(value) if resource in _LOOKED_INTO else {})
