"""Metrics of the process, for Prometheus: cheap to count, rendered only when Prometheus scrapes them.

A component keeps its own metrics and adds them to the `Registry` that it receives; it does not depend on what
serves them.

    deletions = registry.counter("probate_gc_deletions", "Objects that the collector deleted.", ("resource",))
    deletions["pods",] += 1
    waits = registry.histogram("probate_gc_wait_seconds", "How long owners waited.", ("policy",), bounds=(0.1, 1, 10))
    waits.observe(("Foreground",), 0.3)
    registry.gauge("probate_gc_queue_length", "Objects in the work queue.", lambda: len(queue))

To count is a look-up and an addition, without a lock: only the event loop's thread may do it. `gather` takes a copy on that thread;
`server.diagnostics.metrics_endpoint` formats it and may run on any thread. A label must have few values: kinds and codes, never
names. A metric that gets too many values nevertheless is cleared and restarts at zero, which Prometheus handles like a restart.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

LabelNames: TypeAlias = tuple[str, ...]
LabelValues: TypeAlias = tuple[str | int, ...]
"""Label values, in the order of their names."""

MAX_SERIES = 20_000
"""Sets of label values of one metric, at most."""


class Family(NamedTuple):
    """A copy of one metric with all its label values. A histogram has a sum and the cumulative count under each bound."""

    kind: str
    name: str
    help: str
    labels: LabelNames
    values: Mapping[LabelValues, float]
    histograms: Mapping[LabelValues, tuple[float, Sequence[int]]] = {}
    bounds: Sequence[float] = ()


class Counter(dict[LabelValues, float]):
    """A counter, one number for each set of label values: `counter["pods", "200"] += 1`."""

    def __missing__(self, labels: LabelValues) -> float:
        if len(self) >= MAX_SERIES:
            self.clear()
        return 0


class Histogram(dict[LabelValues, "array[float]"]):
    """A histogram of durations or sizes: for each set of label values a sum, and counts between the bounds.

    The counts are in an array. As Python objects, each could keep a megabyte of Python's memory from being freed, if it was created
    while memory use was high.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        super().__init__()
        self.bounds = tuple(bounds)

    def __missing__(self, labels: LabelValues) -> array[float]:
        if len(self) >= MAX_SERIES:
            self.clear()
        self[labels] = counts = array("d", [0.0] * (len(self.bounds) + 2))
        return counts

    def observe(self, labels: LabelValues, value: float) -> None:
        """Counts one value."""
        counts = self[labels]
        counts[bisect_left(self.bounds, value)] += 1
        counts[-1] += value

    def cumulative(self, labels: LabelValues) -> tuple[float, list[int]]:
        """Returns the sum, and how many values lie under each bound; the last one counts all values."""
        *counts, total = self[labels]
        cumulative, running = [], 0
        for count in counts:
            running += int(count)
            cumulative.append(running)
        return total, cumulative


class Registry:
    """All metrics of a process. A `name` has no suffix; the exposition format adds it (`_total`, `_bucket`)."""

    def __init__(self) -> None:
        self._sources: list[Callable[[], Iterable[Family]]] = []

    def add(self, source: Callable[[], Iterable[Family]]) -> None:
        """Adds a source, which is called whenever metrics are gathered."""
        self._sources.append(source)

    def remove(self, source: Callable[[], Iterable[Family]]) -> None:
        """Removes a source."""
        self._sources.remove(source)

    def counter(self, name: str, help_: str, labels: LabelNames = ()) -> Counter:
        """Returns a new counter."""
        counter = Counter()
        self.add(lambda: [Family("counter", name, help_, labels, dict(counter))])
        return counter

    def histogram(self, name: str, help_: str, labels: LabelNames = (), *, bounds: Sequence[float]) -> Histogram:
        """Returns a new histogram."""
        histogram = Histogram(bounds)
        self.add(lambda: [histogram_family(name, help_, labels, histogram=histogram)])
        return histogram

    def gauge(self, name: str, help_: str, read: Callable[[], float]) -> None:
        """Adds a gauge, which is read whenever metrics are gathered."""
        self.add(lambda: [Family("gauge", name, help_, (), {(): read()})])

    def gauges(self, name: str, help_: str, labels: LabelNames, *, read: Callable[[], Mapping[LabelValues, float]]) -> None:
        """Adds a gauge with labels, which is read whenever metrics are gathered."""
        self.add(lambda: [Family("gauge", name, help_, labels, dict(read()))])

    def gather(self) -> list[Family]:
        """Returns a copy of all metrics. Sources that use the same name contribute to the same metric."""
        families: dict[str, Family] = {}
        for family in (family for source in self._sources for family in source()):
            known = families.get(family.name, family)
            values, histograms = {**known.values, **family.values}, {**known.histograms, **family.histograms}
            families[family.name] = known._replace(values=values, histograms=histograms)
        return list(families.values())


def histogram_family(name: str, help_: str, labels: LabelNames, *, histogram: Histogram) -> Family:
    """Returns a copy of a histogram."""
    return Family("histogram", name, help_, labels, {}, {key: histogram.cumulative(key) for key in histogram}, histogram.bounds)
