"""Many requests together, each for itself: what is wrong with one does not keep the others from being made."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from probate.core import errors

T = TypeVar("T")


async def together(items: Iterable[T], request: Callable[[T], Awaitable[object]]) -> list[errors.ApiError]:
    """Make all requests at once. Returns the refusals."""
    results = await asyncio.gather(*(request(item) for item in items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, errors.ApiError):
            raise result
    return [result for result in results if isinstance(result, errors.ApiError)]
