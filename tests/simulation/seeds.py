"""Runs many seeds in parallel: one process for each processor. The processes end when the one that started them is killed."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from multiprocessing import connection

from simulation.run import LOG_LINES, Report, Run


def play(seed: int, steps: int, *, log_lines: int = LOG_LINES) -> Report:
    """Runs one seed."""
    return Run(seed, steps, log_lines=log_lines).play()


def play_all(seeds: Sequence[int], steps: int) -> Iterator[Report]:
    """Runs all seeds. Yields their reports in order."""
    with multiprocessing.get_context("spawn").Pool(os.cpu_count() or 1, initializer=_end_with_parent) as pool:
        yield from pool.imap(functools.partial(play, steps=steps), seeds)


def _end_with_parent() -> None:
    """Ends this process when its parent ends, whatever the run is doing: a pool whose parent is killed would go on by itself."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait, name="end with parent", daemon=True).start()


def first_failure(seeds: Sequence[int], steps: int) -> Report | None:
    """Returns the first failure. Runs in this process, where code may be patched."""
    return next((report for seed in seeds if (report := play(seed, steps)).failure), None)
