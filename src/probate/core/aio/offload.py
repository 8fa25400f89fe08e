"""Where blocking calls run: on a thread of their own, or on the event loop's thread.

An event loop must not block on a disk, so a store engine hands its blocking calls to an `Offload`:

    WorkerThread    one thread: calls run in the order in which they were submitted
    WorkerPool      a few threads, for calls that compute for long: one long call does not delay all others, and the threads, which
                    compete with the loop for the interpreter, are few
    InlineOffload   runs calls immediately on the loop's thread: for stores in memory, where nothing blocks, and for simulations,
                    where a second thread would make a run impossible to repeat
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")


class Offload(Protocol):
    """Runs blocking calls where they do not block the loop. (Only `WorkerPool` may run several at once, in any order.)"""

    async def run(self, call: Callable[[], T]) -> T:
        """Returns the call's result, or raises its exception. Cancelling the wait does not stop a call that has begun."""
        ...

    def close(self) -> None:
        """Waits for the running call and stops. Idempotent."""
        ...


class WorkerThread:
    """Runs calls on one thread of its own. (An executor does so too, at several times the cost of each hand-over.)"""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._is_closed = False

    async def run(self, call: Callable[[], T]) -> T:
        return await self.submit(call)

    def submit(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Returns the future of the call's result: `run` for callers that cannot await."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            future.set_exception(RuntimeError(f"the thread {self._thread.name} has ended"))
            return future
        if self._thread.ident is None:
            self._thread.start()
        self._calls.put((call, future))
        return future

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._calls.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while (submitted := self._calls.get()) is not None:
            _run(*submitted)
            del submitted  # else the thread would keep the last call and its result until the next one


_Call: TypeAlias = tuple[Callable[[], Any], "asyncio.Future[Any]"]


def _run(call: Callable[[], Any], future: asyncio.Future[Any]) -> None:
    if future.cancelled():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 the caller that awaits the future gets it
        _complete(future, future.set_exception, error)
    else:
        _complete(future, future.set_result, result)
    finally:
        del call, future  # the error's traceback refers to this frame: with them it would be a reference cycle


def _complete(future: asyncio.Future[Any], setter: Callable[[Any], None], outcome: object) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, so no task awaits the future any more
        future.get_loop().call_soon_threadsafe(lambda: None if future.done() else setter(outcome))


PAUSE_SECONDS = 0.001
"""How long a computing thread leaves the interpreter to the loop."""


class WorkerPool:
    """Runs calls on a few threads."""

    def __init__(self, name: str, *, workers: int = 2) -> None:
        self._executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=name)

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def pause(self) -> None:
        """Leaves the interpreter to the loop for a moment. A call that computes for long calls this now and then."""
        time.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


class InlineOffload:
    """Runs calls immediately, on the thread that submits them."""

    async def run(self, call: Callable[[], T]) -> T:
        return call()

    def close(self) -> None:
        pass
