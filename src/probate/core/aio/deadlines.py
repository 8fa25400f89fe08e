"""One timeout for many tasks, with a single timer.

`asyncio.timeout` sets and cancels a timer each time, which is a good part of what a small request costs. Tasks with the same
timeout expire in the order in which they began, so only the oldest one needs a timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Task: TypeAlias = "asyncio.Task[Any]"


class Deadline:
    """Cancels tasks that run longer than `seconds`.

    `with deadline.timeout():` raises `TimeoutError` if the current task does not leave the block in time. Fast path: a caller on
    each request calls `begin` and `end` itself, and `has_missed` after a cancellation; equals `timeout`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends: dict[Task, float] = {}
        self._expired: set[Task] = set()  # tasks that were cancelled and have not ended yet
        self._has_timer = False

    def __len__(self) -> int:
        return len(self._ends) + len(self._expired)

    def begin(self, task: Task) -> None:
        """Starts the task's time."""
        loop = task.get_loop()
        self._ends[task] = end = loop.time() + self.seconds
        if not self._has_timer:
            self._set_timer(loop, end)

    def end(self, task: Task) -> None:
        """Stops the task's time, whether or not it has expired."""
        self._ends.pop(task, None)
        if self._expired:
            self._expired.discard(task)

    def has_missed(self, task: Task, before: int = 0) -> bool:
        """Whether a task that has just been cancelled was cancelled by this deadline, and by nothing else since it began.

        `before` is how often the task had been cancelled when it began.
        """
        return task in self._expired and task.uncancel() <= before

    @contextmanager
    def timeout(self) -> Iterator[None]:
        """Applies the deadline to the current task within a `with` block. Do not nest it in one task."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 awaiting code always runs in a task
        before = task.cancelling()
        self.begin(task)
        try:
            yield
        except asyncio.CancelledError as error:
            if self.has_missed(task, before):
                raise TimeoutError from error
            raise
        finally:
            self.end(task)

    def _set_timer(self, loop: asyncio.AbstractEventLoop, end: float) -> None:
        """Sets the timer for the end of the oldest task."""
        self._has_timer = True
        loop.call_at(end, self._cancel_expired, loop)

    def _cancel_expired(self, loop: asyncio.AbstractEventLoop) -> None:
        self._has_timer = False
        for task, end in tuple(self._ends.items()):
            if end > loop.time():
                self._set_timer(loop, end)
                return
            del self._ends[task]
            self._expired.add(task)
            task.cancel()
