"""Where blocking calls run: on a thread of their own, or right here.

An event loop must not wait for a disk, so an engine hands its blocking calls to an `Offload`. `Thread` is the real one:
one worker, so calls run in the order they were given. `Pool` is for calls that block by computing: a few workers, so that
a long one does not keep all others waiting, and no more, since they take turns with the loop. `Inline` runs calls at once in the
loop's own thread: for memory, where nothing blocks, and for simulations, where a second thread would make a run impossible to
repeat.
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
    """Runs blocking calls where they do not block the loop. (`Pool` alone may run several at once, in any order.)"""

    async def run(self, call: Callable[[], T]) -> T:
        """The call's result, or its exception. Cancelling the wait does not stop a call that has begun."""
        ...

    def close(self) -> None:
        """Wait for the call under way and stop. Idempotent."""
        ...


class Thread:
    """Runs calls on one thread of its own. (An executor does so too, at several times the cost of handing over.)"""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._is_closed = False

    async def run(self, call: Callable[[], T]) -> T:
        return await self.begin(call)

    def begin(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """`run` for those who cannot wait: the future of the call's result."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            done.set_exception(RuntimeError(f"the thread {self._thread.name} has ended"))
            return done
        if self._thread.ident is None:
            self._thread.start()
        self._calls.put((call, done))
        return done

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._calls.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            call, done = given
            if done.cancelled():
                continue
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 it belongs to who waits
                _tell(done, done.set_exception, error)
            else:
                _tell(done, done.set_result, result)


_Call: TypeAlias = tuple[Callable[[], Any], "asyncio.Future[Any]"]


def _tell(done: asyncio.Future[Any], how: Callable[[Any], None], what: object) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it who waited
        done.get_loop().call_soon_threadsafe(lambda: None if done.done() else how(what))


PAUSE_SECONDS = 0.001
"""How long a thread that computes lets the loop have the interpreter to itself."""


class Pool:
    """Runs calls on a few threads."""

    def __init__(self, name: str, *, workers: int = 2) -> None:
        self._executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=name)

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def pause(self) -> None:
        """To be called by a call that computes for long, now and then."""
        time.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


class Inline:
    """Runs calls at once, where they are made."""

    async def run(self, call: Callable[[], T]) -> T:
        return call()

    def close(self) -> None:
        pass
