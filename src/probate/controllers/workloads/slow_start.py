"""Many requests in batches that double: if the server refuses them all alike, it is asked once and not a thousand times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from probate.controllers.runtime.parallel_requests import together
from probate.core import errors

T = TypeVar("T")

MOST = 500
"""Pods that are made or deleted for one owner before it is looked at again."""


class Done(NamedTuple):
    """How many requests were made with success, and what was wrong with others. After a batch with a failure no more were made."""

    number: int
    failures: list[errors.ApiError]


async def slowly(items: Sequence[T], request: Callable[[T], Awaitable[object]]) -> Done:
    """Make one request, then two at once, then four, and so on, as long as all of them succeed."""
    done, size = 0, 1
    while done < len(items):
        batch = items[done : done + size]
        failures = await together(batch, request)
        done += len(batch) - len(failures)
        if failures:
            return Done(done, failures)
        size *= 2
    return Done(done, [])
