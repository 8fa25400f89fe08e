"""Runs seeds and reports progress; for a failing seed: the step, the last log lines, and how to repeat it."""

from __future__ import annotations

import argparse
import sys
import time

from simulation.run import Report
from simulation.seeds import play, play_all

EVERY = 25
"""Seeds between two lines of progress."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds (300)")
    parser.add_argument("--steps", type=int, default=500, help="how many steps of each (500)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--seed", type=int, help="run only this seed, and print its whole log")
    options = parser.parse_args()
    if options.seed is not None:
        report = play(options.seed, options.steps, log_lines=1_000_000)
        print("\n".join(report.log_lines))
        print(report.verdict)
        return 1 if report.failure else 0
    return _many(range(options.first, options.first + options.seeds), options.steps)


def _many(seeds: range, steps: int) -> int:
    began = time.monotonic()
    done: list[Report] = []
    for report in play_all(seeds, steps):
        done.append(report)
        if report.failure:
            print("\n".join(report.log_lines))
            print(report.verdict)
            return 1
        if len(done) % EVERY == 0 or len(done) == len(seeds):
            print(_progress(done, len(seeds), time.monotonic() - began), flush=True)
    return 0


def _progress(done: list[Report], of: int, took: float) -> str:
    steps = sum(report.steps for report in done)
    revisions = sum(report.revisions for report in done)
    lives = sum(report.lives for report in done)
    hours = sum(report.seconds for report in done) / 3600
    return (
        f"{len(done)} of {of} seeds hold: {steps:,} steps, {revisions:,} revisions, "
        f"{lives - len(done):,} crashes and restarts, {hours:.1f} hours of virtual time in {took:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
