"""Tasks that must not end, deadlines of many tasks, and blocking calls off the loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest

from probate.core.aio import offload, tasks
from probate.core.aio.deadlines import Deadline


async def fail() -> None:
    raise ValueError("broken")


async def end() -> None:
    pass


async def go_on() -> None:
    await asyncio.Event().wait()


async def test_guarded_task_that_fails_tells_why() -> None:
    reasons: list[BaseException] = []
    await asyncio.wait([tasks.guard(fail(), name="loop", on_failure=reasons.append)])
    await asyncio.sleep(0)
    assert [(type(reason), str(reason)) for reason in reasons] == [(ValueError, "broken")]


async def test_guarded_task_that_just_ends_has_failed_too() -> None:
    reasons: list[BaseException] = []
    await asyncio.wait([tasks.guard(end(), name="my loop", on_failure=reasons.append)])
    await asyncio.sleep(0)
    assert len(reasons) == 1
    assert "my loop" in str(reasons[0])


async def test_stopped_task_is_gone_and_has_not_failed() -> None:
    reasons: list[BaseException] = []
    task = tasks.guard(go_on(), name="loop", on_failure=reasons.append)
    assert task.get_name() == "loop"
    await asyncio.sleep(0)
    await tasks.stop(task)
    await asyncio.sleep(0)
    assert task.cancelled()
    assert reasons == []


async def test_stopping_what_has_ended_already_does_nothing() -> None:
    reasons: list[BaseException] = []
    failed = tasks.guard(fail(), name="failed", on_failure=reasons.append)
    running = tasks.guard(go_on(), name="running", on_failure=reasons.append)
    await asyncio.wait([failed])
    await tasks.stop(failed, running)
    await tasks.stop(failed, running)
    assert running.cancelled()
    assert [str(reason) for reason in reasons] == ["broken"]


async def test_work_beside_that_fails_ends_what_is_within_with_its_reason() -> None:
    with pytest.raises(ValueError, match="broken"):
        async with tasks.beside(fail()):
            await go_on()
    await asyncio.sleep(0)  # nothing of the cancellation is left


async def test_work_beside_that_just_ends_has_failed_too() -> None:
    with pytest.raises(RuntimeError, match="never should"):
        async with tasks.beside(end()):
            await go_on()


async def test_work_beside_is_stopped_at_the_end_of_what_is_within() -> None:
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await go_on()
        finally:
            stopped.set()

    async with tasks.beside(work()):
        await asyncio.sleep(0)
    assert stopped.is_set()
    with pytest.raises(LookupError):
        async with tasks.beside(work()):
            raise LookupError


async def test_cancelling_what_is_within_is_not_mistaken_for_a_failure_of_the_work() -> None:
    ended = asyncio.Event()

    async def fails_when_told() -> None:
        await ended.wait()
        raise ValueError("broken")

    async def within() -> None:
        async with tasks.beside(fails_when_told()):
            await go_on()

    for fails_too in (False, True):
        task = asyncio.create_task(within())
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
            await go_on()
        finally:
            await asyncio.sleep(0)
            cleaned = True

    task = tasks.guard(work(), name="loop", on_failure=lambda _: None)
    await asyncio.sleep(0)
    await tasks.stop(task)
    assert cleaned


async def go_on_until(deadline: Deadline) -> None:
    with deadline.running():
        await go_on()


async def test_every_task_that_is_over_its_time_is_told_so() -> None:
    deadline = Deadline(0.01)
    first = asyncio.create_task(go_on_until(deadline))
    await asyncio.sleep(0)
    with deadline.running():
        pass
    second = asyncio.create_task(go_on_until(deadline))
    assert [type(one) for one in await asyncio.gather(first, second, return_exceptions=True)] == [TimeoutError, TimeoutError]
    third = asyncio.create_task(go_on_until(deadline))
    assert [type(one) for one in await asyncio.gather(third, return_exceptions=True)] == [TimeoutError]


async def test_task_that_is_done_in_time_is_left_alone() -> None:
    deadline = Deadline(0.0)
    with deadline.running():
        pass
    await asyncio.sleep(0.001)


async def test_task_that_is_cancelled_has_not_run_out_of_time() -> None:
    task = asyncio.create_task(go_on_until(Deadline(60.0)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_task_that_is_cancelled_by_others_too_when_its_time_is_up_is_theirs() -> None:
    deadline = Deadline(0.0)
    task = asyncio.create_task(go_on_until(deadline))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0, task.cancel)  # in the same turn as the deadline's own
    await asyncio.wait([task])
    assert task.cancelled()
    assert len(deadline) == 0


async def test_clean_up_of_a_task_that_was_cancelled_has_its_time_too() -> None:
    async def clean_up_slowly() -> None:
        try:
            await go_on()
        finally:
            await go_on_until(Deadline(0.01))

    task = asyncio.create_task(clean_up_slowly())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(TimeoutError):
        await task


async def test_task_counts_until_it_has_ended_and_is_forgotten_then() -> None:
    deadline, goes_on = Deadline(0.0), asyncio.Event()

    async def end_slowly() -> None:
        with contextlib.suppress(TimeoutError), deadline.running():
            try:
                await go_on()
            finally:
                await goes_on.wait()

    task = asyncio.create_task(end_slowly())
    await asyncio.sleep(0.01)
    assert len(deadline) == 1
    goes_on.set()
    await task
    assert len(deadline) == 0


def make(kind: str) -> offload.Offload:
    return offload.Thread("test-worker") if kind == "thread" else offload.Inline()


@pytest.mark.parametrize("kind", ["thread", "inline"])
async def test_offload_gives_results_and_exceptions_in_order(kind: str) -> None:
    worker = make(kind)
    order: list[int] = []
    await asyncio.gather(*(worker.run(lambda number=number: order.append(number)) for number in range(50)))  # type: ignore[misc]
    assert order == list(range(50))
    assert await worker.run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await worker.run(lambda: 1 // 0)
    assert await worker.run(lambda: 8) == 8
    worker.close()
    worker.close()


async def test_thread_is_one_thread_that_is_not_the_loops() -> None:
    worker = offload.Thread("test-worker")
    names = {await worker.run(lambda: threading.current_thread().name) for _ in range(5)}
    worker.close()
    (name,) = names
    assert name.startswith("test-worker")
    assert name not in {thread.name for thread in threading.enumerate()}


async def test_loop_goes_on_while_the_thread_is_busy() -> None:
    worker = offload.Thread("test-worker")
    release = threading.Event()
    running = asyncio.create_task(worker.run(lambda: release.wait(30.0)))
    await asyncio.sleep(0)
    assert not running.done()
    release.set()
    assert await running
    worker.close()


async def test_cancelled_wait_does_not_stop_a_call_that_has_begun() -> None:
    worker = offload.Thread("test-worker")
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


async def test_inline_runs_at_once_in_the_loops_own_thread() -> None:
    assert await offload.Inline().run(threading.current_thread) is threading.current_thread()
