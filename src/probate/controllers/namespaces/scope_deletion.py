"""Scopes that are being deleted: emptied, described, and let go once they are empty.

What namespaces and definitions of custom kinds have in common. The server has closed them when it marked them as deleted. From then
on the content is swept out, whoever looks at the scope is told what holds it, and it goes in a transaction that finds it empty. A
scope is looked at whenever it or something in it changes; at the start, all that are being deleted are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from probate.api import timestamps
from probate.api.ownership import Conclude, Describe, Item, Outcome, Touch, Whole
from probate.controllers.namespaces.content_deletion import Listing, Remains, Sweep, Way
from probate.core.clock import Clock
from probate.gc.action_log import tell
from probate.gc.backend import World

TELL_SECONDS = 1.0
"""What remains is told at most this often: a scope that empties slowly is not written for each object that leaves."""
RETRY_SECONDS = 1.0
PAGE = 1_000

log = logging.getLogger(__name__)


class Kind(Protocol):
    """What is particular to a kind of scope."""

    @property
    def resource(self) -> str:
        """Of the scopes themselves."""
        ...

    @property
    def way(self) -> Way:
        """How their content is deleted."""
        ...

    def scope_of(self, touch: Touch) -> str:
        """The name of the scope that an object lies in, if it lies in one."""
        ...

    def stages(self, world: World, name: str) -> Sequence[Listing]:
        """The content of a scope, what goes first first."""
        ...

    def status(self, scope: dict[str, Any], remains: Remains | None, now: str) -> dict[str, Any]:
        """The status of a scope of which this remains (None: nothing)."""
        ...


class Scopes:
    """All scopes of a kind that are being deleted."""

    def __init__(self, kind: Kind, world: World, clock: Clock) -> None:
        self._kind = kind
        self._world = world
        self._clock = clock
        self._sweeps: dict[str, Sweep] = {}

    async def begin(self) -> list[str]:
        self._sweeps.clear()
        deleting: list[str] = []
        more = ""
        while True:
            page = await self._world.all_of(self._kind.resource, more, limit=PAGE)
            items = await self._world.items(page.wheres)
            deleting += [item.meta.name for item in items if item is not None and item.is_deleting]
            more = page.more
            if not more:
                return deleting

    def concerns(self, touch: Touch) -> list[str]:
        if touch.resource == self._kind.resource:
            return touch.names
        scope = self._kind.scope_of(touch)
        sweep = self._sweeps.get(scope)
        return [scope] if sweep is not None and sweep.touch(touch.wheres) else []

    async def reconcile(self, key: str) -> float | None:
        found = await self._world.find(self._kind.resource, "", key)
        if found is None or not found.item.is_deleting:
            self._sweeps.pop(key, None)
            return None
        sweep = self._sweep_of(found.item)
        if await sweep.step(found.item, f"{found.item.meta.name} ({found.item.meta.uid}) is being deleted, and it lies in there"):
            return 0.0
        return await (self._conclude(found) if sweep.is_over else self._hold(found, sweep))

    def _sweep_of(self, scope: Item) -> Sweep:
        name, uid = scope.meta.name, scope.meta.uid
        if name not in self._sweeps or self._sweeps[name].uid != uid:
            self._sweeps[name] = Sweep(self._world, uid, self._kind.way, self._kind.stages(self._world, name))
        return self._sweeps[name]

    async def _hold(self, scope: Whole, sweep: Sweep) -> float | None:
        """Something is left: tell what, and wait until it changes."""
        told = await self._tell(scope, sweep)
        return RETRY_SECONDS if sweep.retry() else told

    async def _tell(self, scope: Whole, sweep: Sweep) -> float | None:
        """Write down what remains. Not too often: what is not told now is told later."""
        now = self._clock.monotonic()
        if sweep.told_at is not None and now < sweep.told_at + TELL_SECONDS:
            return sweep.told_at + TELL_SECONDS - now
        status = self._kind.status(scope.object, sweep.remains(), self._now())
        if status == scope.object.get("status"):
            return None
        [outcome] = await self._world.act([Describe(scope.item, status, "what remains in it has changed")])
        sweep.told_at = now
        return None if outcome is Outcome.DONE else RETRY_SECONDS

    async def _conclude(self, scope: Whole) -> float | None:
        """Let the scope go. The sweep is over; should something be left all the same, another one finds it."""
        del self._sweeps[scope.item.meta.name]
        status = self._kind.status(scope.object, None, self._now())
        action = Conclude(scope.item, status, "nothing is left in it")
        [outcome] = await self._world.act([action])
        tell(log, self._world, [(action, outcome)])
        if outcome is Outcome.DONE:
            return None
        return 0.0 if outcome is Outcome.CHANGED else RETRY_SECONDS

    def _now(self) -> str:
        return timestamps.timestamp(self._clock.now())
