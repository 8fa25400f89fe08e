"""Slow start: requests in batches that double in size. If the server rejects them all alike, it receives one request instead of a
thousand.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from probate.controllers.runtime.parallel_requests import for_each
from probate.core import errors

T = TypeVar("T")

BURST_REPLICAS = 500
"""The maximum number of pods that one sync creates or deletes for an owner."""


class BatchResult(NamedTuple):
    """How many requests succeeded, and the errors of the others. No further batch follows one with an error."""

    successes: int
    failures: list[errors.ApiError]


async def slow_start_batch(items: Sequence[T], request: Callable[[T], Awaitable[object]]) -> BatchResult:
    """Sends one request, then two at once, then four, and so on, as long as all of them succeed."""
    successes, size = 0, 1
    while successes < len(items):
        batch = items[successes : successes + size]
        failures = await for_each(batch, request)
        successes += len(batch) - len(failures)
        if failures:
            return BatchResult(successes, failures)
        size *= 2
    return BatchResult(successes, [])
