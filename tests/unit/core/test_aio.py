"""Supervised tasks, background tasks, deadlines of many tasks, and blocking calls off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref

import pytest

from probate.core.aio import offload, tasks
from probate.core.aio.deadlines import Deadline


async def fail() -> None:
    raise ValueError("broken")


async def end_at_once() -> None:
    pass


async def wait_forever() -> None:
    await asyncio.Event().wait()


async def test_supervised_task_that_fails_reports_the_reason() -> None:
    reasons: list[BaseException] = []
    await asyncio.wait([tasks.start_supervised(fail(), name="loop", on_failure=reasons.append)])
    await asyncio.sleep(0)
    assert [(type(reason), str(reason)) for reason in reasons] == [(ValueError, "broken")]


async def test_supervised_task_that_ends_counts_as_failed() -> None:
    reasons: list[BaseException] = []
    await asyncio.wait([tasks.start_supervised(end_at_once(), name="my loop", on_failure=reasons.append)])
    await asyncio.sleep(0)
    assert len(reasons) == 1
    assert "my loop" in str(reasons[0])


async def test_stopped_task_has_ended_and_not_failed() -> None:
    reasons: list[BaseException] = []
    task = tasks.start_supervised(wait_forever(), name="loop", on_failure=reasons.append)
    assert task.get_name() == "loop"
    await asyncio.sleep(0)
    await tasks.stop(task)
    await asyncio.sleep(0)
    assert task.cancelled()
    assert reasons == []


async def test_stopping_an_ended_task_does_nothing() -> None:
    reasons: list[BaseException] = []
    failed = tasks.start_supervised(fail(), name="failed", on_failure=reasons.append)
    running = tasks.start_supervised(wait_forever(), name="running", on_failure=reasons.append)
    await asyncio.wait([failed])
    await tasks.stop(failed, running)
    await tasks.stop(failed, running)
    assert running.cancelled()
    assert [str(reason) for reason in reasons] == ["broken"]


async def test_background_task_that_fails_ends_the_block_with_its_exception() -> None:
    with pytest.raises(ValueError, match="broken"):
        async with tasks.BackgroundTask(fail()):
            await wait_forever()
    await asyncio.sleep(0)  # the cancellation has no after-effect


async def test_background_task_that_ends_counts_as_failed() -> None:
    with pytest.raises(RuntimeError, match="ended unexpectedly"):
        async with tasks.BackgroundTask(end_at_once()):
            await wait_forever()


async def test_background_task_is_stopped_at_the_end_of_the_block() -> None:
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await wait_forever()
        finally:
            stopped.set()

    async with tasks.BackgroundTask(work()):
        await asyncio.sleep(0)
    assert stopped.is_set()
    with pytest.raises(LookupError):
        async with tasks.BackgroundTask(work()):
            raise LookupError


async def test_cancelling_the_block_is_not_mistaken_for_a_failure_of_the_background_task() -> None:
    ended = asyncio.Event()

    async def fail_on_event() -> None:
        await ended.wait()
        raise ValueError("broken")

    async def block() -> None:
        async with tasks.BackgroundTask(fail_on_event()):
            await wait_forever()

    for fails_too in (False, True):
        task = asyncio.create_task(block())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if fails_too:
            ended.set()
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_stop_waits_until_the_task_has_cleaned_up() -> None:
    cleaned = False

    async def work() -> None:
        nonlocal cleaned
        try:
            await wait_forever()
        finally:
            await asyncio.sleep(0)
            cleaned = True

    task = tasks.start_supervised(work(), name="loop", on_failure=lambda _: None)
    await asyncio.sleep(0)
    await tasks.stop(task)
    assert cleaned


async def wait_until_deadline(deadline: Deadline) -> None:
    with deadline.timeout():
        await wait_forever()


async def test_every_task_over_its_deadline_gets_a_timeout_error() -> None:
    deadline = Deadline(0.01)
    first = asyncio.create_task(wait_until_deadline(deadline))
    await asyncio.sleep(0)
    with deadline.timeout():
        pass
    second = asyncio.create_task(wait_until_deadline(deadline))
    assert [type(one) for one in await asyncio.gather(first, second, return_exceptions=True)] == [TimeoutError, TimeoutError]
    third = asyncio.create_task(wait_until_deadline(deadline))
    assert [type(one) for one in await asyncio.gather(third, return_exceptions=True)] == [TimeoutError]


async def test_task_that_ends_in_time_is_not_cancelled() -> None:
    deadline = Deadline(0.0)
    with deadline.timeout():
        pass
    await asyncio.sleep(0.001)


async def test_cancelled_task_has_not_timed_out() -> None:
    task = asyncio.create_task(wait_until_deadline(Deadline(60.0)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_task_cancelled_at_its_deadline_by_another_task_too_is_cancelled() -> None:
    deadline = Deadline(0.0)
    task = asyncio.create_task(wait_until_deadline(deadline))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0, task.cancel)  # in the same loop iteration as the deadline's own
    await asyncio.wait([task])
    assert task.cancelled()
    assert len(deadline) == 0


async def test_clean_up_of_a_cancelled_task_has_a_deadline_too() -> None:
    async def clean_up_slowly() -> None:
        try:
            await wait_forever()
        finally:
            await wait_until_deadline(Deadline(0.01))

    task = asyncio.create_task(clean_up_slowly())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(TimeoutError):
        await task


async def test_task_counts_until_it_has_ended() -> None:
    deadline, may_end = Deadline(0.0), asyncio.Event()

    async def end_slowly() -> None:
        with contextlib.suppress(TimeoutError), deadline.timeout():
            try:
                await wait_forever()
            finally:
                await may_end.wait()

    task = asyncio.create_task(end_slowly())
    await asyncio.sleep(0.01)
    assert len(deadline) == 1
    may_end.set()
    await task
    assert len(deadline) == 0


def new_offload(kind: str) -> offload.Offload:
    return offload.WorkerThread("test-worker") if kind == "thread" else offload.InlineOffload()


@pytest.mark.parametrize("kind", ["thread", "inline"])
async def test_offload_returns_results_and_exceptions_in_order(kind: str) -> None:
    worker = new_offload(kind)
    order: list[int] = []
    await asyncio.gather(*(worker.run(lambda number=number: order.append(number)) for number in range(50)))  # type: ignore[misc]
    assert order == list(range(50))
    assert await worker.run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await worker.run(lambda: 1 // 0)
    assert await worker.run(lambda: 8) == 8
    worker.close()
    worker.close()


async def test_worker_thread_is_a_single_thread_other_than_the_loops() -> None:
    worker = offload.WorkerThread("test-worker")
    names = {await worker.run(lambda: threading.current_thread().name) for _ in range(5)}
    worker.close()
    (name,) = names
    assert name.startswith("test-worker")
    assert name not in {thread.name for thread in threading.enumerate()}


async def test_loop_runs_while_the_worker_thread_is_busy() -> None:
    worker = offload.WorkerThread("test-worker")
    release = threading.Event()
    running = asyncio.create_task(worker.run(lambda: release.wait(30.0)))
    await asyncio.sleep(0)
    assert not running.done()
    release.set()
    assert await running
    worker.close()


async def test_cancelled_wait_does_not_stop_a_call_that_has_begun() -> None:
    worker = offload.WorkerThread("test-worker")
    begun, release, done = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        release.wait(30.0)
        done.set()

    running = asyncio.create_task(worker.run(call))
    await asyncio.to_thread(begun.wait, 30.0)
    running.cancel()
    await asyncio.wait([running])
    release.set()
    worker.close()
    assert done.is_set()


async def test_inline_offload_runs_immediately_on_the_loops_thread() -> None:
    assert await offload.InlineOffload().run(threading.current_thread) is threading.current_thread()


async def test_a_worker_thread_kept_its_last_call_until_the_next_one() -> None:
    """Such as the TLS state of the last handshake of an attack."""

    class Large:
        pass

    freed = asyncio.Event()
    result, loop = Large(), asyncio.get_running_loop()
    weakref.finalize(result, loop.call_soon_threadsafe, freed.set)
    worker = offload.WorkerThread("test-worker")
    calls = [lambda given=result: given]
    del result
    await worker.run(calls.pop())
    await asyncio.wait_for(freed.wait(), 5.0)
    worker.close()


async def test_a_call_that_failed_was_kept_by_its_own_traceback() -> None:
    """Until the next garbage collection: the error referred to the frame, the frame to the future, the future to the error."""

    class Resource:
        def use(self) -> None:
            raise ValueError("broken")

    worker = offload.WorkerThread("test")
    resource = Resource()
    is_alive = weakref.ref(resource)
    gc.disable()
    try:
        with pytest.raises(ValueError, match="broken"):
            await worker.run(resource.use)
        del resource
        await worker.run(int)  # the thread has left the frame of the call before
        assert is_alive() is None
    finally:
        gc.enable()
        worker.close()
