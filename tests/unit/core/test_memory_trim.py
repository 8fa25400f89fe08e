"""Memory is returned to the system after a peak."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

from probate.core import memory_trim

MEGABYTE = 1024 * 1024


class ReferenceCycle:
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


async def tick(trimmer: memory_trim.Trimmer, seconds: int, *, activity: int, connections: int) -> None:
    for _ in range(seconds):
        await trimmer.look(activity, connections)


def is_freed_after(seconds: int, *, activity: int, connections: int) -> bool:
    """Whether a reference cycle is freed that is created after the trimmer has seen activity 1 for a long time."""

    async def run() -> bool:
        trimmer = memory_trim.Trimmer()
        await tick(trimmer, 200, activity=1, connections=0)
        cycle = ReferenceCycle(200 * MEGABYTE)
        reference = weakref.ref(cycle)
        del cycle
        await tick(trimmer, seconds, activity=activity, connections=connections)
        return reference() is None

    return asyncio.run(run())


def test_memory_held_by_reference_cycles_was_not_returned_after_an_attack() -> None:
    assert is_freed_after(memory_trim.SHORTEST_SECONDS, activity=2, connections=0)


def test_no_garbage_collection_while_there_are_many_connections() -> None:
    assert not is_freed_after(100, activity=2, connections=memory_trim.FEW_CONNECTIONS + 1)


def test_memory_freed_after_the_last_activity_was_never_returned() -> None:
    """The memory of the last connections is freed a little after they count as closed."""
    assert is_freed_after(memory_trim.LONGEST_SECONDS, activity=1, connections=0)


def test_process_that_stays_large_is_not_collected_forever() -> None:
    async def run() -> None:
        trimmer = memory_trim.Trimmer()
        await tick(trimmer, 1, activity=1, connections=0)
        large = b"x" * 200 * MEGABYTE
        await tick(trimmer, 200, activity=1, connections=0)
        cycle = ReferenceCycle(0)
        reference = weakref.ref(cycle)
        del cycle
        await tick(trimmer, 200, activity=1, connections=0)
        assert len(large) == 200 * MEGABYTE
        assert reference() is not None

    asyncio.run(run())


def test_the_type_attribute_cache_kept_names_that_were_created_during_an_attack() -> None:
    """C code that looks up an attribute by a C string creates a new `str`. Each of these kept an arena of a megabyte."""
    name = "".join(["created", "during", "an", "attack"])
    before = sys.getrefcount(name)
    assert not hasattr(object, name)
    assert sys.getrefcount(name) > before
    memory_trim.free_leftovers()
    assert sys.getrefcount(name) == before
