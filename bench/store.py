"""Measures the store against raw SQLite doing the same rows in the same batches, in the same run.

    make bench-store                 everything, with a million objects (a few minutes)
    make bench-store ARGS=--quick    the same with a hundred thousand

Machines are noisy, so what counts is the ratio: each measurement alternates raw and ours several times and takes the best of
each. The bars are printed beside what was reached.
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
from load import Thing, things
from raw import Raw

from probate.store.contract import Revision, Watch
from probate.store.sqlite.store import SqliteStore, open_file

ROUNDS = 5
COMMITTERS = 64


class Bench:
    """One store and one raw file, side by side on the same disk."""

    def __init__(self, store: SqliteStore, raw: Raw) -> None:
        self.store = store
        self.raw = raw
        self._next = count(step=1_000_000)

    def fresh(self, number: int) -> list[Thing]:
        """Objects that nobody has written yet."""
        return things(next(self._next), number)

    async def singly(self) -> None:
        ours, raw = [], []
        for _ in range(ROUNDS):
            work = self.fresh(300)
            raw.append(self.raw.write(work, batch=1) / len(work))
            ours.append(await self._commit_each(work, committers=1) / len(work))
        show("single writer, one commit each", min(ours), min(raw))

    async def together(self) -> None:
        ours, raw, sizes = [], [], []
        for _ in range(ROUNDS):
            work = self.fresh(6_400)
            before = self.store.groups_written
            ours.append(await self._commit_each(work, committers=COMMITTERS) / len(work))
            sizes.append(max(1, round(len(work) / (self.store.groups_written - before))))
            raw.append(self.raw.write(self.fresh(6_400), batch=sizes[-1]) / len(work))
        show(f"{COMMITTERS} committers (groups of {sizes[-1]})", min(ours), min(raw), bar=0.2)

    async def in_bulk(self) -> None:
        ours, raw = [], []
        for _ in range(ROUNDS):
            work = self.fresh(10_000)
            txns = [thing.create() for thing in work]
            began = time.perf_counter()
            for first in range(0, len(txns), 2_000):
                await self.store.commit_many(txns[first : first + 2_000])
            ours.append((time.perf_counter() - began) / len(work))
            raw.append(self.raw.write(work, batch=2_000) / len(work))
        show("commit_many of 2,000", min(ours), min(raw), bar=0.4)

    async def scans(self) -> None:
        ours, raw = [], []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            page = await self.store.scan("objects/", limit=10_000)
            ours.append((time.perf_counter() - began) / 10_000)
            assert len(page.records) == 10_000
            raw.append(self.raw.scan("objects/", "objects0", 10_000) / 10_000)
        show("scan of 10,000", min(ours), min(raw))

    async def fan_out(self, watchers: int) -> None:
        ours, raw = [], []
        for _ in range(ROUNDS):
            work = self.fresh(3_200)
            before = self.store.groups_written
            ours.append(await self._with_watchers(work, watchers) / len(work))
            size = max(1, round(len(work) / (self.store.groups_written - before)))
            raw.append(self.raw.write(self.fresh(3_200), batch=size) / len(work))
        deliveries = watchers / min(ours)
        show(f"{COMMITTERS} committers, {watchers} watchers", min(ours), min(raw), note=f"{deliveries:,.0f} events/s handed out")

    async def _with_watchers(self, work: list[Thing], watchers: int) -> float:
        after = await self.store.revision()
        began = time.perf_counter()
        following = [asyncio.create_task(self._follow(after, len(work))) for _ in range(watchers)]
        await self._commit_each(work, committers=COMMITTERS)
        await asyncio.gather(*following)
        return time.perf_counter() - began

    async def _follow(self, after: Revision, expected: int) -> None:
        async with self.store.watch("objects/configmaps/", after=after) as watch:
            await _count_to(watch, expected)

    async def _commit_each(self, work: list[Thing], *, committers: int) -> float:
        queue: Iterator[Thing] = iter(work)

        async def committer() -> None:
            for thing in queue:
                assert isinstance(await self.store.commit(thing.create()), int)

        began = time.perf_counter()
        await asyncio.gather(*(committer() for _ in range(committers)))
        return time.perf_counter() - began


async def _count_to(watch: Watch, expected: int) -> None:
    seen = 0
    async for events in watch:
        seen += len(events)
        if seen >= expected:
            return


def show(what: str, ours: float, raw: float, *, bar: float | None = None, note: str = "") -> None:
    ratio = raw / ours
    verdict = "" if bar is None else f"bar {bar:.2f} {'reached' if ratio >= bar else 'MISSED'}"
    print(f"{what:36} {1 / ours:>10,.0f} /s {1 / raw:>12,.0f} /s raw {ratio:>8.2f} x raw   {verdict}{note}", flush=True)


async def main(folder: Path) -> None:
    raw = Raw(folder)
    store = await open_file(folder / "probate.db")
    print(f"objects of 500 bytes with an index entry each; SQLite {raw.sqlite}, synced commits; best of {ROUNDS}")
    bench = Bench(store, raw)
    await bench.singly()
    await bench.together()
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
