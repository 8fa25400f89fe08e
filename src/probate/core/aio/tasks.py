"""Tasks that must not end by themselves.

A background loop that ends silently is the worst kind of failure: the process looks healthy and the loop's work is not done any
more. `start_supervised` runs a loop under a name and reports its end or failure to a callback. `BackgroundTask` runs a task for the
duration of a block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

OnFailure = Callable[[BaseException], None]


def start_supervised(work: Coroutine[Any, Any, None], *, name: str, on_failure: OnFailure) -> asyncio.Task[None]:
    """Runs `work` as a task. Calls `on_failure` with the reason if the task ends in any way but cancellation."""
    task = asyncio.get_running_loop().create_task(work, name=name)

    def report(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            on_failure(task.exception() or RuntimeError(f"task {name!r} ended unexpectedly"))

    task.add_done_callback(report)
    return task


class BackgroundTask:
    """`async with BackgroundTask(work):` runs the work for the duration of the block.

    If the work ends or fails, the block is cancelled and the reason is raised. (To wait for two tasks at once, again and again,
    would create one of them each time, which takes longer than most waits.)
    """

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work
        self._is_over = False
        self._failure: BaseException | None = None

    async def __aenter__(self) -> None:
        owner = asyncio.current_task()
        assert owner is not None  # noqa: S101 awaiting code always runs in a task
        self._owner: asyncio.Task[Any] = owner
        self._cancellations = owner.cancelling()
        self._task = asyncio.create_task(self._work)
        self._task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        if not self._is_over:
            is_cancelled = task.cancelled()
            self._failure = (None if is_cancelled else task.exception()) or RuntimeError("a background task ended unexpectedly")
            self._owner.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over = True
        is_ours = self._failure is not None and self._owner.uncancel() <= self._cancellations and kind is asyncio.CancelledError
        await stop(self._task)
        if is_ours and self._failure is not None:
            raise self._failure from None


async def stop(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks and waits until they have ended. Ignores their results and exceptions."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved
