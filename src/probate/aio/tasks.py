"""Tasks that must not end by themselves.

A background loop that dies quietly is the worst kind of failure: everything looks well and nothing happens any more.
`guard` starts one under a name and, should it end or fail, calls back with the reason instead of losing it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
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


async def stop(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they are gone. How they had ended before, or fail now, is not reported again."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # now it counts as known
