"""Which faults occur in a run, and how often: the rates are drawn once from the seed, then each fault at random.

Some runs have no faults, so that failures do not mask other behaviour; others have many.
"""

from __future__ import annotations

import random
from enum import Enum
from typing import NamedTuple

from probate.controllers import registry

_POD_CONTROLLERS = (
    *registry.BULK_CONTROLLERS,
    "replicationcontroller-controller",
    "replicaset-controller",
    "deployment-controller",
    "job-controller",
)


class Fate(Enum):
    """The outcome of a write."""

    FINE = "fine"
    REFUSED = "refused"  # nothing is written, and the writer gets an error
    FULL = "full"  # the same, because the disk is full
    UNKNOWN = "unknown"  # it is written, or part of it, or nothing; the writer gets `OutcomeUnknown`
    CRASH = "crash"  # the process dies: before the write, in the middle of it, or after


class FaultRates(NamedTuple):
    """The parameters of a whole run."""

    pace: float  # mean seconds between two actions of one client
    clients: int
    watchers: int
    buffer: int  # events that a watcher may fall behind
    controllers: tuple[str, ...]  # the controllers that run
    history: float  # seconds that history is kept
    delay: float  # mean seconds of a delay of the store
    p_delay: float
    p_read_fails: float
    p_write_fails: float
    p_crash: float
    p_cut: float  # of a watch, at each batch
    leaders: int  # servers that all run all controllers on the same store, without leader election
    p_jump: float  # of the wall clock, by hours
    p_damage: float  # of a stored object
    tenant_users: int  # clients that create, use and delete tenants


def fault_rates(seed: object) -> FaultRates:
    """Returns the parameters of a seed."""
    rng = random.Random(f"climate {seed}")  # noqa: S311
    storm = rng.choice((0.0, 0.3, 1.0, 1.0, 2.0))
    return FaultRates(
        pace=rng.choice((0.002, 0.01, 0.03, 0.1, 0.5)),
        clients=rng.randint(2, 5),
        watchers=rng.randint(1, 4),
        buffer=rng.choice((20_000, 20_000, 8)),
        controllers=rng.choice((*(registry.BULK_CONTROLLERS,) * 6, *(_POD_CONTROLLERS,) * 2, registry.NAMES)),
        history=rng.choice((3600.0, 60.0, 5.0)),
        delay=rng.choice((0.0, 0.001, 0.005, 0.02)),
        p_delay=rng.choice((0.05, 0.2, 0.5)),
        p_read_fails=0.003 * storm,
        p_write_fails=0.03 * storm,
        p_crash=0.006 * storm,
        p_cut=0.03 * storm,
        leaders=rng.choice((1, 1, 1, 2)),
        p_jump=rng.choice((0.0, 0.0, 0.3)),
        p_damage=random.Random(f"damage climate {seed}").choice((0.0, 0.0, 0.0, 0.3)),  # noqa: S311
        tenant_users=random.Random(f"tenant climate {seed}").choice((0, 0, 0, 0, 3)),  # noqa: S311
    )


class FaultSchedule:
    """Decides about each fault during a run. After `calm_down` there are none."""

    def __init__(self, seed: object) -> None:
        self.rates = fault_rates(seed)
        self.is_calm = False
        self._full = 0  # writes that will still find the disk full
        self._rng = random.Random(f"weather {seed}")  # noqa: S311

    def calm_down(self) -> None:
        self.is_calm = True

    def happens(self, probability: float) -> bool:
        return not self.is_calm and self._rng.random() < probability

    def delay(self) -> float | None:
        """Returns the delay of the next store operation; None if it has none."""
        if not self.happens(self.rates.p_delay):
            return None
        return self._rng.expovariate(1 / self.rates.delay) if self.rates.delay else 0.0

    def fate(self) -> Fate:
        """Returns the outcome of the next write."""
        if self.is_calm:
            return Fate.FINE
        if self._full:
            self._full -= 1
            return Fate.FULL
        draw = self._rng.random()
        if draw < self.rates.p_crash:
            return Fate.CRASH
        if draw < self.rates.p_crash + self.rates.p_write_fails:
            fate = self._rng.choice((Fate.REFUSED, Fate.REFUSED, Fate.UNKNOWN, Fate.UNKNOWN, Fate.FULL))
            self._full = self._rng.randint(0, 20) if fate is Fate.FULL else 0
            return fate
        return Fate.FINE

    def part_of(self, number: int) -> int:
        """Returns how many of so many are written."""
        return self._rng.randint(0, number)

    def jump(self) -> float:
        """Returns by how many seconds the wall clock is set now; most often 0."""
        if not self.rates.p_jump or not self.happens(self.rates.p_jump):
            return 0.0
        return self._rng.choice((-1, 1)) * self._rng.uniform(60, 12 * 3600)

    def between(self, least: float, most: float) -> float:
        return self._rng.uniform(least, most)
