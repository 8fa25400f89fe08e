"""Deletes objects when they expire: each has a timer, and is read from the server before it is deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, name_of
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import DONE, Result

SecondsLeft: TypeAlias = Callable[[Object, float], float | None]
"""Returns in how many seconds from now an object expires; 0 if it has expired, None if it does not expire."""


class ExpirationTimers:
    """Deletes the expired objects of one kind. `on_deletion` is called with each; `options` are those of the delete."""

    def __init__(
        self,
        title: str,
        context: Context,
        objects: Informer,
        *,
        seconds_left: SecondsLeft,
        on_deletion: Callable[[Object], None] = lambda _: None,
        **options: str,
    ) -> None:
        self._client, self._clock = context.client, context.clock
        self._objects = objects
        self._seconds_left = seconds_left
        self._on_deletion = on_deletion
        self._options = options
        self.workers = Workers(title, self._sync, context.clock)
        objects.add_event_handler(self._on_change)

    def _on_change(self, _: Object | None, new: Object | None) -> None:
        if new is not None and not is_deleting(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: NamespacedName) -> Result:
        left = self._left(self._objects.get(name))
        if left != 0:
            return left
        live = await self._client.get(self._objects.resource, name.namespace, name.name)
        left = self._left(live)
        if live is None or left != 0:
            return left
        await self._objects.delete(live, **self._options)
        self._on_deletion(live)
        return DONE

    def _left(self, object_: Object | None) -> float | None:
        return None if object_ is None or is_deleting(object_) else self._seconds_left(object_, self._clock.now())
