"""Many requests in batches that double: if the server refuses them all alike, it is asked once and not a thousand times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from probate import errors

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
        batch = await at_once(items[done : done + size], request)
        done += batch.number
        if batch.failures:
            return Done(done, batch.failures)
        size *= 2
    return Done(done, [])


async def at_once(items: Sequence[T], request: Callable[[T], Awaitable[object]]) -> Done:
    """Make all requests together."""
    results = await asyncio.gather(*(request(item) for item in items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, errors.ApiError):
            raise result
    failures = [result for result in results if isinstance(result, errors.ApiError)]
    return Done(len(items) - len(failures), failures)
