"""Where blocking calls run: on a thread of their own, or right here.

An event loop must not wait for a disk, so an engine hands its blocking calls to an `Offload`. `Thread` is the real one:
one worker, so calls run in the order they were given. `Inline` runs them at once in the loop's own thread: for memory,
where nothing blocks, and for simulations, where a second thread would make a run impossible to repeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Offload(Protocol):
    """Runs blocking calls one at a time, in order."""

    async def run(self, call: Callable[[], T]) -> T:
        """The call's result, or its exception. Cancelling the wait does not stop a call that has begun."""
        ...

    def close(self) -> None:
        """Wait for the call under way and stop. Idempotent."""
        ...


class Thread:
    """Runs calls on one thread of its own."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        self._executor.shutdown(wait=True)


class Inline:
    """Runs calls at once, where they are made."""

    async def run(self, call: Callable[[], T]) -> T:
        return call()

    def close(self) -> None:
        pass
