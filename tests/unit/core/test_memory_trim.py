"""Memory is given back after much of it was used."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from probate.core import memory_trim

MEGABYTE = 1024 * 1024


class Circle:
    """Refers to itself, so that only a garbage collection frees it."""

    def __init__(self, size: int) -> None:
        self.itself = self
        self.content = b"x" * size


@pytest.fixture(autouse=True)
def no_automatic_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def look(trimmer: memory_trim.Trimmer, seconds: int, *, activity: int, connections: int) -> None:
    for _ in range(seconds):
        await trimmer.look(activity, connections)


def is_freed_after(seconds: int, *, activity: int, connections: int) -> bool:
    """Whether a reference cycle is freed that is made after the trimmer has seen activity 1 for long."""

    async def run() -> bool:
        trimmer = memory_trim.Trimmer()
        await look(trimmer, 200, activity=1, connections=0)
        circle = Circle(200 * MEGABYTE)
        gone = weakref.ref(circle)
        del circle
        await look(trimmer, seconds, activity=activity, connections=connections)
        return gone() is None

    return asyncio.run(run())


def test_memory_held_by_reference_cycles_was_not_given_back_after_an_attack() -> None:
    assert is_freed_after(memory_trim.SHORTEST_SECONDS, activity=2, connections=0)


def test_a_collection_does_not_stop_a_server_with_many_connections() -> None:
    assert not is_freed_after(100, activity=2, connections=memory_trim.FEW_CONNECTIONS + 1)


def test_memory_freed_after_the_last_activity_was_never_given_back() -> None:
    """The last connections end a little after they are counted as gone."""
    assert is_freed_after(memory_trim.LONGEST_SECONDS, activity=1, connections=0)


def test_a_process_that_stays_large_is_not_collected_for_ever() -> None:
    async def run() -> None:
        trimmer = memory_trim.Trimmer()
        await look(trimmer, 1, activity=1, connections=0)
        kept = b"x" * 200 * MEGABYTE
        await look(trimmer, 200, activity=1, connections=0)
        circle = Circle(0)
        gone = weakref.ref(circle)
        del circle
        await look(trimmer, 200, activity=1, connections=0)
        assert len(kept) == 200 * MEGABYTE
        assert gone() is not None

    asyncio.run(run())
