"""What the collector has no right to do. It waits until rights have changed, and is then looked at again, all of it.

Nothing is tried meanwhile, however much there is: one appointment a second looks whether rights are still what they were.
"""

from __future__ import annotations

from probate.gc.backend import World
from probate.gc.workqueue import Work

KIND = "denied"
LOOK_SECONDS = 1.0


class Denied:
    """Work that was denied in one world, by what is to be done about it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rights = 0  # under which the first of it was denied
        self._work: dict[str, Work] = {}
        self.oldest = 0  # the revision that the oldest of it comes from

    def __len__(self) -> int:
        return sum(len(work) for work in self._work.values())

    def add(self, kind: str, where: str, since: int, rights: int) -> bool:
        """Something was denied, under these rights. Returns whether it is the first."""
        is_first = not self._work
        if is_first:
            self._rights, self.oldest = rights, since
        self.oldest = min(self.oldest, since)
        self._work.setdefault(kind, {}).setdefault(where, since)
        return is_first

    def take(self) -> dict[str, Work]:
        """What may be granted now: all of it, once rights have changed."""
        if self._world.rights() == self._rights:
            return {}
        taken, self._work = self._work, {}
        return taken
