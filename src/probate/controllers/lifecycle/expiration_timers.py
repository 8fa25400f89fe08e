"""Objects that go when their time is over: each has a timer, and is looked at as it really is before it is deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from probate.client.informers import Informer, Name, name_of
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers

Left: TypeAlias = Callable[[Object, float], float | None]
"""In how many seconds from now an object is to go; 0 if it is time, None if it stays as it is."""


class Expiry:
    """Deletes such objects of one kind. `on_deletion` is told of each."""

    def __init__(
        self,
        title: str,
        means: Means,
        objects: Informer,
        left: Left,
        *,
        on_deletion: Callable[[Object], None] = lambda _: None,
        **options: str,
    ) -> None:
        self._client, self._clock = means.client, means.clock
        self._objects = objects
        self._left = left
        self._on_deletion = on_deletion
        self._options = options  # of the delete
        self.workers = Workers(title, self._sync, means.clock)
        objects.listen(self._take)

    def _take(self, _: Object | None, new: Object | None) -> None:
        if new is not None and not is_deleting(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: Name) -> float | None:
        left = self._waits(self._objects.get(name))
        if left != 0:
            return left
        one = await self._client.get(self._objects.kind, name.namespace, name.name)
        left = self._waits(one)
        if one is None or left != 0:
            return left
        await self._objects.delete(one, **self._options)
        self._on_deletion(one)
        return None

    def _waits(self, one: Object | None) -> float | None:
        return None if one is None or is_deleting(one) else self._left(one, self._clock.now())
