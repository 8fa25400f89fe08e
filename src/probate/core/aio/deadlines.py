"""One length of time that many tasks are given, with one timer for all of them.

`asyncio.timeout` sets and cancels a timer each time, which is a good part of what a small request costs. Tasks that are all given
the same time come to their ends in the order in which they began: so the oldest one alone is watched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Task: TypeAlias = "asyncio.Task[Any]"


class Deadline:
    """Those tasks that run, each for so many seconds at most.

    `with deadline.running():` raises `TimeoutError` if the current task is still within when its time is up. Who does that with
    every request calls `begin` and `end`, and asks `has_missed` about the cancellation in between.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends: dict[Task, float] = {}
        self._late: set[Task] = set()  # those that were cancelled, and have not ended yet
        self._is_watching = False

    def __len__(self) -> int:
        return len(self._ends) + len(self._late)

    def begin(self, task: Task) -> None:
        """The task's time, from now on."""
        loop = task.get_loop()
        self._ends[task] = end = loop.time() + self.seconds
        if not self._is_watching:
            self._watch(loop, end)

    def end(self, task: Task) -> None:
        """It is done, in time or not."""
        self._ends.pop(task, None)
        if self._late:
            self._late.discard(task)

    def has_missed(self, task: Task, before: int = 0) -> bool:
        """Whether the task, which has just been cancelled, was so because its time was up, and by nobody else since it began.

        `before` is how often it had been cancelled when it did.
        """
        return task in self._late and task.uncancel() <= before

    @contextmanager
    def running(self) -> Iterator[None]:
        """The time of the current task, from now on. One task is within once."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 there is always one where something can be awaited
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

    def _watch(self, loop: asyncio.AbstractEventLoop, end: float) -> None:
        """Look at its end whether the oldest one still runs."""
        self._is_watching = True
        loop.call_at(end, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_watching = False
        for task, end in tuple(self._ends.items()):
            if end > loop.time():
                self._watch(loop, end)
                return
            del self._ends[task]
            self._late.add(task)
            task.cancel()
