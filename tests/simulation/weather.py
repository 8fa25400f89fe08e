"""What goes wrong in a run, and how often: drawn once from the seed, then lot by lot.

Some runs are calm, so that the rest of the simulation is not hidden behind failures; others are stormy.
"""

from __future__ import annotations

import random
from enum import Enum
from typing import NamedTuple

from probate.controllers import manager

_MAKERS_OF_PODS = (*manager.IN_BULK, "replicationcontrollers", "replicasets", "deployments", "jobs")


class Fate(Enum):
    """What becomes of a write."""

    FINE = "fine"
    REFUSED = "refused"  # nothing is written, and the writer is told
    FULL = "full"  # the same, for want of room
    UNKNOWN = "unknown"  # it is written, or part of it, or nothing; the writer is told that nobody knows
    CRASH = "crash"  # the process dies: before the write, in the middle of it, or after


class Climate(NamedTuple):
    """How a whole run is."""

    pace: float  # seconds between two things that one client does, on average
    clients: int
    watchers: int
    buffer: int  # events that a watcher may fall behind
    crew: tuple[str, ...]  # the controllers that run
    history: float  # seconds that history is kept
    delay: float  # seconds that the store takes if it takes any
    p_delay: float
    p_read_fails: float
    p_write_fails: float
    p_crash: float
    p_cut: float  # of a watch, at each batch
    leaders: int  # how many run all controllers at once, on the same store, for good
    p_jump: float  # of the wall clock, by hours, each time that somebody could set it
    p_damage: float  # of a stored object, each time that one could be


def climate(seed: object) -> Climate:
    """The climate of a seed."""
    dice = random.Random(f"climate {seed}")  # noqa: S311
    storm = dice.choice((0.0, 0.3, 1.0, 1.0, 2.0))
    return Climate(
        pace=dice.choice((0.002, 0.01, 0.03, 0.1, 0.5)),
        clients=dice.randint(2, 5),
        watchers=dice.randint(1, 4),
        buffer=dice.choice((20_000, 20_000, 8)),
        crew=dice.choice((*(manager.IN_BULK,) * 6, *(_MAKERS_OF_PODS,) * 2, manager.NAMES)),
        history=dice.choice((3600.0, 60.0, 5.0)),
        delay=dice.choice((0.0, 0.001, 0.005, 0.02)),
        p_delay=dice.choice((0.05, 0.2, 0.5)),
        p_read_fails=0.003 * storm,
        p_write_fails=0.03 * storm,
        p_crash=0.006 * storm,
        p_cut=0.03 * storm,
        leaders=dice.choice((1, 1, 1, 2)),
        p_jump=dice.choice((0.0, 0.0, 0.3)),
        p_damage=random.Random(f"damage climate {seed}").choice((0.0, 0.0, 0.0, 0.3)),  # noqa: S311
    )


class Weather:
    """The lots that are drawn during a run. After `calm_down`, nothing goes wrong any more."""

    def __init__(self, seed: object) -> None:
        self.climate = climate(seed)
        self.is_calm = False
        self._full = 0  # writes that will still find the disk full
        self._dice = random.Random(f"weather {seed}")  # noqa: S311

    def calm_down(self) -> None:
        self.is_calm = True

    def happens(self, probability: float) -> bool:
        return not self.is_calm and self._dice.random() < probability

    def delay(self) -> float | None:
        """How long the store takes for the next thing; None for no time at all."""
        if not self.happens(self.climate.p_delay):
            return None
        return self._dice.expovariate(1 / self.climate.delay) if self.climate.delay else 0.0

    def fate(self) -> Fate:
        """What becomes of the next write."""
        if self.is_calm:
            return Fate.FINE
        if self._full:
            self._full -= 1
            return Fate.FULL
        lot = self._dice.random()
        if lot < self.climate.p_crash:
            return Fate.CRASH
        if lot < self.climate.p_crash + self.climate.p_write_fails:
            fate = self._dice.choice((Fate.REFUSED, Fate.REFUSED, Fate.UNKNOWN, Fate.UNKNOWN, Fate.FULL))
            self._full = self._dice.randint(0, 20) if fate is Fate.FULL else 0
            return fate
        return Fate.FINE

    def part_of(self, number: int) -> int:
        """How many of so many come through."""
        return self._dice.randint(0, number)

    def jump(self) -> float:
        """By how many seconds somebody sets the wall clock now; most often by none."""
        if not self.climate.p_jump or not self.happens(self.climate.p_jump):
            return 0.0
        return self._dice.choice((-1, 1)) * self._dice.uniform(60, 12 * 3600)

    def between(self, least: float, most: float) -> float:
        return self._dice.uniform(least, most)
