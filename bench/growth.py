"""Measures the cost of a write and the memory of the process as the store grows from a thousand objects to a million.

    python bench/growth.py [OBJECTS]

Run it in a separate process, so that the memory is that of the store alone. The writes are creates, updates and deletes in turn:
of objects of one namespace, as a controller works, and of random objects of the whole store, which is the worst case.
"""

from __future__ import annotations

import asyncio
import math
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import uvloop
from load import PER_NAMESPACE, VALUE, SampleObject, sample, samples

from probate.store.contract import Revision, delete, update
from probate.store.sqlite.store import SqliteStore, open_file

SMALL = 1_000
ROUNDS = 8
WATCHERS = 1_000


async def grow(store: SqliteStore, size: int) -> None:
    for start in range(0, size, 2_000):
        await store.commit_many([sample.create() for sample in samples(start, min(2_000, size - start))])
        if start % 100_000 == 0 and start:
            print(f"\r  {start:,} of {size:,} objects stored", end="", flush=True)
    print(f"\r{'':60}\r", end="", flush=True)


async def rewrite(store: SqliteStore, target: SampleObject, revision: Revision) -> None:
    """Updates, deletes and recreates an existing object: three writes, after which the state is as before."""
    changed = await store.commit(update(target.key, VALUE, revision=revision))
    assert isinstance(changed, int)
    assert isinstance(await store.commit(delete(target.key, revision=changed, remove_entries=target.entries)), int)
    assert isinstance(await store.commit(target.create()), int)


async def cost(store: SqliteStore, targets: list[SampleObject], committers: int) -> float:
    """Returns the seconds for each write."""
    queue = iter(zip(targets, await store.read_many([target.key for target in targets]), strict=True))

    async def committer() -> None:
        for target, now in queue:
            assert now is not None
            await rewrite(store, target, now.revision)

    started_at = time.perf_counter()
    await asyncio.gather(*(committer() for _ in range(committers)))
    return (time.perf_counter() - started_at) / (len(targets) * 3)


async def costs(stores: dict[int, SqliteStore]) -> dict[str, dict[int, float]]:
    """Returns the cost of a write in each store, by size. Measures the stores in turn, because the speed of a machine varies."""
    rng = random.Random(1)  # noqa: S311
    results: dict[str, dict[int, float]] = {}
    for committers, number in ((1, 150), (64, PER_NAMESPACE)):
        for scope in ("one namespace", "all over"):
            best = results[f"{committers:2} committer{'s' if committers > 1 else ' '}, {scope}"] = dict.fromkeys(stores, math.inf)
            for _ in range(ROUNDS):
                for size, store in stores.items():
                    pool = range(size - PER_NAMESPACE, size) if scope == "one namespace" else range(size)
                    took = await cost(store, [sample(pick) for pick in rng.sample(pool, number)], committers)
                    best[size] = min(best[size], took)
    return results


@asynccontextmanager
async def idle_watchers(store: SqliteStore, number: int) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        tasks = []
        for index in range(number):
            watch = await stack.enter_async_context(store.watch(f"objects/configmaps/idle-{index}/", after=await store.revision()))
            tasks.append(asyncio.ensure_future(anext(aiter(watch))))
        await asyncio.sleep(0)
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def resident_megabytes() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not say how much memory a process has")


async def main(folder: Path, size: int) -> None:
    small, store = await open_file(folder / "small.db"), await open_file(folder / "probate.db")
    await grow(small, SMALL)
    await grow(store, size)
    for what, best in (await costs({SMALL: small, size: store})).items():
        growth = best[size] / best[SMALL]
        verdict = f"bar 1.50 {'reached' if growth <= 1.5 else 'MISSED'}"
        costs_then, costs_now = best[SMALL] * 1e6, best[size] * 1e6
        print(f"{what:36} {costs_then:>8.1f} us at {SMALL:,} {costs_now:>8.1f} us at {size:,} {growth:>6.2f} x   {verdict}")
    await small.close()
    async with idle_watchers(store, WATCHERS):
        memory = resident_megabytes()
    verdict = f"bar 200 {'reached' if memory < 200 else 'MISSED'}"
    print(f"{'resident memory':36} {memory:>8.0f} MB with {size:,} objects and {WATCHERS:,} idle watchers   {verdict}")
    started_at = time.perf_counter()
    await store.close()
    store = await open_file(folder / "probate.db")
    print(f"{'closed and opened again':36} {time.perf_counter() - started_at:>8.2f} s")
    await store.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        uvloop.run(main(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
