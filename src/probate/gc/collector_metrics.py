"""The collector's metrics, read when `/metrics` is scraped: between scrapes they cost nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from probate.core.metrics import Family, LabelValues, Registry

SAMPLE_SECONDS = 0.1
MAX_SAMPLES = 3_000


class CollectorState(Protocol):
    """The part of a collector that the metrics read."""

    @property
    def done(self) -> Mapping[str, int]: ...
    @property
    def failures(self) -> Mapping[str, int]: ...
    @property
    def is_following(self) -> bool: ...
    @property
    def queue_length(self) -> int: ...
    @property
    def revision(self) -> int: ...
    @property
    def age_of_oldest_work(self) -> float: ...


def register(collector: CollectorState, registry: Registry, *, newest: Callable[[], float]) -> None:
    """Adds the collector's metrics. `newest` returns the store's newest revision."""
    registry.gauge("probate_gc_following", "Whether the collector follows the change feed.", lambda: float(collector.is_following))
    registry.gauge("probate_gc_queue_length", "Work in the collector's queue.", lambda: collector.queue_length)
    help_ = "Revisions of the store that have not reached the collector."
    registry.gauge("probate_gc_lag_revisions", help_, lambda: max(0.0, newest() - collector.revision))
    help_ = "Age of the oldest change that the collector has not processed."
    registry.gauge("probate_gc_oldest_work_seconds", help_, lambda: collector.age_of_oldest_work)
    registry.add(lambda: _counters(collector))


def _counters(collector: CollectorState) -> Iterable[Family]:
    done: dict[LabelValues, float] = {(action,): float(number) for action, number in collector.done.items()}
    yield Family("counter", "probate_gc_actions", "Actions that the collector executed.", ("action",), done)
    failed: dict[LabelValues, float] = {(resource,): float(number) for resource, number in collector.failures.items()}
    yield Family("counter", "probate_gc_failures", "Actions that failed and are retried.", ("resource",), failed)


class Timeline:
    """Maps revisions to the time when they arrived: at most one sample in `SAMPLE_SECONDS`, and the last `MAX_SAMPLES`."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, float]] = deque(maxlen=MAX_SAMPLES)

    def add(self, revision: int, now: float) -> None:
        """Records that all changes up to this revision have arrived now, and none after it."""
        if not self._samples or now - self._samples[-1][1] >= SAMPLE_SECONDS:
            self._samples.append((revision, now))

    def age(self, revision: int, now: float) -> float:
        """Returns how long ago this revision arrived: an upper bound, or a lower bound if it is older than all samples."""
        later = bisect_left(self._samples, (revision, 0.0))
        return max(0.0, now - self._samples[max(0, later - 1)][1]) if self._samples else 0.0
