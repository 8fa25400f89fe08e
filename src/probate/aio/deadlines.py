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
        self.seconds = seconds
        self.all: dict[_Running, None] = {}  # that run
        self.is_watching = False

    def running(self) -> _Running:
        """The time of the current task, from now on."""
        return _Running(self)

    def watch(self, one: _Running) -> None:
        """Look at its end whether it still runs."""
        self.is_watching = True
        one.loop.call_at(one.end, self._look)

    def _look(self) -> None:
        self.is_watching = False
        for one in tuple(self.all):
            if one.end > one.loop.time():
                self.watch(one)
                return
            self.all.pop(one)
            one.expire()


class _Running:
    """One task and its end."""

    __slots__ = ("_cancellations", "_is_over", "_of", "_task", "end", "loop")

    def __init__(self, of: Deadline) -> None:
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
        self.end = loop.time() + self._of.seconds
        self._of.all[self] = None
        if not self._of.is_watching:
            self._of.watch(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._of.all.pop(self, None)
        if self._is_over and self._task.uncancel() <= self._cancellations and kind is asyncio.CancelledError:
            raise TimeoutError from error
