"""A deterministic event loop on virtual time that chooses the next callback at random.

asyncio code runs in it unchanged: one thread, no real time, no input but the seed. The next callback is drawn from all that are
ready; when none is, time jumps to the next timer. So the same seed gives the same run, and another seed another interleaving.

Other sources of nondeterminism are removed: tasks and futures hash by their number instead of their address, since sets of them are
iterated. Threads cannot return to the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import random
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH = 1_700_000_000.0
MAX_TURNS = 100_000
"""Callbacks without progress of time, after which a loop that never waits is assumed."""


class Livelock(Exception):
    """A task runs forever without waiting for anything."""


class _Task(asyncio.Task[Any]):
    def __init__(self, work: Any, number: int, **options: Any) -> None:
        self._number = number
        super().__init__(work, **options)

    def __hash__(self) -> int:
        return self._number


class _Future(asyncio.Future[Any]):
    def __init__(self, number: int, **options: Any) -> None:
        self._number = number
        super().__init__(**options)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.BaseEventLoop):
    """The loop of one run. `after_each` is called between any two callbacks; an exception from it ends the run."""

    def __init__(self, seed: object) -> None:
        super().__init__()
        self.turns = 0  # callbacks run so far
        self.after_each: Callable[[], None] = lambda: None
        self.on_task: Callable[[asyncio.Task[Any], str | None, Context], None] = lambda task, name, context: None
        self._draw = random.Random(f"order {seed}").random  # noqa: S311
        self._now = 0.0
        self._turns_at_last_progress = 0  # the number of callbacks when time last advanced
        self._numbers = itertools.count()
        self._runnable: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._failure: BaseException | None = None

    def play(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs until `work` is done or `fail` is called."""
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._close_generator)
        asyncio._set_running_loop(self)
        try:
            task = self.create_task(work, name="main")
            while not task.done():
                self._turn()
            result: T = task.result()
            return result
        finally:
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def wind_up(self) -> None:
        """Cancels everything that still runs, after the end of the run."""
        self.after_each = lambda: None
        asyncio._set_running_loop(self)
        try:
            for _ in range(10):
                for task in asyncio.all_tasks(self):
                    task.cancel()
                while self._runnable:
                    self._runnable.pop(0)._run()
        finally:
            self._timers.clear()
            asyncio._set_running_loop(None)
            self.close()

    def fail(self, error: BaseException) -> None:
        """Ends the run with this error after the current callback. The first error counts."""
        self._failure = self._failure or error

    def _turn(self) -> None:
        if not self._runnable:
            self._wait()
        last = self._runnable.pop()
        at = int(self._draw() * (len(self._runnable) + 1))
        if at < len(self._runnable):
            self._runnable[at], last = last, self._runnable[at]
        if not last.cancelled():
            last._run()
            self.turns += 1
            self.after_each()
        if self.turns - self._turns_at_last_progress > MAX_TURNS:
            self.fail(Livelock(f"{MAX_TURNS:,} callbacks ran at one moment: somebody works without end"))
        if self._failure is not None:
            raise self._failure

    def _wait(self) -> None:
        """Advances time to the next timer."""
        self._turns_at_last_progress = self.turns
        while not self._runnable:
            when, _, _ = self._timers[0]  # fails if there is none: a deadlock, which is a defect of the simulation
            self._now = max(self._now, when)
            while self._timers and self._timers[0][0] <= self._now:
                _, _, timer = heapq.heappop(self._timers)
                if not timer.cancelled():
                    self._runnable.append(timer)

    # --- the interface that asyncio needs ------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._runnable.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        return _Future(next(self._numbers), loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Context | None = None) -> asyncio.Task[Any]:
        context = contextvars.copy_context() if context is None else context
        task = _Task(coro, next(self._numbers), loop=self, name=name or "", context=context)
        self.on_task(task, name, context)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        where = context.get("task") or context.get("future") or context.get("handle")
        self.fail(RuntimeError(f"{context['message']}: {context.get('exception')!r} in {where!r}"))

    def _close_generator(self, generator: AsyncGenerator[Any, None]) -> None:
        self.create_task(generator.aclose())


class LoopClock:
    """The loop's time as a `Clock`."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.wrong = 0.0  # the offset that the wall clock was set by

    def now(self) -> float:
        return EPOCH + self._loop.time() + self.wrong

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0))
