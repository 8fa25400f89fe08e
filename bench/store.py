"""Measures the store against raw SQLite writing and reading the same rows in the same batches, in the same run.

    make bench-store                 everything, with a million objects (a few minutes)
    make bench-store ARGS=--quick    the same with a hundred thousand

Machines are noisy, so the ratio counts: each measurement alternates between raw SQLite and the store several times and takes the
best time of each. The output shows the required ratio beside the measured one.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import uvloop
from load import SampleObject, samples
from raw import Raw

from probate.store.contract import Revision, Watch
from probate.store.sqlite.store import SqliteStore, open_file

ROUNDS = 5
COMMITTERS = 64


class Bench:
    """One store and one raw file on the same disk."""

    def __init__(self, store: SqliteStore, raw: Raw) -> None:
        self.store = store
        self.raw = raw
        self._next = count(step=1_000_000)

    def fresh(self, number: int) -> list[SampleObject]:
        """Returns objects that have not been written yet."""
        return samples(next(self._next), number)

    async def singly(self) -> None:
        store_times, raw_times = [], []
        for _ in range(ROUNDS):
            work = self.fresh(300)
            raw_times.append(self.raw.write(work, batch=1) / len(work))
            store_times.append(await self._commit_each(work, committers=1) / len(work))
        show("single writer, one commit each", min(store_times), min(raw_times))

    async def in_groups(self) -> None:
        store_times, raw_times, sizes = [], [], []
        for _ in range(ROUNDS):
            work = self.fresh(6_400)
            before = self.store.groups_written
            store_times.append(await self._commit_each(work, committers=COMMITTERS) / len(work))
            sizes.append(max(1, round(len(work) / (self.store.groups_written - before))))
            raw_times.append(self.raw.write(self.fresh(6_400), batch=sizes[-1]) / len(work))
        show(f"{COMMITTERS} committers (groups of {sizes[-1]})", min(store_times), min(raw_times), bar=0.2)

    async def in_bulk(self) -> None:
        store_times, raw_times = [], []
        for _ in range(ROUNDS):
            work = self.fresh(10_000)
            txns = [sample.create() for sample in work]
            started_at = time.perf_counter()
            for first in range(0, len(txns), 2_000):
                await self.store.commit_many(txns[first : first + 2_000])
            store_times.append((time.perf_counter() - started_at) / len(work))
            raw_times.append(self.raw.write(work, batch=2_000) / len(work))
        show("commit_many of 2,000", min(store_times), min(raw_times), bar=0.4)

    async def scans(self) -> None:
        store_times, raw_times = [], []
        for _ in range(ROUNDS):
            started_at = time.perf_counter()
            page = await self.store.scan("objects/", limit=10_000)
            store_times.append((time.perf_counter() - started_at) / 10_000)
            assert len(page.records) == 10_000
            raw_times.append(self.raw.scan("objects/", "objects0", 10_000) / 10_000)
        show("scan of 10,000", min(store_times), min(raw_times))

    async def fan_out(self, watchers: int) -> None:
        store_times, raw_times = [], []
        for _ in range(ROUNDS):
            work = self.fresh(3_200)
            before = self.store.groups_written
            store_times.append(await self._with_watchers(work, watchers) / len(work))
            size = max(1, round(len(work) / (self.store.groups_written - before)))
            raw_times.append(self.raw.write(self.fresh(3_200), batch=size) / len(work))
        deliveries = watchers / min(store_times)
        show(
            f"{COMMITTERS} committers, {watchers} watchers",
            min(store_times),
            min(raw_times),
            note=f"{deliveries:,.0f} events/s delivered",
        )

    async def _with_watchers(self, work: list[SampleObject], watchers: int) -> float:
        after = await self.store.revision()
        started_at = time.perf_counter()
        following = [asyncio.create_task(self._follow(after, len(work))) for _ in range(watchers)]
        await self._commit_each(work, committers=COMMITTERS)
        await asyncio.gather(*following)
        return time.perf_counter() - started_at

    async def _follow(self, after: Revision, expected: int) -> None:
        async with self.store.watch("objects/configmaps/", after=after) as watch:
            await _count_to(watch, expected)

    async def _commit_each(self, work: list[SampleObject], *, committers: int) -> float:
        queue: Iterator[SampleObject] = iter(work)

        async def committer() -> None:
            for sample in queue:
                assert isinstance(await self.store.commit(sample.create()), int)

        started_at = time.perf_counter()
        await asyncio.gather(*(committer() for _ in range(committers)))
        return time.perf_counter() - started_at


async def _count_to(watch: Watch, expected: int) -> None:
    seen = 0
    async for events in watch:
        seen += len(events)
        if seen >= expected:
            return


def show(name: str, store_time: float, raw: float, *, bar: float | None = None, note: str = "") -> None:
    ratio = raw / store_time
    verdict = "" if bar is None else f"bar {bar:.2f} {'reached' if ratio >= bar else 'MISSED'}"
    print(f"{name:36} {1 / store_time:>10,.0f} /s {1 / raw:>12,.0f} /s raw {ratio:>8.2f} x raw   {verdict}{note}", flush=True)


async def main(folder: Path) -> None:
    raw = Raw(folder)
    store = await open_file(folder / "probate.db")
    print(f"objects of 500 bytes with an index entry each; SQLite {raw.sqlite}, synced commits; best of {ROUNDS}")
    bench = Bench(store, raw)
    await bench.singly()
    await bench.in_groups()
    await bench.in_bulk()
    await bench.scans()
    for watchers in (1, 10, 100):
        await bench.fan_out(watchers)
    await store.close()
    raw.close()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="a hundred thousand objects instead of a million")
    size = 100_000 if options.parse_args().quick else 1_000_000
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        uvloop.run(main(Path(place)))
    subprocess.run([sys.executable, str(Path(__file__).with_name("growth.py")), str(size)], check=True)  # noqa: S603
