"""Tasks that must not end by themselves.

A background loop that dies quietly is the worst kind of failure: everything looks well and nothing happens any more.
`guard` starts one under a name and, should it end or fail, calls back with the reason instead of losing it. `beside` starts one for
as long as something else is done, which ends with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

OnFailure = Callable[[BaseException], None]


def guard(work: Coroutine[Any, Any, None], *, name: str, on_failure: OnFailure) -> asyncio.Task[None]:
    """Run `work` as a task. If it ends in any way but cancellation, `on_failure` learns why."""
    task = asyncio.get_running_loop().create_task(work, name=name)

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            on_failure(task.exception() or RuntimeError(f"task {name!r} ended although it never should"))

    task.add_done_callback(ended)
    return task


class beside:  # noqa: N801 it is used like a function
    """`async with beside(work):` lets the work go on for as long as what is within.

    Should the work end or fail, what is within is cancelled, and the reason is raised. (Whoever waits for two tasks at once, again
    and again, makes one of them anew each time: that takes longer than most of what they wait for.)
    """

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work
        self._is_over = False
        self._failure: BaseException | None = None

    async def __aenter__(self) -> None:
        within = asyncio.current_task()
        assert within is not None  # noqa: S101 there is always one where something can be awaited
        self._within: asyncio.Task[Any] = within
        self._cancellations = within.cancelling()
        self._task = asyncio.create_task(self._work)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        if not self._is_over:
            is_cancelled = task.cancelled()
            self._failure = (None if is_cancelled else task.exception()) or RuntimeError("a task ended although it never should")
            self._within.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over = True
        is_ours = self._failure is not None and self._within.uncancel() <= self._cancellations and kind is asyncio.CancelledError
        await stop(self._task)
        if is_ours and self._failure is not None:
            raise self._failure from None


async def stop(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they are gone. How they had ended before, or fail now, is not reported again."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # now it counts as known
