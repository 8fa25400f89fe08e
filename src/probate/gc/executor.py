"""What became of the collector's actions, and what follows: done, or to be looked at again, at once or later."""

from __future__ import annotations

import logging
from collections import Counter
from typing import NamedTuple

from probate.api.ownership import Action, Outcome, Release, Unblock
from probate.core.clock import Clock
from probate.gc import forbidden
from probate.gc.action_log import tell
from probate.gc.backend import World
from probate.gc.forbidden import Denied
from probate.gc.release import RETRY_SECONDS, Leaving
from probate.gc.workqueue import Appointments, Pending, Work

log = logging.getLogger("probate.gc.collector")  # whom these lines are from, as its readers know it


class Carried(NamedTuple):
    """How actions went: whether some failed, or were denied, and under which rights."""

    has_failed: bool
    is_denied: bool
    rights: int


class Carrying:
    """Carries out actions on one world."""

    def __init__(self, world: World, clock: Clock, pending: Pending, later: Appointments, leaving: Leaving) -> None:
        self._world = world
        self._clock = clock
        self._pending = pending
        self._later = later
        self._leaving = leaving
        self.denied = Denied(world)
        self.done: Counter[str] = Counter()  # actions by name
        self.failures: Counter[str] = Counter()  # by resource

    async def act(self, actions: list[Action], since: Work) -> Carried:
        """Carry them out."""
        rights = self._world.rights()
        outcomes = await self._world.act(actions) if actions else []
        tell(log, self._world, zip(actions, outcomes, strict=True))
        kinds = Counter([type(one) for one, outcome in zip(actions, outcomes, strict=True) if outcome is Outcome.DONE])
        self.done.update({kind.__name__: number for kind, number in kinds.items()})
        if kinds.total() == len(actions):
            return Carried(has_failed=False, is_denied=False, rights=rights)
        held = await self._world.revision() if Outcome.HELD in outcomes else 0
        for action, outcome in zip(actions, outcomes, strict=True):
            if outcome is Outcome.DENIED:
                self.put_off(_kind(action), action.item.where, since.get(action.item.where, self._pending.seen), rights)
            elif outcome is not Outcome.DONE:
                self._follow_up(action, outcome, since.get(action.item.where, self._pending.seen), held)
        return Carried(Outcome.FAILED in outcomes, Outcome.DENIED in outcomes, rights)

    def _follow_up(self, action: Action, outcome: Outcome, since: int, held: int) -> None:
        if outcome is Outcome.HELD:
            self._leaving.hold(action.item, since, held)
        elif outcome is Outcome.CHANGED:
            self._pending.doubt([action.item.where, *(one.where for one in getattr(action, "given", ()))])
            self._again(action).setdefault(action.item.where, since)
        else:
            self.failures[action.item.where.split("/")[1]] += 1
            self._later.add(self._clock.monotonic() + RETRY_SECONDS, _kind(action), action.item.where, since)

    def put_off(self, kind: str, where: str, since: int, rights: int) -> None:
        """Look at this again when rights are others than these."""
        if self.denied.add(kind, where, since, rights):
            self._look_later(since)

    def take_denied(self) -> dict[str, Work]:
        """What was denied and may be granted now. What is not is looked at later."""
        taken = self.denied.take()
        if self.denied:
            self._look_later(self.denied.oldest)
        return taken

    def _look_later(self, since: int) -> None:
        self._later.add(self._clock.monotonic() + forbidden.LOOK_SECONDS, forbidden.KIND, "", since)

    def _again(self, action: Action) -> Work:
        return {"settle": self._pending.settle, "stuck": self._pending.stuck, "examine": self._pending.examine}[_kind(action)]


def _kind(action: Action) -> str:
    """As which kind of work it comes again."""
    if isinstance(action, Unblock):
        return "stuck"
    return "settle" if isinstance(action, Release) or action.item.is_left_over else "examine"
