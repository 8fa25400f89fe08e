"""Figures of the process, for Prometheus: cheap to count, spelled out only when somebody asks.

A part keeps its own figures and adds them to the `Registry` it is given; it need not know who shows them, or whether anybody does.

    deletions = registry.counter("probate_gc_deletions", "Objects that the collector deleted.", ("resource",))
    deletions["pods",] += 1
    waits = registry.histogram("probate_gc_wait_seconds", "How long owners waited.", ("policy",), bounds=(0.1, 1, 10))
    waits.observe(("Foreground",), 0.3)
    registry.gauge("probate_gc_queue_length", "Objects that wait to be looked at.", lambda: len(queue))

To count is a look-up and an addition, without a lock: only the event loop's thread may do it. `gather` takes a copy there;
`render` makes text of it and may run on any thread. A label's values must be few: kinds and codes, never names. Should they be
many after all, the figure forgets everything and begins again at zero, which Prometheus takes for a restart.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Names: TypeAlias = tuple[str, ...]
Labels: TypeAlias = tuple[str | int, ...]
"""The values of labels, in the order of their names."""

MAX_SERIES = 20_000
"""Of one figure."""


class Family(NamedTuple):
    """A figure as it is at one moment. A histogram's values are its sum and how many fell under each bound."""

    kind: str
    name: str
    help: str
    labels: Names
    values: Mapping[Labels, float]
    histograms: Mapping[Labels, tuple[float, Sequence[int]]] = {}
    bounds: Sequence[float] = ()


class Counter(dict[Labels, float]):
    """Counts up, one number for each set of labels: `counter["pods", "200"] += 1`."""

    def __missing__(self, labels: Labels) -> float:
        if len(self) >= MAX_SERIES:
            self.clear()
        return 0


class Histogram(dict[Labels, "array[float]"]):
    """How long things took, or how large they were: for each set of labels a sum, and counts between the bounds.

    The counts are in an array. As Python objects, each would keep a megabyte of Python's memory from being freed, if it was last
    counted while there was much.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        super().__init__()
        self.bounds = tuple(bounds)

    def __missing__(self, labels: Labels) -> array[float]:
        if len(self) >= MAX_SERIES:
            self.clear()
        self[labels] = made = array("d", [0.0] * (len(self.bounds) + 2))
        return made

    def observe(self, labels: Labels, value: float) -> None:
        """Count one value."""
        seen = self[labels]
        seen[bisect_left(self.bounds, value)] += 1
        seen[-1] += value

    def cumulated(self, labels: Labels) -> tuple[float, list[int]]:
        """The sum, and how many values lie under each bound, the last bound being none."""
        *counts, total = self[labels]
        under, seen = [], 0
        for count in counts:
            seen += int(count)
            under.append(seen)
        return total, under


class Registry:
    """All figures of a process. `name` is without the suffix that Prometheus wants (`_total`, `_bucket`)."""

    def __init__(self) -> None:
        self._sources: list[Callable[[], Iterable[Family]]] = []

    def add(self, source: Callable[[], Iterable[Family]]) -> None:
        """Figures that are made when somebody asks."""
        self._sources.append(source)

    def remove(self, source: Callable[[], Iterable[Family]]) -> None:
        """Show these no more."""
        self._sources.remove(source)

    def counter(self, name: str, help_: str, labels: Names = ()) -> Counter:
        """A new counter."""
        counter = Counter()
        self.add(lambda: [Family("counter", name, help_, labels, dict(counter))])
        return counter

    def histogram(self, name: str, help_: str, labels: Names = (), *, bounds: Sequence[float]) -> Histogram:
        """A new histogram."""
        histogram = Histogram(bounds)
        self.add(lambda: [distribution(name, help_, labels, histogram)])
        return histogram

    def gauge(self, name: str, help_: str, read: Callable[[], float]) -> None:
        """A figure that is read when somebody asks."""
        self.add(lambda: [Family("gauge", name, help_, (), {(): read()})])

    def gauges(self, name: str, help_: str, labels: Names, read: Callable[[], Mapping[Labels, float]]) -> None:
        """The same with labels."""
        self.add(lambda: [Family("gauge", name, help_, labels, dict(read()))])

    def gather(self) -> list[Family]:
        """All figures as they are now. What several parts tell under one name is one figure."""
        found: dict[str, Family] = {}
        for family in (family for source in self._sources for family in source()):
            known = found.get(family.name, family)
            values, histograms = {**known.values, **family.values}, {**known.histograms, **family.histograms}
            found[family.name] = known._replace(values=values, histograms=histograms)
        return list(found.values())


def distribution(name: str, help_: str, labels: Names, histogram: Histogram) -> Family:
    """A histogram as it is now."""
    return Family("histogram", name, help_, labels, {}, {key: histogram.cumulated(key) for key in histogram}, histogram.bounds)
