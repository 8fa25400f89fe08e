"""Everything out of a closed scope: what lies in it is listed once, deleted, and waited for.

The scope (a namespace, or the definition of a custom kind) is closed: nothing new gets in. So what was listed is all there can ever
be, and from then on only what changes has to be looked at again. A scope of a hundred thousand objects that are held costs one look
at each, and then one for each that is released.

Everything is looked at as it is now. An object that was found is remembered before it is read: so no change of it can fall between.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from probate.api.deletion import Policy
from probate.api.gvk import GroupResource
from probate.api.ownership import Delete, Item, Outcome, Places
from probate.gc.action_log import tell
from probate.gc.backend import World

TURN = 1_000
"""Objects that are looked at and deleted at once, before it is the turn of another scope."""

log = logging.getLogger(__name__)

Listing: TypeAlias = Callable[[str], Awaitable[Places]]
"""A part of the content, page by page: called with where the last page ended."""


class Way(NamedTuple):
    """How content is deleted: by which policy, and whether an object has still to be."""

    policy: Policy | None
    is_due: Callable[[Item], bool]


class Remains(NamedTuple):
    """What is left: objects by resource, by the finalizers they have, and those that could not be deleted by resource.

    Of those, the ones whose stored data is damaged are named.
    """

    resources: Counter[GroupResource]
    finalizers: Counter[str]
    failures: Counter[GroupResource]
    damaged: tuple[str, ...] = ()


class Sweep:
    """The content of one scope, deleted in stages: each begins when nothing of those before it is left."""

    def __init__(self, world: World, uid: str, way: Way, stages: Sequence[Listing]) -> None:
        self.uid = uid
        self.told_at: float | None = None  # when its scope was last told what remains
        self._world = world
        self._way = way
        self._stages = list(stages)
        self._more: str | None = ""  # where the listing of the stage goes on; None: it is complete
        self._found: dict[str, Item | None] = {}  # what may be left, and as what it was last seen
        self._todo: dict[str, None] = {}  # of those, what has to be looked at
        self._tried: dict[str, int] = {}  # at which revision an object was last deleted
        self._failed: dict[str, None] = {}
        self._damaged: dict[str, None] = {}  # of those that failed
        self._denied: dict[str, None] = {}
        self._rights = 0  # under which it was

    def touch(self, wheres: Sequence[str]) -> bool:
        """Something happened to these objects. Returns whether that matters."""
        known = [where for where in wheres if where in self._found]
        self._todo.update(dict.fromkeys(known))
        return bool(known)

    def retry(self) -> bool:
        """Look at those again that could not be deleted. Returns whether there are any."""
        self._todo.update(self._failed)
        if self._denied and self._world.rights() != self._rights:
            self._todo.update(self._denied)
        return bool(self._failed or self._denied)

    @property
    def is_over(self) -> bool:
        """Whether nothing was left when everything was looked at last."""
        return not self._stages

    def remains(self) -> Remains:
        """What is left of this stage."""
        items = [item for item in self._found.values() if item is not None]
        resource_at = self._world.resource_at
        return Remains(
            Counter(resource_at(where) for where in self._found),
            Counter(finalizer for item in items for finalizer in item.meta.finalizers),
            Counter(resource_at(where) for where in (*self._failed, *self._denied)),
            tuple(_named(where, resource_at(where)) for where in self._damaged),
        )

    async def step(self, scope: Item, because: str) -> bool:
        """Delete the next objects, if the scope is still as it was found. False if there is nothing to do for now."""
        if self._todo:
            await self._turn(scope, because)
        elif not self._stages or (self._more is None and self._found):
            return False
        elif self._more is None:
            del self._stages[0]
            self._more = ""
        else:
            await self._list(self._more)
        return True

    async def _list(self, more: str) -> None:
        page = await self._stages[0](more)
        self._more = page.more or None
        for where in page.wheres:
            self._found.setdefault(where, None)
            self._todo[where] = None

    async def _turn(self, scope: Item, because: str) -> None:
        wheres = list(itertools.islice(self._todo, TURN))
        for where in wheres:
            del self._todo[where]
        try:
            items = await self._world.items(wheres)
            damaged = await self._world.damaged([where for where, item in zip(wheres, items, strict=True) if item is None])
            due = self._sort(wheres, items, damaged)
            actions = [Delete(item, self._way.policy, because, (scope,)) for item in due]
            rights = self._world.rights()
            outcomes = await self._world.act(actions)
            if Outcome.DENIED in outcomes:
                self._rights = rights
            tell(log, self._world, zip(actions, outcomes, strict=True))
            for action, outcome in zip(actions, outcomes, strict=True):
                self._note(action.item, outcome)
        except BaseException:  # nothing is forgotten: all of it is looked at again
            self._todo.update(dict.fromkeys(wheres))
            raise

    def _sort(self, wheres: list[str], items: list[Item | None], damaged: set[str]) -> list[Item]:
        """Forget what is gone, keep what is held, and what nobody can read. Returns what has to be deleted."""
        due = []
        for where, item in zip(wheres, items, strict=True):
            self._failed.pop(where, None)
            self._denied.pop(where, None)
            self._damaged.pop(where, None)
            if where in damaged:
                self._failed[where] = self._damaged[where] = None
                continue
            if item is None:
                self._found.pop(where, None)
                self._tried.pop(where, None)
                continue
            self._found[where] = item
            # What a delete left as it was is held by something that another delete will not change either.
            if self._way.is_due(item) and self._tried.get(where) != item.revision:
                due.append(item)
        return due

    def _note(self, item: Item, outcome: Outcome) -> None:
        if outcome is Outcome.DONE:
            self._tried[item.where] = item.revision
        if outcome in {Outcome.DONE, Outcome.CHANGED}:
            self._todo[item.where] = None
        elif outcome is Outcome.DENIED:
            self._denied[item.where] = None
        else:
            self._failed[item.where] = None


def _named(where: str, resource: GroupResource) -> str:
    return f"{resource} {where.rpartition('/')[2]}"
