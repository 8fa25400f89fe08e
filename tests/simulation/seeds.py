"""Many seeds at once: one process for each processor, each run for itself."""

from __future__ import annotations

import functools
import multiprocessing
import os
from collections.abc import Iterator, Sequence

from simulation.run import STORY, Report, Run


def play(seed: int, steps: int, *, story: int = STORY) -> Report:
    """One run."""
    return Run(seed, steps, story=story).play()


def play_all(seeds: Sequence[int], steps: int) -> Iterator[Report]:
    """All of them, in their order, as they are done."""
    with multiprocessing.get_context("spawn").Pool(os.cpu_count() or 1) as pool:
        yield from pool.imap(functools.partial(play, steps=steps), seeds)


def first_failure(seeds: Sequence[int], steps: int) -> Report | None:
    """The first that fails, in this process: for what only this process knows of."""
    return next((report for seed in seeds if (report := play(seed, steps)).failure), None)
