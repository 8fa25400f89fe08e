"""Sends many requests in parallel. One that fails does not keep the others from being sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from probate.core import errors

T = TypeVar("T")


async def for_each(items: Iterable[T], request: Callable[[T], Awaitable[object]]) -> list[errors.ApiError]:
    """Sends a request for each item. Returns the API errors; raises any other error."""
    results = await asyncio.gather(*(request(item) for item in items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, errors.ApiError):
            raise result
    return [result for result in results if isinstance(result, errors.ApiError)]
