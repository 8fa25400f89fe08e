"""What the collector tells about itself at `/metrics`: read when somebody asks, so that counting costs it nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from probate.core.metrics import Family, Labels, Registry

SAMPLE_SECONDS = 0.1
SAMPLES = 3_000


class Told(Protocol):
    """A collector, as far as its figures go."""

    @property
    def done(self) -> Mapping[str, int]: ...
    @property
    def failures(self) -> Mapping[str, int]: ...
    @property
    def is_following(self) -> bool: ...
    @property
    def queue_length(self) -> int: ...
    @property
    def seen(self) -> int: ...
    @property
    def age_of_oldest_work(self) -> float: ...


def show(collector: Told, registry: Registry, *, newest: Callable[[], float]) -> None:
    """Add the collector's figures. `newest` is the store's newest revision."""
    registry.gauge("probate_gc_following", "Whether the collector follows the changes.", lambda: float(collector.is_following))
    registry.gauge("probate_gc_queue_length", "Work that the collector has before it.", lambda: collector.queue_length)
    about = "Revisions of the store that the collector has not been told of."
    registry.gauge("probate_gc_lag_revisions", about, lambda: max(0.0, newest() - collector.seen))
    about = "How long ago the oldest change was told that is not dealt with."
    registry.gauge("probate_gc_oldest_work_seconds", about, lambda: collector.age_of_oldest_work)
    registry.add(lambda: _counters(collector))


def _counters(collector: Told) -> Iterable[Family]:
    done: dict[Labels, float] = {(name.lower(),): float(number) for name, number in collector.done.items()}
    yield Family("counter", "probate_gc_actions", "What the collector did.", ("action",), done)
    failed: dict[Labels, float] = {(resource,): float(number) for resource, number in collector.failures.items()}
    yield Family("counter", "probate_gc_failures", "What could not be done, and is tried again.", ("resource",), failed)


class Timeline:
    """When which revisions were told, roughly: at most one sample in a tenth of a second, and the last few thousand."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, float]] = deque(maxlen=SAMPLES)

    def note(self, revision: int, now: float) -> None:
        """Up to this revision everything had been told by now, and nothing after it."""
        if not self._samples or now - self._samples[-1][1] >= SAMPLE_SECONDS:
            self._samples.append((revision, now))

    def age(self, revision: int, now: float) -> float:
        """How long ago this revision was told, at most; if that is too long ago to be known, at least."""
        later = bisect_left(self._samples, (revision, 0.0))
        return max(0.0, now - self._samples[max(0, later - 1)][1]) if self._samples else 0.0
