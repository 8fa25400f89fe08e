"""One length of time that many tasks are given, with one timer for all of them.

`asyncio.timeout` sets and cancels a timer each time, which is a good part of what a small request costs. Tasks that are all given
the same time come to their ends in the order in which they began: so the oldest one alone is watched.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any


class Deadline:
    """`with deadline.running():` raises `TimeoutError` if the task is still within when its time is up."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.all: dict[_Running, None] = {}  # that run
        self._timer: asyncio.TimerHandle | None = None

    def running(self) -> _Running:
        """The time of the current task, from now on."""
        return _Running(self._seconds, self)

    def begin(self, one: _Running) -> None:
        self.all[one] = None
        if self._timer is None:
            self._timer = one.loop.call_at(one.end, self._look)

    def _look(self) -> None:
        self._timer = None
        for one in tuple(self.all):
            if one.end > one.loop.time():
                self._timer = one.loop.call_at(one.end, self._look)
                return
            self.all.pop(one)
            one.expire()


class _Running:
    """One task and its end."""

    __slots__ = ("_cancellations", "_is_over", "_of", "_seconds", "_task", "end", "loop")

    def __init__(self, seconds: float, of: Deadline) -> None:
        self._seconds = seconds
        self._of = of
        self._is_over = False

    def expire(self) -> None:
        self._is_over = True
        self._task.cancel()

    def __enter__(self) -> None:
        self.loop = loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None  # noqa: S101 there is always one where something can be awaited
        self._task: asyncio.Task[Any] = task
        self._cancellations = task.cancelling()
        self.end = loop.time() + self._seconds
        self._of.begin(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._of.all.pop(self, None)
        if self._is_over and self._task.uncancel() <= self._cancellations and kind is asyncio.CancelledError:
            raise TimeoutError from error
